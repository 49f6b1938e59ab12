"""The JSON schemas as Markdown: a table of keys for each command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DEEPEST = 2  # further down the keys repeat what a page tells in words


def tables(folder: Path) -> str:
    """Every schema of a folder: its keys, their types and what they say."""
    parts = []
    for path in sorted(folder.glob("*.json")):
        rows = "\n".join(_keys(json.loads(path.read_text("utf-8")), "", 0))
        parts.append(f"### {path.stem}\n\n| key | type | what it says |\n|---|---|---|\n{rows}")
    return "\n\n".join(parts)


def _keys(schema: dict[str, Any], prefix: str, depth: int) -> Iterator[str]:
    """A line for each key, those of objects and lists below their own."""
    needed = schema.get("required", [])
    for name, one in schema.get("properties", {}).items():
        said = one.get("description", "")
        optional = "" if name in needed else "*Not always there.* "
        yield f"| `{prefix}{name}` | {_type(one)} | {optional}{said} |"
        inner = one.get("items", one)
        if depth < DEEPEST and "properties" in inner:
            dots = "[]." if "items" in one else "."
            yield from _keys(inner, f"{prefix}{name}{dots}", depth + 1)


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    kinds = schema.get("type", [])
    return " or ".join([kinds] if isinstance(kinds, str) else kinds)
