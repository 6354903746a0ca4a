"""Mutations of text, of JSON and XML by their nodes, and of files with a header."""

from __future__ import annotations

import io
import json
import pickle
import re
import zipfile
import zlib
from typing import Any
from xml.etree import ElementTree as xml

import numpy as np

from stress.mutate import PLAIN, Mutation, Rng, overwrite_number

TEXT_NUMBERS = (
    *(
        "0",
        "-1",
        "1",
        "1e308",
        "-1e308",
        "1e-320",
        "nan",
        "inf",
        "-inf",
        "0x10",
        "1,5",
        "+3",
        "1_000",
        "٣",
        "",
    ),
    *(
        "99999999999999999999",
        "4294967296",
        "-9223372036854775809",
        "9" * 5000,
        "1/0",
        "0/0",
        "1/3",
        "00:00:00:00",
    ),
)
WORDS = (
    *(
        "",
        " ",
        "a" * 20000,
        "\0",
        "\x1b[31m",
        "é",
        "\u202e",
        "../../../etc/passwd",
        "/dev/zero",
        "file:///etc/passwd",
    ),
    *(
        "http://127.0.0.1:1/x",
        "s3://none/none",
        "%s%n",
        "{}",
        "[]",
        "null",
        "\n\n",
        ",,,,",
        '"',
        "<a>",
        "&x;",
        "\ud800",
    ),
)
BOMB = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaaaaaaaa">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 16}">' for n in range(9))
    + "]><x>&j;</x>"
)
READER = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>'


def _pick(choices: tuple[Any, ...], rng: Rng) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _encoded(text: str) -> bytearray:
    return bytearray(text.encode("utf-8", "surrogatepass"))


def change_number(data: bytearray, rng: Rng) -> bytearray:
    text = data.decode("latin1")
    found = list(re.finditer(r"\d+(\.\d+)?", text))
    if not found:
        return data
    place = found[int(rng.integers(len(found)))]
    return _encoded(text[: place.start()] + _pick(TEXT_NUMBERS, rng) + text[place.end() :])


def change_word(data: bytearray, rng: Rng) -> bytearray:
    text = data.decode("latin1")
    found = list(re.finditer(r"[A-Za-z_./]+", text))
    if not found:
        return data
    place = found[int(rng.integers(len(found)))]
    return _encoded(text[: place.start()] + _pick(WORDS, rng) + text[place.end() :])


def change_lines(data: bytearray, rng: Rng) -> bytearray:
    lines = data.split(b"\n")
    at, other = (int(n) for n in rng.integers(0, len(lines), 2))
    match int(rng.integers(4)):
        case 0:
            del lines[at]
        case 1:
            lines[at:at] = [lines[other]] * int(rng.integers(1, 50))
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case _:
            lines[at] = bytearray(rng.bytes(30))
    return bytearray(b"\n".join(lines))


def change_encoding(data: bytearray, rng: Rng) -> bytearray:
    text = data.decode("latin1")
    return bytearray(text.encode(str(rng.choice(["utf-16", "utf-8-sig", "utf-32", "utf-7"]))))


TEXT: tuple[Mutation, ...] = (change_number, change_number, change_word, change_lines, change_encoding)


def change_json(data: bytearray, rng: Rng) -> bytearray:
    """Replace, remove or repeat a node of a JSON document; nest it deeply once in a while."""
    if rng.uniform() < 0.02:
        return _encoded('{"a":' * 20000 + "1" + "}" * 20000)
    try:
        root = json.loads(data)
    except (ValueError, RecursionError):
        return change_number(data, rng)
    nodes: list[tuple[Any, Any]] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else []
        nodes += [(node, key) for key in keys]
        waiting += [node[key] for key in keys]
    if nodes:
        node, key = nodes[int(rng.integers(len(nodes)))]
        odd = (None, True, -1, 0, 1e308, 1 << 70, "", "x" * 9000, [], {}, [[]], *TEXT_NUMBERS[:8])
        if rng.uniform() < 0.2:
            del node[key]
        else:
            node[key] = _pick(odd, rng) if rng.uniform() < 0.8 else [node[key]] * 3
    return _encoded(json.dumps(root))


