"""The recorder of answers (`experiments answers`): what changes is reported, by value or by law."""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from experiments import answers
from experiments.answers import laws
from experiments.answers.questions import ask_random

ATTACK = {"law": "attack", "size": 5, "bound": 3, "works": True}
BOUNDS = {"law": "bounds", "gap": 0.2, "lower": [0.3], "upper": [0.4]}


def run(do: str, path: Path) -> str:
    return answers.run(argparse.Namespace(do=do, file=path, quick=True))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")
def test_one_changed_answer_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two real tables' worth of answers, the value that was altered is reported and no other."""
    monkeypatch.setattr(
        answers,
        "everything",
        lambda *, quick: {"small table 0": ask_random("small", 0), "quick": quick},
    )
    path = tmp_path / "answers"
    assert "recorded" in run("record", path)
    assert run("compare", path).startswith("the same (")
    record = json.loads(gzip.decompress(path.read_bytes()))
    record["small table 0"]["index"]["n_rows"] += 1
    path.write_bytes(gzip.compress(json.dumps(record).encode()))
    with pytest.raises(SystemExit) as ending:
        run("compare", path)
    assert ending.value.code == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("small table 0 > index > n_rows: ")
    assert len(lines) == 2


@pytest.mark.parametrize(
    ("before", "after", "n_reported"),
    [
        ({"a": 1.0}, {"a": 1.0 + 1e-15}, 0),
        ({"a": 1.0}, {"a": 1.0 + 1e-9}, 1),
        ({"a": float("nan"), "b": float("inf")}, {"a": float("nan"), "b": float("inf")}, 0),
        ({"a": 1}, {"a": True}, 1),
        ({"a": [1, 2]}, {"a": [1]}, 1),
        ({"a": {"b": 1}}, {"a": {"c": 1}}, 2),
        ({"a": "refused"}, {"a": {"b": 1}}, 1),
        ({"a": ATTACK}, {"a": {**ATTACK, "size": 3}}, 0),
        ({"a": ATTACK}, {"a": {**ATTACK, "size": 2, "bound": 2}}, 1),
        ({"a": ATTACK}, {"a": {**ATTACK, "bound": 6, "size": 7}}, 1),
        ({"a": ATTACK}, {"a": {**ATTACK, "works": False}}, 1),
        ({"a": BOUNDS}, {"a": {**BOUNDS, "lower": [0.39], "upper": [0.5]}}, 0),
        ({"a": BOUNDS}, {"a": {**BOUNDS, "lower": [0.41], "upper": [0.5]}}, 1),
        ({"a": BOUNDS}, {"a": {**BOUNDS, "upper": [0.6]}}, 1),
        ({"a": {"law": "valid", "valid": True}}, {"a": {"law": "valid", "valid": False}}, 1),
        ({"a": {"law": "close", "numbers": [1]}}, {"a": {"law": "close", "numbers": [1.1]}}, 1),
    ],
)
def test_what_counts_as_a_difference(before: Any, after: Any, n_reported: int) -> None:
    """Floats to twelve digits, other values exactly, what may differ by design by its law."""
    assert len([*laws.differences(before, after)]) == n_reported


def test_an_intended_difference_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change at a place that intended.toml names is sorted out under its issue; others are not."""
    path = tmp_path / "intended.toml"
    path.write_text('[[change]]\nissue = "36"\nwhy = "ids"\nwhere = ["* > index > *"]\n')
    monkeypatch.setattr(laws, "INTENDED", path)
    found = laws.differences({"t": {"index": {"n": 1}, "m": 1}}, {"t": {"index": {"n": 2}, "m": 2}})
    assert laws.sort_out(found) == ({"36: ids": ["t > index > n"]}, ["t > m: 1 -> 2"])
