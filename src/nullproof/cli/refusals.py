"""What cannot be asked for together: each refused by its name before any work is done."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from nullproof.cli.options import Request
from nullproof.cli.written import written_binning
from nullproof.errors import NullproofError
from nullproof.words import either

# What is asked when a table is counted, and not again where it is counted like an index.
COUNTING = (
    *(
        "bins",
        "binning",
        "weights",
        "missing",
        "missing_only",
        "missing_is_value",
        "ignore",
        "keep",
    ),
)


def refuse_together(request: Request) -> None:
    """Refuse options that do not fit TRAIN, or one another."""
    from nullproof.model.parameters import written_number

    written_number(request.alpha)
    train = request.train
    if train == request.test == "-":
        raise NullproofError("TRAIN and TEST are both standard input; give one of them as a file")
    if request.is_index and request.like is not None:
        raise NullproofError(
            f"--like is given, but TRAIN {train} is a saved index with bins and domains of its own; "
            "leave --like out, or give the table"
        )
    if request.memory_limit is not None and (request.is_index or train == "-"):
        what = "is counted already" if request.is_index else "(standard input) is read into memory"
        raise NullproofError(f"--memory-limit is given, but {train} {what}; leave it out")
    settled = train if request.is_index else request.like
    if settled is not None:
        _refuse_settled(request, settled)
    if request.bins is not None:
        _refuse_bins(request.bins, request.binning)


def refuse_output(request: Request, endings: Collection[str]) -> None:
    """Refuse a file for the answer that cannot be written, or whose ending is not among ``endings``."""
    output = request.output
    if output is None:
        return
    if endings and output.suffix not in endings:
        raise NullproofError(
            f"-o {output} names no format by its ending; end it in {either([*endings], 'or')}"
        )
    if not output.parent.is_dir():
        raise NullproofError(f"-o {output}: there is no folder {output.parent}; make it first")
    if output.is_dir():
        raise NullproofError(f"-o {output} is a folder; name a file in it")
    refuse_overwriting({"-o": output}, (request.train, request.test, request.like))


def refuse_overwriting(targets: Mapping[str, Path | None], read: Iterable[Any]) -> None:
    """No file that is read is written over, and no file is written twice."""
    taken = [Path(name) for name in read if name not in (None, "-")]
    for option, path in targets.items():
        if path is None:
            continue
        if any(_same_file(path, other) for other in taken):
            raise NullproofError(
                f"{option} {path} is a file that is read or written; give another name"
            )
        taken.append(path)


def _refuse_settled(request: Request, index: str) -> None:
    """Refuse options about the training table where a saved index has settled them."""
    defaults = {field.name: field.default for field in fields(request)}
    for name in (*COUNTING, *(["drop_unlabelled"] if request.is_index else [])):
        if getattr(request, name) not in (defaults[name], []):
            raise NullproofError(
                f"--{name.replace('_', '-')} is given, but the saved index {index} has settled "
                "it; leave it out, or count the table anew"
            )


def _refuse_bins(bins: str, binning: list[str] | None) -> None:
    if not (bins.isascii() and bins.isdigit()):
        raise NullproofError(
            f"--bins is {bins!r}; give a whole number, or --binning none for no bins"
        )
    ways = written_binning(binning) if binning else "mdl"
    if not {"uniform", "quantile"} & ({*ways.values()} if isinstance(ways, dict) else {ways}):
        raise NullproofError(
            f"--bins is {bins} but no column has uniform or quantile bins, which alone take a number; "
            "leave --bins out, or add --binning uniform"
        )


def _same_file(a: Path, b: Path) -> bool:
    return a.resolve() == b.resolve() or (a.exists() and b.exists() and a.samefile(b))
