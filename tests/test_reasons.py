"""One point that costs too much among good ones: it gets a reason, and the others their answers."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import Runner
from support.count_tables import index_from_counts

from nullproof import CountIndex, label_odds, poison, radius, report
from nullproof.cleaning.needs import cases
from nullproof.errors import NullproofWarning
from nullproof.model import Model
from nullproof.odds.bounds import MAX_COMPLETIONS as ODDS_LIMIT
from nullproof.plots import plot_radius
from nullproof.radii import weakest
from nullproof.radii.cells import radii
from nullproof.radii.weakest import MAX_COMPLETIONS as RADIUS_LIMIT
from nullproof.reporting.points import _affordable

ANY = {"0", "1", "2"}
# Certain whatever its candidates are, but with 3^12 of them that an attacker may choose from.
HOPELESS = [("0",) * 12, (ANY,) * 12, ("1",) * 12]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time to search for the weakest of very many completions."""
    monkeypatch.setattr(weakest, "MOST_WORK", 0)


def certain_index() -> CountIndex:
    return index_from_counts([180, 100], [[(50, 1), (60, 2), (70, 3), (0, 94)]] * 12)


def open_index() -> CountIndex:
    """Eleven columns of which each value may be anything: holes for every value of a point."""
    rows: list[Any] = [("a",) * 11, ("b",) * 11, ("a",) * 11, ("b",) * 11, (None,) * 11]
    return CountIndex.from_rows(rows, ["yes", "no", "yes", "no", "no"])


@pytest.mark.usefixtures("impatient")
def test_radius() -> None:
    """NaN and a reason for the one point, the same radii as alone for the others."""
    index = certain_index()
    with pytest.warns(
        NullproofWarning, match="radius of 1 point not worked out; the first is point 1"
    ):
        found = radii(index, HOPELESS, alpha=0)
    alone = radius(index, [HOPELESS[0], HOPELESS[2]], alpha=0)
    assert found.radius[[0, 2]].tolist() == alone.tolist()
    assert math.isnan(found.radius[1])
    assert found.label.tolist() == ["L0"] * 3
    assert found.not_worked_out[1].startswith("531,441 completions to look at, more than 65,536; ")
    assert found.not_worked_out[[0, 2]].tolist() == [None, None]
    assert "1 not worked out" in repr(found)
    assert found._repr_html_().count("531,441 completions") == 1
    told = json.loads(json.dumps(found.document(), allow_nan=False))["points"]
    assert [point["radius"] is None for point in told] == [False, True, False]
    assert [point["not_worked_out"] is None for point in told] == [True, False, True]
    assert "1 not worked out" in json.dumps(plot_radius(found).to_dict())


@pytest.mark.usefixtures("impatient")
def test_attack() -> None:
    """An attack leaves the one point out, says so, and breaks the others."""
    with pytest.warns(NullproofWarning, match="not worked out"):
        attack = poison(certain_index(), HOPELESS, alpha=0, steps=0)
    assert [target.broken for target in attack.targets] == [True, False, True]
    assert "2 certain points" in repr(attack)
    told = attack.document([])["points"]
    assert [point["certain_before"] for point in told] == [True] * 3
    assert [point["not_worked_out"] is None for point in told] == [True, False, True]


def test_odds() -> None:
    """The one point has true but trivial bounds and a reason; the others are those of before."""
    index = open_index()
    points = [("a",) * 11, (None,) * 11, ("b", "a") + ("a",) * 9]
    with pytest.warns(
        NullproofWarning, match="odds of 1 point not worked out; the first is point 1"
    ):
        found = label_odds(index, points, own_missing="any")
    alone = label_odds(index, [points[0], points[2]])
    assert np.array_equal(found.lower[[0, 2]], alone.lower)
    assert (found.lower[1].tolist(), found.upper[1].tolist()) == ([0.0, 0.0], [1.0, 1.0])
    assert found.not_worked_out[1].startswith("2,048 completions")
    assert found._repr_html_().count("2,048 completions") == 1
    assert "not worked out" not in alone._repr_html_()
    told = found.document()["points"]
    assert [point["not_worked_out"] is None for point in told] == [True, False, True]
    assert [reason is None for reason in found.columns()["not_worked_out"]] == [True, False, True]


