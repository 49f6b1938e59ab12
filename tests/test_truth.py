"""truth: how many predictions are right, by verdict and along the bias, and true labels beside points."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.refusing import refuses

from nullproof import CountIndex, certify, truth

NAMES = ["no", "perhaps", "yes"]
BIASES = (0, 0.01, 0.05, 0.1, 0.25, 0.5, 1)


def random_case(seed: int) -> tuple[CountIndex, list[tuple[Any, ...]], list[Any]]:
    """A table with holes, points, and true labels of which some are missing or no labels at all."""
    draw = random.Random(seed)
    rows: list[tuple[Any, ...]] = [("a", "a", "a"), ("b", "b", "b")]
    rows += [tuple(draw.choice(["a", "b", None]) for _ in range(3)) for _ in range(10)]
    labels = [*NAMES, *(draw.choice(NAMES) for _ in range(9))]
    points = [tuple(draw.choice(["a", "b", None]) for _ in range(3)) for _ in range(25)]
    actual = [draw.choice([*NAMES, None, "other"]) for _ in points]
    return CountIndex.from_rows(rows, labels), points, actual


def shares(pairs: Iterable[tuple[Any, Any]]) -> tuple[int, int, float | None, float | None]:
    """Known points, right ones, accuracy and balanced accuracy, in plain Python."""
    known = [(found, label) for found, label in pairs if label in NAMES]
    right = [found == label for found, label in known]
    recalls = [
        fmean(found == label for found, label in known if label == one)
        for one in {label for _, label in known}
    ]
    return len(known), sum(right), fmean(right) if right else None, fmean(recalls or [0])


@pytest.mark.parametrize("seed", range(20))
def test_counts_by_verdict_and_along_the_bias(seed: int) -> None:
    """Every number is what counting point by point gives; labels that are not known do not count."""
    index, points, actual = random_case(seed)
    found = certify(index, points)
    told = truth(found, actual)
    lines = [*zip(found.predicted, actual, found.verdict, found.tolerance, strict=True)]
    for verdict, group in told.groups.items():
        n, n_right, accuracy, balanced = shares((p, a) for p, a, v, _ in lines if v == verdict)
        assert (group.n, group.n_right) == (n, n_right)
        assert group.accuracy == (None if not n else pytest.approx(accuracy))
        assert group.balanced_accuracy == (None if not n else pytest.approx(balanced))
    n, n_right, accuracy, balanced = shares((p, a) for p, a, _, _ in lines)
    assert (told.everything.n, told.everything.n_right) == (n, n_right)
    assert (told.accuracy, told.balanced_accuracy) == pytest.approx((accuracy, balanced))
    for bias in BIASES:
        at = told.at(bias)
        n, n_right, accuracy, balanced = shares((p, a) for p, a, _, t in lines if t >= bias)
        assert (at.hold.n, at.hold.n_right) == (n, n_right)
        assert at.hold.accuracy == (None if not n else pytest.approx(accuracy))
        assert at.hold.balanced_accuracy == (None if not n else pytest.approx(balanced))
        rest = shares((p, a) for p, a, _, t in lines if not t >= bias)
        assert (at.rest.n, at.rest.n_right) == rest[:2]


def test_true_labels_change_no_verdict() -> None:
    """Certificates with true labels are the same but for what they say of being right."""
    index, points, actual = random_case(1)
    plain, told = certify(index, points), certify(index, points, truth=actual)
    columns = told.columns()
    right = columns.pop("right")
    assert columns == plain.columns()
    for predicted, label, is_right in zip(plain.predicted, actual, right, strict=True):
        assert is_right == (predicted == label if label in NAMES else None)
    assert plain.right is None
    assert plain.truth is None
    assert "right" not in plain.document()["points"][0]
    one = certify(index, points[0], truth=plain.predicted[0])
    assert one.right is True
    assert repr(one).endswith("right)")


def test_parts_keep_names_and_truth() -> None:
    """Slices, masks, positions and negative ones carry keys and true labels along."""
    index, points, actual = random_case(2)
    keys = [f"k{place}" for place in range(len(points))]
    every = certify(index, points, key=keys, truth=actual)
    columns = {name: np.array(cells, dtype=object) for name, cells in every.columns().items()}
    mask = np.array([place % 3 == 0 for place in range(len(points))])
    for part in (slice(3, 7), mask, [4, -1], slice(None, None, -2)):
        assert every[part].columns() == {
            name: cells[part].tolist() for name, cells in columns.items()
        }
        assert every[part].truth is not None
    last = every[-1]
    assert (last.key, last.right) == (keys[-1], every.columns()["right"][-1])
    assert last.others == tuple(label for label in last.possible if label != last.predicted)
    assert [one.key for one in every[3:7]] == keys[3:7]
    assert repr(every[3:5]).splitlines()[1].startswith("  k3: Certificate(")


@pytest.mark.parametrize("make", [pl.Series, pd.Series, np.array, list])
@pytest.mark.parametrize("labels", [[True, False], [1, 0], [1.0, 0.0], ["1", "0"]])
def test_labels_are_compared_as_they_are_written(make: Any, labels: list[Any]) -> None:
    """1, 1.0 and "1" are one label, and a boolean is its word, in whatever they come."""
    index = CountIndex.from_rows([("a",), ("b",)], labels)
    found = certify(index, [("a",), ("b",)])
    assert truth(found, make(labels)).accuracy == 1
    written = [str(label) for label in labels]
    assert truth(found, written).accuracy == 1
    assert truth(found, [None, float("nan")]).everything.n == 0


def test_shown_truth() -> None:
    """Text, HTML, a frame and JSON tell the same."""
    index, points, actual = random_case(3)
    told = truth(certify(index, points), actual)
    found = told.everything
    assert repr(told).startswith(f"Truth: {found.n_right} of {found.n} predictions right (")
    assert "balanced" in told._repr_html_()
    assert told.to_frame()["verdict"].to_list() == ["certain", "holds", "open", "all"]
    document = json.loads(json.dumps(told.document(), allow_nan=False))
    assert document["verdicts"]["open"]["n"] == told.groups["open"].n
    biases = [one["bias"] for one in document["curve"]]
    assert biases == sorted({*biases})
    assert (biases[0], biases[-1]) == (0, 1)
    nothing = truth(certify(index, points), [None] * len(points))
    assert (nothing.accuracy, nothing.balanced_accuracy, nothing.sentence()) == (None, None, "")
    assert repr(nothing).startswith("Truth: 0 of 0 predictions right\n")
    pandas = truth(
        certify(CountIndex.from_rows([("a",)], ["x"]), pd.DataFrame({"x0": ["a"]})), ["x"]
    )
    assert isinstance(pandas.to_frame(), pd.DataFrame)


test_mistakes = refuses(
    "One sentence that says what came, what was needed and what to do.",
    lambda labels: truth(certify(*random_case(0)[:2]), labels),
    (3, "truth is 3; give one true label per point"),
    ("ab", "truth is 'ab'"),
    (["no"], "has 1 labels"),
)