def change_xml(data: bytearray, rng: Rng) -> bytearray:
    """Change a node of an XML document, or put one in its place that expands or reads other files."""
    if rng.uniform() < 0.03:
        return _encoded(BOMB if rng.uniform() < 0.5 else READER)
    try:
        root = xml.fromstring(bytes(data))
    except (xml.ParseError, ValueError, LookupError):
        return change_word(data, rng)
    nodes = list(root.iter())
    node = nodes[int(rng.integers(len(nodes)))]
    clean = [word for word in (*WORDS, *TEXT_NUMBERS) if not re.search("[\0\x1b\ud800]", word)]
    match int(rng.integers(5)):
        case 0 if node.attrib:
            node.set(str(rng.choice(list(node.attrib))), clean[int(rng.integers(len(clean)))])
        case 1 if node.attrib:
            del node.attrib[str(rng.choice(list(node.attrib)))]
        case 2:
            node.text = clean[int(rng.integers(len(clean)))]
        case 3 if len(node):
            node.remove(node[int(rng.integers(len(node)))])
        case _:
            node.extend(list(node) * 3)
    return bytearray(xml.tostring(root))


def change_header(data: bytearray, rng: Rng) -> bytearray:
    """The header of .npy and .safetensors, which is text."""
    end = min(len(data), 300)
    return (
        change_number(data[:end], rng) + data[end:]
        if rng.uniform() < 0.7
        else change_word(data[:end], rng) + data[end:]
    )


def change_zip(data: bytearray, rng: Rng) -> bytearray:
    """Entries with other content, other names, or that unpack to much more than they say."""
    try:
        with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
            entries = {each.filename: archive.read(each) for each in archive.infolist()}
    except (
        zipfile.BadZipFile,
        OSError,
        ValueError,
        RuntimeError,
        NotImplementedError,
        EOFError,
        IndexError,
        zlib.error,
    ):
        return overwrite_number(data, rng)
    name = str(rng.choice(list(entries)))
    match int(rng.integers(5)):
        case 0:
            entries[f"../../{name}"] = entries.pop(name)
        case 1:
            entries[name] = bytes(50 << 20)
        case 2:
            del entries[name]
        case 3:
            change = change_json if name.endswith(".json") else _pick(PLAIN, rng)
            entries[name] = bytes(change(bytearray(entries[name] or b"x"), rng))
        case _:
            manifest = next((each for each in entries if each.endswith(".json")), name)
            entries[manifest] = bytes(change_json(bytearray(entries[manifest]), rng))
    out = io.BytesIO()
    with zipfile.ZipFile(
        out, "w", zipfile.ZIP_DEFLATED if rng.uniform() < 0.5 else zipfile.ZIP_STORED
    ) as archive:
        for each, content in entries.items():
            archive.writestr(each, content)
    return bytearray(out.getvalue())


class _Evil:
    """Runs code when it is unpickled by a reader that trusts it."""

    def __init__(self, function: Any, *given: Any) -> None:
        self._reduced = function, given

    def __reduce__(self) -> Any:
        return self._reduced


def evil_pickle(data: bytearray, rng: Rng) -> bytearray:
    import os

    calls = ((os.system, "exit 7"), (eval, "1/0"), (open, "/tmp/stress-owned", "w"), (np.zeros, (1 << 40,)))
    function, *given = _pick(calls, rng)
    return bytearray(pickle.dumps(([_Evil(function, *given)], {}), protocol=int(rng.integers(0, 6))))


def change_onnx(data: bytearray, rng: Rng) -> bytearray:
    """Change a node, a shape, a tensor's place or the version of a model."""
    import onnx

    try:
        model = onnx.ModelProto.FromString(bytes(data))
        node = model.graph.node[int(rng.integers(len(model.graph.node)))]
        number = int(rng.choice([0, -1, 1, 7, 1 << 20, 1 << 31, 1 << 40]))
        match int(rng.integers(6)):
            case 0:
                node.op_type = str(rng.choice(["Loop", "Resize", "Tile", "Expand", "Conv", "Nothing", ""]))
            case 1 if node.attribute:
                held = node.attribute[int(rng.integers(len(node.attribute)))]
                held.ints[:] = [number] * int(rng.integers(0, 5))
            case 2:
                entry = (model.graph.input[0], model.graph.output[0])[int(rng.integers(2))]
                shape = entry.type.tensor_type.shape.dim
                shape[int(rng.integers(len(shape)))].dim_value = number
            case 3:
                tensor = model.graph.initializer.add()
                tensor.name, tensor.data_type = "other", 1
                tensor.dims.append(64)
                tensor.data_location = onnx.TensorProto.EXTERNAL
                tensor.external_data.add(
                    key="location", value=str(rng.choice(["/etc/passwd", "../x", "grid.onnx"]))
                )
                node.input.append("other")
            case 4:
                model.opset_import[0].version = number & 0xFFFF
            case _:
                del model.graph.node[int(rng.integers(len(model.graph.node)))]
        return bytearray(model.SerializeToString())
    except (ValueError, IndexError, TypeError, onnx.onnx_cpp2py_export.checker.ValidationError):
        return overwrite_number(data, rng)
    except Exception as error:
        if "protobuf" not in type(error).__module__:
            raise
        return overwrite_number(data, rng)