def test_cases() -> None:
    """An open point with holes of its own has no best case, but a reason."""
    found = cases(
        open_index(), [("a",) * 11, (None,) * 11, ("b", "a") * 5 + ("b",)], own_missing="any"
    )
    assert np.isnan(found.best).tolist() == [False, True, False]
    assert [one.not_worked_out is None for one in found] == [True, False, True]


@pytest.mark.usefixtures("impatient")
@pytest.mark.filterwarnings("ignore:the radius of:nullproof.NullproofWarning")
def test_report() -> None:
    """A report has a number of such points and each one's reason, in every format."""
    made = report(certain_index(), HOPELESS, alpha=0)
    fragility, points = made.document["fragility"], made.document["points"]
    assert (fragility["n_certain"], fragility["n_not_worked_out"]) == (3, 1)
    assert [point["not_worked_out"] is None for point in points] == [True, False, True]
    assert json.loads(made.json())["points"][1]["radius"] is None
    assert "radius not worked out" in made.html()
    assert "For 1 point it is not worked out" in made.html()
    assert "not worked out" in made.markdown()


def test_more_completions_than_a_double_holds() -> None:
    """A point with 2^1100 completions has no odds in a report, and the others have theirs."""
    index = index_from_counts([4, 4], [[(2, 2), (2, 2)]] * 1100)
    model = Model(index)
    points = model.points([("0",) * 1100, (None,) * 1100], "any")
    assert _affordable(model, points, np.arange(2)).tolist() == [0]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("command", ["radius", "odds", "poison"])
def test_commands(run: Runner, folder: Path, command: str) -> None:
    """The command goes on, the table and the JSON say which point is not worked out, and why."""
    head = ",".join(f"c{j}" for j in range(12))
    counts = {"yes": (50, 60, 70), "no": (1, 2, 3) if command != "odds" else (50, 60, 70)}
    rows = [
        ",".join([*("rgb"[value] * 12), label])
        for label, own in counts.items()
        for value, n_rows in enumerate(own)
        for _ in range(n_rows)
    ]
    if command == "odds":
        rows += [",".join(["", *("r" * 11), label]) for label in counts]
    (folder / "train.csv").write_text("\n".join([f"{head},label", *rows]))
    cells = [",".join("r" * 12), "," * 11, ",".join("g" * 12)]
    (folder / "test.csv").write_text("\n".join([head, *cells]))
    asked = (
        command,
        "train.csv",
        "test.csv",
        "--label",
        "label",
        "--own-missing",
        "any",
        "--alpha",
        "0",
    )
    steps = ("--steps", "0") if command == "poison" else ()
    done = run(*asked, *steps)
    assert (done.code, done.out.count("1 point is not worked out; the first is 1: ")) == (0, 1), (
        done
    )
    assert "531,441 completions" in done.out.replace("\n", " ")
    if command != "poison":
        rows = [line.split()[0] for line in done.out.splitlines() if line.strip()[:1] in {*"012"}]
        assert [row for row in rows if row in {*"012"}][-1] == "1"
    told = json.loads(run(*asked, *steps, "--json").out)
    assert [point["not_worked_out"] is None for point in told["points"]] == [True, False, True]


def test_help_names_the_limit(run: Runner) -> None:
    """The limits that the code has are those that the help tells."""
    assert f"{RADIUS_LIMIT:,}" in run("radius", "--help").out
    assert f"{RADIUS_LIMIT:,}" in run("poison", "--help").out
    assert f"{ODDS_LIMIT:,}" in run("odds", "--help").out
