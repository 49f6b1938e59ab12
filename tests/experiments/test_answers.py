"""The recorder of answers: the same package gives the same answers, and whatever changes is told."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from experiments import answers
from experiments.answers import comparing, names
from experiments.answers.questions import asked
from experiments.answers.random_tables import coded_table, small_table


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ask about two random tables and the embedded example only."""
    monkeypatch.setattr(answers, "QUICK_SMALL", 1)
    monkeypatch.setattr(answers, "QUICK_CODED", 2)
    monkeypatch.setattr(answers, "FOLDER", tmp_path / "not there")


def run(do: str, path: Path) -> str:
    return answers.run(argparse.Namespace(do=do, file=path, quick=True))


@pytest.mark.usefixtures("few")
@pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")
def test_a_change_of_one_answer_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Asked twice, the one value that was altered differs, with its place, and nothing else."""
    path = tmp_path / "answers.json"
    assert "recorded" in run("record", path)
    assert answers.NOT_AT_HAND in capsys.readouterr().err
    record = json.loads(path.read_text("utf-8"))
    record["coded tables"]["0"]["index"]["rows"] += 1
    path.write_text(json.dumps(record), "utf-8")
    with pytest.raises(SystemExit) as ending:
        run("compare", path)
    assert ending.value.code == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("coded tables > 0 > index > rows: ")
    assert len(told) == 2


def test_no_change_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the answers are those of the record, their number is told."""
    monkeypatch.setattr(answers, "everything", lambda *, quick: {"quick": {"certain": [quick, 1]}})
    run("record", tmp_path / "answers.json")
    assert "2 values are the same" in run("compare", tmp_path / "answers.json")


@pytest.mark.parametrize(
    ("before", "after", "n_told"),
    [
        ({"a": 1.0}, {"a": 1.0 + 1e-15}, 0),
        ({"a": 1.0}, {"a": 1.0 + 1e-9}, 1),
        ({"a": float("nan"), "b": float("inf")}, {"a": float("nan"), "b": float("inf")}, 0),
        ({"a": 1}, {"a": True}, 1),
        ({"a": [1, 2]}, {"a": [1]}, 1),
        ({"a": {"b": 1}}, {"a": {"c": 1}}, 2),
        ({"a": {"b": 1}}, {"a": comparing.GONE}, 0),
        ({"a": "refused"}, {"a": {"b": 1}}, 1),
    ],
)
def test_what_counts_as_a_difference(before: Any, after: Any, n_told: int) -> None:
    """Floats to twelve digits, everything else exactly; what is gone is not compared."""
    assert len([*comparing.differences(before, after)]) == n_told


def test_renamed_keys_are_those_of_json_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A renamed key is looked for by its new name, at any depth, and nowhere outside of JSON."""
    monkeypatch.setitem(names.RENAMED, "old", "new")
    before, after = ({"json": {"a": [{name: 1}]}} for name in ("old", "new"))
    assert not [*comparing.differences(before, after)]
    assert len([*comparing.differences({"old": 1}, {"new": 1})]) == 2


def test_a_question_without_a_place_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the package does not answer any more is noted as gone."""
    monkeypatch.setitem(names.PLACES, "certify", None)
    assert asked(lambda: names.question("certify")) == comparing.GONE


def test_random_tables_come_from_their_seed() -> None:
    """The same seed gives the same table, another one another."""
    for make in (small_table, coded_table):
        assert make(3) == make(3)
        assert make(3) != make(4)
