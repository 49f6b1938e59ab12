"""Every past fault, by its name: what came in, which question, what must come out."""

from __future__ import annotations

from typing import Any

import pytest
from regressions import attacks, cleaning, counts, data, faces, model, odds

# Random and odd points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
ROOMS: dict[str, Any] = {
    "attacks": attacks,
    "cleaning": cleaning,
    "counts": counts,
    "data": data,
    "faces": faces,
    "model": model,
    "odds": odds,
}


# Cases that take seconds.
SLOW = ("neighbours of 9",)


@pytest.mark.parametrize(
    ("room", "name"),
    [
        pytest.param(room, name, marks=[pytest.mark.slow] * name.startswith(SLOW))
        for room, module in ROOMS.items()
        # A room whose libraries are not installed was left half loaded when its file was collected.
        for name in getattr(module, "CASES", ())
    ],
)
def test_past_faults(room: str, name: str) -> None:
    """What once went wrong stays right."""
    ROOMS[room].check(ROOMS[room].CASES[name])
