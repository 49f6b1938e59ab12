"""What options mean that are written in a small language: priors by label, bias and bins by column."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nullproof.errors import NullproofError

if TYPE_CHECKING:
    from nullproof.counts.index import CountIndex

BiasOption = Annotated[
    list[str] | None,
    typer.Option(
        "--bias",
        metavar="[COL=]B",
        help="How far holes may differ from known cells, 0 to 1 (anything); repeatable.",
    ),
]


def written_prior(written: str | None, index: CountIndex) -> Any:
    """Read a prior: its name, numbers, or numbers by label."""
    from nullproof.model.parameters import written_number

    if written is None or written == "uniform":
        return written
    parts = written.split(",")
    if "=" not in written:
        return [written_number(part) for part in parts]
    named = dict(part.rpartition("=")[::2] for part in parts)
    labels = [str(label) for label in index.labels]
    if {*named} != {*labels}:
        raise NullproofError(
            f"--prior names {', '.join(named)} but the labels are {', '.join(labels)}; "
            "give one number for each"
        )
    return [written_number(named[label]) for label in labels]


def written_bias(written: list[str] | None) -> Any:
    """Read a number, or numbers by column; a number without a column is that of the rest."""
    from nullproof.model.parameters import written_number

    def read(entry: str, number: str) -> Any:
        try:
            return written_number(number)
        except NullproofError:
            raise NullproofError(
                f"--bias is {entry!r}; give a number from 0 to 1, or COLUMN=NUMBER"
            ) from None

    return _by_column("--bias", written, read, 1.0, "numbers")


def written_binning(written: list[str]) -> Any:
    """Read a way to make bins, or ways by column; one without a column is that of the rest."""
    return _by_column("--binning", written, lambda _, how: how, None, "ways")


def written_weights(written: list[str] | None) -> Any:
    """Read how weights are found, or weights by column; one without a column is that of the rest."""
    from nullproof.model.parameters import REST, written_number

    def read(_: str, weight: str) -> Any:
        if weight in ("equal", "learned"):
            return weight
        try:
            return written_number(weight)
        except NullproofError:
            raise NullproofError(
                f"--weights is {weight!r}; give learned, equal, or COLUMN=NUMBER with a multiple of 1/8 "
                "from 0 to 2"
            ) from None

    found = _by_column("--weights", written, read, "learned", "weights")
    return found if isinstance(found, str | dict) else {REST: found}


def _by_column(
    option: str,
    written: list[str] | None,
    read: Callable[[str, str], Any],
    default: Any,
    kind: str,
) -> Any:
    """Read entries VALUE and COLUMN=VALUE: one value for all, or a mapping that names the rest ``*``."""
    from nullproof.model.parameters import REST

    found: dict[str, Any] = {}
    for entry in written or ():
        column, sign, value = entry.rpartition("=")
        column = column if sign else REST
        given = read(entry, value)
        if column in found:
            whose = "the rest" if column == REST else repr(column)
            raise NullproofError(f"{option} gives {whose} two {kind}; give one")
        found[column] = given
    return found.get(REST, default) if not {*found} - {REST} else found


def plain_bias(bias: Any) -> Any:
    """A bias as JSON writes it."""
    if isinstance(bias, dict):
        return {column: float(number) for column, number in bias.items()}
    return float(bias)
