"""A small validator of JSON Schema: the words that the schemas of docs/ use, and no others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_WORDS = {
    *("$schema", "title", "description", "type", "required", "properties", "additionalProperties"),
    *("items", "enum", "const", "minimum", "maximum"),
}


def problems(command: str, document: Any) -> list[str]:
    """What is wrong with the JSON of a command: a wrong value, a key that lacks or is not described."""
    schema = json.loads((SCHEMAS / f"{command}.json").read_text("utf-8"))
    return [*_problems(schema, document, "$")]


def _problems(schema: dict[str, Any], value: Any, where: str) -> Iterator[str]:
    assert {*schema} <= _WORDS, {*schema} - _WORDS
    wanted = schema.get("type", [*_TYPES])
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if not any(_is(value, one) for one in wanted):
        yield f"{where} is {value!r}, not {wanted}"
        return
    yield from _problems_of_one(schema, value, where)
    if isinstance(value, list):
        for place, item in enumerate(value):
            yield from _problems(schema["items"], item, f"{where}[{place}]")
    if isinstance(value, dict) and "properties" in schema:
        yield from (f"{where} lacks {name}" for name in schema["required"] if name not in value)
        yield from (
            f"{where}.{name} is in no schema" for name in {*value} - {*schema["properties"]}
        )
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for name, item in value.items():
            told = known.get(name, schema.get("additionalProperties", {}))
            yield from _problems(told, item, f"{where}.{name}")


def _problems_of_one(schema: dict[str, Any], value: Any, where: str) -> Iterator[str]:
    """What is wrong with a value itself."""
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is {value!r}, not among {schema['enum']}"
    if "const" in schema and value is not schema["const"]:
        yield f"{where} is {value!r}, not {schema['const']!r}"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{where} is {value}, out of range"


def _is(value: Any, name: str) -> bool:
    # In Python a boolean is an integer, in JSON it is not.
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))
