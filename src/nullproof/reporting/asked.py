"""What a report was asked: files, date, options and the command that makes it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nullproof.model.certify import Certificates
from nullproof.words import number, shortened, some

_MOST_LABELS = 6
# What somebody types who has an index in Python, with the options of the report.
_CALLS = {"clean": "cleaning_plan(index, points)", "radius": "radius(index, points)"}


@dataclass(frozen=True)
class Asked:
    """Where a report comes from, as far as it is known.

    Parameters
    ----------
    train, test
        The names of the files; ``test`` is None if the points are the training rows.
    date, version
        When the report was made, and by which nullproof.
    command
        What makes it again.
    options
        What was given, as it was written: pairs of name and value.
    notices
        What was told while the files were read: what was left out or taken as missing.
    commands
        What to type next, by verb: ``"clean"`` and ``"radius"``.
    training_rows
        Whether the points are the training rows themselves.
    """

    train: str | None = None
    test: str | None = None
    date: str | None = None
    version: str | None = None
    command: str | None = None
    options: Sequence[tuple[str, str]] = ()
    notices: Sequence[str] = ()
    commands: Mapping[str, str] = field(default_factory=lambda: _CALLS)
    training_rows: bool = False

    def document(self, judged: Certificates) -> dict[str, Any]:
        """The plain values that a report keeps; what was not given is told as the model has it."""
        written = dict(self.options)
        known = {key: value for key, value in _of_model(judged).items() if key not in written}
        return {
            "version": self.version,
            "train": self.train,
            "test": self.test,
            "training_rows": self.training_rows,
            "date": self.date,
            "options": [
                {"name": name, "value": shortened(value)}
                for name, value in {**written, **known}.items()
            ],
            "command": self.command,
        }

    def more_points(self, most: int) -> str:
        """Say how to have points told of that are left out; ``most`` is the most of a sample."""
        if self.command is not None:
            return (
                "Any other point comes with --point and its number or key, added to the command at the "
                f"end of this report; --limit N takes more of them, here up to {most:,}."
            )
        if self.version is None:
            return (
                "Any other point comes with also=[its number or key], given to report; limit=N takes "
                f"more of them, here up to {most:,}."
            )
        return "Any other point can be opened on the page of nullproof serve."


def _of_model(judged: Certificates) -> dict[str, str]:
    model = judged.model
    prior = zip(model.index.labels, model.prior, strict=True)
    return {
        "alpha": number(model.alpha),
        "prior": some((f"{label} {float(share):.3g}" for label, share in prior), _MOST_LABELS),
        "own holes": judged.points.own_missing,
        "bias": "any" if judged.strict else judged.up_to,
    }
