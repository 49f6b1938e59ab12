"""The JSON of every command is what the schemas of docs/schemas say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command_line import PAPER, Runner, write_customers
from support.schemas import SCHEMAS, problems

LABEL = ("--label", "churn", *PAPER)
COMMANDS = ("certify", "radius", "odds", "poison", "clean")
WAYS: dict[str, tuple[str, ...]] = {
    "plain": ("new.csv", "--ignore", "customer"),
    "keyed": ("new.csv", "--key", "customer"),
    "training rows": ("--ignore", "customer"),
    "any": ("new.csv", "--ignore", "customer", "--own-missing", "any"),
}


@pytest.fixture(autouse=True)
def tables(folder: Path) -> None:
    write_customers(folder)


@pytest.mark.parametrize("way", [*WAYS])
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_keep_to_their_schema(run: Runner, command: str, way: str) -> None:
    """Every key is there, is of its type, and is described; a key without a description is found."""
    if command == "poison" and way == "training rows":
        return
    own = ("--steps", "1") if command == "poison" else ()
    done = run(command, "customers.csv", *WAYS[way], *LABEL, *own, "--json", "-q")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert problems(command, document) == []
    assert problems(command, {**document, "news": 1}) == ["$.news is in no schema"]
    assert problems(command, {**document, "n_points": -1}) == ["$.n_points is -1, out of range"]
    assert problems(command, {**document, "n_points": "5"})
    del document["n_points"]
    assert problems(command, document) == ["$ lacks n_points"]


def test_answers_keep_to_the_schema(run: Runner, folder: Path) -> None:
    """What worksheets brought is described too."""
    arguments = ("clean", "customers.csv", *WAYS["keyed"], *LABEL, "-q")
    run(*arguments, "-o", "sheet.csv")
    done = run(*arguments, "--answers", "sheet.csv", "--json")
    assert "answers" in json.loads(done.out)
    assert problems("clean", json.loads(done.out)) == []


def test_a_bias_by_column(run: Runner) -> None:
    """A bias may be a mapping, and then no single threshold is told."""
    done = run("certify", "customers.csv", *WAYS["plain"], *LABEL, "--bias", "age=0.1", "--json")
    document = json.loads(done.out)
    assert (document["threshold"], document["bias"]) == (None, {"age": 0.1})
    assert problems("certify", document) == []


def test_reports_keep_to_their_schema(run: Runner) -> None:
    """In every reading, beside another report, and with a point that was asked for; nothing else fits."""
    ways = {**WAYS, "biased": (*WAYS["plain"], "--bias", "age=0.1")}
    assert run("report", "customers.csv", *WAYS["keyed"], *LABEL, "-o", "other.json").code == 0
    ways["few"] = (*WAYS["keyed"], "--limit", "2", "--point", "11037", "--compare", "other.json")
    for way, arguments in ways.items():
        done = run("report", "customers.csv", *arguments, *LABEL, "--json", "-q")
        assert done.code == 0, done.err
        document = json.loads(done.out)
        assert problems("report", document) == [], way
    assert problems("report", {**document, "news": 1}) == ["$.news is in no schema"]
    document["points"][0]["verdict"] = "sure"
    assert problems("report", document)


def test_every_schema_is_tried() -> None:
    """No schema lies about without a command."""
    assert {path.stem for path in SCHEMAS.glob("*.json")} == {*COMMANDS, "report"}
