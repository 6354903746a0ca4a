"""Examples in the OpenAPI schema: one for every parameter, body and answer, made from the schema itself."""

from __future__ import annotations

from typing import Any

HEX = "5f0c3a1e9b7d4c2e8a6f1b3d5e7c9a0b"
# What fields of these names look like, where the schema has no example of its own.
KNOWN: dict[str, Any] = {
    "sea": "footage",
    "name": "swing.mp4",
    "file": "/videos/swing.mp4",
    "uri": "/seas/footage.sea",
    "ref": f"clip:{HEX}",
    "query": f"clip:{HEX}",
    "match": f"upload:{HEX[::-1]}",
    "leader": f"clip:{HEX}",
    "id": HEX,
    "clip": HEX,
    "upload": HEX,
    "job": HEX,
    "comparison": HEX,
    "encoder": "dinov2-small",
    "version": "1.0.0",
    "label": "squat",
    "verdict": "The whole clip aligns.",
    "reason": "DRAQ 0.31 is below the limit of 0.55.",
    "title": "Film b in step with a",
    "codec": "h264",
    "text": "squat",
    "at": [0.2, 0.6, 1.0],
    "created": 1790000000.0,
    "changed": 1790000000.0,
}
DEEPEST = 8


def add_examples(schema: dict[str, Any]) -> dict[str, Any]:
    """Put an example beside every parameter, JSON body and JSON answer that has none.

    Parameters
    ----------
    schema
        An OpenAPI document. It is changed in place.
    """
    forms = schema["components"]["schemas"]
    for operations in schema["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                parameter.setdefault("example", _example(parameter["schema"], forms, parameter["name"]))
            good = [answer for code, answer in operation["responses"].items() if code < "3"]
            for part in (operation.get("requestBody", {}), *good):
                content = part.get("content", {}).get("application/json")
                if content and content.get("schema"):
                    content.setdefault("example", _example(content["schema"], forms, ""))
    return schema


def _example(schema: dict[str, Any], forms: dict[str, Any], name: str, depth: int = 0) -> Any:
    """A value that the schema allows."""
    if "$ref" in schema:
        return _example(forms[schema["$ref"].rpartition("/")[2]], forms, name, depth + 1)
    if schema.get("examples"):
        return schema["examples"][0]
    for key in ("const", "default"):
        if schema.get(key) is not None:
            return schema[key]
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        named = next((one for one in schema["anyOf"] if one.get("type") != "null"), schema["anyOf"][0])
        return None if "default" in schema else _example(named, forms, name, depth)
    return _plain(schema, forms, name, depth)


def _plain(schema: dict[str, Any], forms: dict[str, Any], name: str, depth: int) -> Any:
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        return {key: _example(value, forms, key, depth + 1) for key, value in schema["properties"].items()}
    if kind == "object":
        keys = schema.get("propertyNames", {}).get("enum", ["name"])
        values = schema.get("additionalProperties")
        inner = values if isinstance(values, dict) else {"type": "string"}
        return {
            key: _example(inner, forms, key if inner.get("type") == "string" else "", depth + 1)
            for key in keys
        }
    if kind == "array":
        if "prefixItems" in schema:
            return [_example(one, forms, "", depth + 1) for one in schema["prefixItems"]]
        count = max(schema.get("minItems", 1), 1)
        return [] if depth > DEEPEST else [_example(schema.get("items", {}), forms, name, depth + 1)] * count
    if name in KNOWN and kind == _kind(KNOWN[name]):
        return KNOWN[name]
    least = schema.get("minimum", 0)
    return {"string": "text", "integer": max(int(least), 1), "number": max(least, 0.5), "boolean": True}.get(
        str(kind)
    )


def _kind(value: Any) -> str:
    return {str: "string", float: "number", list: "array"}[type(value)]
