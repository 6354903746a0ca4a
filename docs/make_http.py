"""Writes docs/reference/http.md, the reference of the HTTP API, from its OpenAPI schema: `make docs`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent / "reference" / "http.md"
PREFIX = "/api/v1"
INTRODUCTION = f"""\
# HTTP API: requests and answers

This page lists every request of the API and every form of its answers. It is made from the server's own
schema, which a server also gives at `{PREFIX}/openapi.json`. [Use the HTTP API](../api.md) explains the API
with examples.

All paths begin with `{PREFIX}`. Bodies are JSON unless the request says otherwise. Required parameters
and keys have a *. Every request can fail with a [Problem](#problem). The [list of status
codes](../api.md#errors) says when.
"""


def reference() -> str:
    """The whole page as Markdown."""
    schema = openapi()
    forms = schema["components"]["schemas"]
    topics: dict[str, list[str]] = {}
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            section = _operation(method, path, operation, set(forms["AlignmentRequest"]["properties"]))
            topics.setdefault(operation["tags"][0], []).extend(section)
    lines = [INTRODUCTION]
    for topic, sections in topics.items():
        lines += [f"## {topic.capitalize()} requests", "", *sections]
    lines += ["## Forms", "", *(line for name, form in forms.items() for line in _form(name, form))]
    return "\n".join(lines).rstrip() + "\n"


def openapi() -> dict[str, Any]:
    """The schema of a server."""
    from seasync.serve import create_app
    from seasync.serve.tasks import SeaLocation

    with tempfile.TemporaryDirectory() as folder:
        app = create_app({"footage": SeaLocation(f"{folder}/footage.sea")}, state=f"{folder}/state")
        schema: dict[str, Any] = app.openapi()
        app.state.backend.close()
    return schema


def _operation(method: str, path: str, operation: dict[str, Any], aligning: set[str]) -> Iterator[str]:
    yield from (f"### `{method.upper()} {path.removeprefix(PREFIX) or PREFIX}`", "")
    yield from (" ".join(operation["description"].split()), "")
    parameters = [each for each in operation.get("parameters", []) if each["in"] == "query"]
    names = {each["name"] for each in parameters}
    if {"query", "match", "anchor"} <= names:
        yield from ("Parameters: all keys of [AlignmentRequest](#alignmentrequest), in the query string.", "")
        parameters = [each for each in parameters if each["name"] not in aligning]
    if parameters:
        yield from ("| parameter | type | |", "|---|---|---|")
        yield from (_row(each["name"], each["schema"], each.get("required", False)) for each in parameters)
        yield ""
    takes = [_content(*each) for each in operation.get("requestBody", {}).get("content", {}).items()]
    status, answer = next(each for each in operation["responses"].items() if each[0].startswith("2"))
    gives = [_content(*each) for each in answer.get("content", {}).items()]
    if takes:
        yield from (f"Body: {' or '.join(takes)}.", "")
    yield from (f"Answer: `{status}`" + (f", {' or '.join(gives)}." if gives else ", without a body."), "")


def _content(kind: str, content: dict[str, Any]) -> str:
    schema = content.get("schema") or {}
    return _type(schema) if kind == "application/json" and schema else f"`{kind}`"


def _form(name: str, form: dict[str, Any]) -> Iterator[str]:
    yield from (f"### {name}", "", " ".join(form.get("description", "").split()), "")
    required = form.get("required", [])
    yield from ("| key | type | |", "|---|---|---|")
    yield from (_row(key, value, key in required) for key, value in form["properties"].items())
    yield ""


def _row(name: str, schema: dict[str, Any], required: bool) -> str:
    text = " ".join(schema.get("description", "").split())
    if schema.get("default") not in (None, [], {}, ""):
        text += f" Default: `{str(schema['default']).lower()}`."
    return f"| `{name}`{' *' if required else ''} | {_type(schema)} | {text.strip()} |"


def _type(schema: dict[str, Any]) -> str:
    """A type of JSON Schema in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if choices := schema.get("enum", [schema["const"]] if "const" in schema else []):
        return ", ".join(f"`{choice}`" for choice in choices)
    kind = schema.get("type", "anything")
    if kind == "array":
        if "prefixItems" in schema:
            return f"[{', '.join(_type(each) for each in schema['prefixItems'])}]"
        item = _type(schema.get("items", {}))
        return f"list of {item}" + ("s" if item in ("string", "number", "integer") else "")
    if kind == "object":
        values = schema.get("additionalProperties")
        keys = schema.get("propertyNames", {}).get("enum")
        inner = _type(values) if isinstance(values, dict) else "anything"
        named = f" with {' and '.join(f'`{key}`' for key in keys)}" if keys else ""
        return f"object{named} of {inner}"
    return {"null": "null", "boolean": "true or false"}.get(kind, kind)


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8")
    print(TARGET)
