"""A bias as it is written on the command line: a number, or numbers by column."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from nullproof.bias import REST
from nullproof.errors import NullproofError
from nullproof.model import written_number

BiasOption = Annotated[
    list[str] | None,
    typer.Option(
        "--bias",
        metavar="[COL=]B",
        help="How far holes may differ from known cells, 0 to 1 (anything); repeatable.",
    ),
]


def written_bias(written: list[str] | None) -> Any:
    """Read a number, or numbers by column; a number without a column is that of the rest."""
    found: dict[str, Any] = {}
    for entry in written or ():
        column, sign, number = entry.rpartition("=")
        column = column if sign else REST
        try:
            bias = written_number(number)
        except NullproofError:
            raise NullproofError(
                f"--bias is {entry!r}; give a number from 0 to 1, or COLUMN=NUMBER"
            ) from None
        if column in found:
            whose = "the rest" if column == REST else repr(column)
            raise NullproofError(f"--bias gives {whose} two numbers; give one")
        found[column] = bias
    return found.get(REST, 1.0) if not {*found} - {REST} else found


def plain_bias(bias: Any) -> Any:
    """A bias as JSON writes it."""
    if isinstance(bias, dict):
        return {column: float(number) for column, number in bias.items()}
    return float(bias)
