"""--key: a column that names rows, in TRAIN and in TEST, and that is no feature."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from nullproof.errors import NullproofError, notice

if TYPE_CHECKING:
    from nullproof.counts.index import CountIndex


def left_out(
    key: str | None, names: Sequence[str], ignore: Collection[str], keep: Collection[str]
) -> list[str]:
    """The columns of TRAIN to leave out: those named by --ignore, and the key if TRAIN has it."""
    if key is None or key not in names or key in ignore:
        return [*ignore]
    if key in keep:
        raise NullproofError(
            f"{key!r} is given to --key, which names rows, and to --keep, which makes it a feature; give "
            "it to one of them"
        )
    notice(f"{key!r} names the rows (--key), so it is not counted as a feature")
    return [*ignore, key]


def refuse_unknown_key(
    key: str | None, index: CountIndex, names: Sequence[str], of_train: Sequence[str]
) -> None:
    """Refuse a key that is a feature or the label, or that neither the points nor TRAIN have."""
    from nullproof.data.keys import refuse_key
    from nullproof.data.sources import no_such_column

    refuse_key(index.schema, key, "--key")
    if key is None or key in names:
        return
    if key not in of_train:
        raise no_such_column(key, names)
    notice(f"TEST has no column {key!r}, so its points are named by their positions")
