"""Weights: learned from the known cells as theory 12 says, given, kept, and refused where not known yet.

That answers with weights are exact is tested where the answers are: verdicts, bias, tolerance, witness.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from support.command_line import one_line, ran
from support.refusing import refuses

from nullproof import (
    CertifiedNB,
    CountIndex,
    NullproofError,
    NullproofWarning,
    certify,
    cleaning_plan,
    explain,
    label_odds,
    poison,
    radius,
    report,
)
from nullproof.attacks import certified_accuracy_curve
from nullproof.cleaning import Cleaner

SEED = 20261118
# That weights are 0 is told, which is no matter here.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{said}:nullproof.NullproofWarning")
    for said in ("Weights learned", "columns with missing cells")
]


def weights_of(index: CountIndex) -> list[float | None]:
    """Return the weight of each feature."""
    return [line.weight for line in index.columns if line.use == "feature"]


def random_codes(
    rng: np.random.Generator, n_rows: int | None = None
) -> tuple[NDArray[Any], NDArray[Any], list[int]]:
    """Draw a table whose columns tell different amounts, and repeat each other more or less."""
    n, d, m = (
        n_rows or int(rng.integers(100, 400)),
        int(rng.integers(1, 7)),
        int(rng.integers(2, 5)),
    )
    labels = rng.integers(0, m, n)
    labels[:m] = np.arange(m)
    hidden = np.where(rng.random(n) < 0.6, labels, rng.integers(0, m, n))
    sizes = rng.integers(2, 5, d).tolist()
    columns = []
    for size in sizes:
        source = labels if rng.random() < 0.5 else hidden
        noise = rng.integers(0, size, n)
        column = np.where(rng.random(n) < rng.random(), source % size, noise)
        columns.append(np.where(rng.random(n) < rng.choice((0.0, 0.3)), -1, column))
    return np.stack(columns, axis=1), labels, sizes


# Learning -----------------------------------------------------------------------------------------


def plain_terms(
    codes: NDArray[Any], labels: NDArray[Any], sizes: Sequence[int]
) -> tuple[list[list[list[float]]], list[list[float]]]:
    """Compute steps 2 of theory 12 cell by cell: the terms (rows × labels × columns) and the priors."""
    m, n = int(labels.max()) + 1, len(labels)
    terms, priors = [], []
    for row, own in zip(codes.tolist(), labels.tolist(), strict=True):
        of_row = []
        for label in range(m):
            is_own, of_label = label == own, []
            for j, value in enumerate(row):
                known = codes[(labels == label) & (codes[:, j] >= 0), j]
                n_same, n_known = int((known == value).sum()) - is_own, len(known) - is_own
                of_label.append(0.0 if value < 0 else math.log((n_same + 1) / (n_known + sizes[j])))
            of_row.append(of_label)
        terms.append(of_row)
        counts = [int((labels == label).sum()) - (label == own) for label in range(m)]
        priors.append([math.log(max(count, 0.5) / (n - 1)) for count in counts])
    return terms, priors


def optimum(codes: NDArray[Any], labels: NDArray[Any], sizes: Sequence[int]) -> NDArray[Any]:
    """Maximise by an optimiser of another kind."""
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    terms, priors = (np.array(own) for own in plain_terms(codes, labels, sizes))
    rows = np.arange(len(labels))

    def loss(weights: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        logs = priors + terms @ weights
        shares = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
        value = (logsumexp(logs, axis=1) - logs[rows, labels]).sum() + weights @ weights / 2
        slope = np.einsum("rl,rlj->j", shares, terms) - terms[rows, labels].sum(axis=0) + weights
        return float(value), slope

    found = minimize(
        loss,
        np.full(len(sizes), 0.5),
        jac=True,
        bounds=[(0, 2)] * len(sizes),
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 5000, "maxcor": 30},
    )
    return np.asarray(found.x)


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in (1, 2, 3))]
)
def test_learned_weights_are_the_optimum(part: int) -> None:
    """Theory 12: the weights are what another optimiser finds, rounded to eighths."""
    rng = np.random.default_rng([SEED, part])
    n_inside = 0
    for _ in range(50):
        codes, labels, sizes = random_codes(rng)
        learned = weights_of(
            CountIndex.from_codes(codes, labels, n_values=sizes, weights="learned")
        )
        best = optimum(codes, labels, sizes) * 8
        for weight, exact in zip(learned, best, strict=True):
            assert weight is not None
            assert abs(weight * 8 - exact) <= 0.5 + 1e-3, (learned, best / 8)
            n_inside += 0 < weight < 2
    assert n_inside > 30


def test_order_does_not_matter() -> None:
    """Rows and columns in another order have the same weights; the same table has the same ones twice."""
    rng = np.random.default_rng(SEED)
    for n_rows in (100, 700, 5000):
        codes, labels, sizes = random_codes(rng, n_rows)
        first = CountIndex.from_codes(codes, labels, n_values=sizes, weights="learned")
        again = CountIndex.from_codes(codes, labels, n_values=sizes, weights="learned")
        rows, columns = rng.permutation(n_rows), rng.permutation(len(sizes))
        moved = CountIndex.from_codes(
            codes[rows][:, columns],
            labels[rows],
            n_values=[sizes[j] for j in columns],
            weights="learned",
        )
        assert weights_of(first) == weights_of(again)
        assert [weights_of(first)[j] for j in columns] == weights_of(moved)


def test_constants_and_copies() -> None:
    """A constant column has weight 0; copies of a column have one weight, less than it has alone."""
    rng = np.random.default_rng(SEED)
    labels = rng.integers(0, 2, 2000)
    told = np.where(rng.random(2000) < 0.8, labels, 1 - labels)
    rest = rng.integers(0, 3, 2000)
    alone = np.stack([told, rest, np.zeros(2000, dtype=int)], axis=1)
    sizes = [2, 3, 2]
    one, _, none = weights_of(
        CountIndex.from_codes(alone, labels, n_values=sizes, weights="learned")
    )
    assert none == 0
    copied = np.column_stack([alone, told, np.zeros(2000, dtype=int)])
    first, _, _, second, forced = weights_of(
        CountIndex.from_codes(copied, labels, n_values=[*sizes, 2, 1], weights="learned")
    )
    assert first == second
    assert first is not None
    assert one is not None
    assert 0 < first < one
    assert forced == 0


def test_few_rows_and_one_label_have_equal_weights() -> None:
    """Fewer than 100 rows are too few to learn from, and one label has nothing to tell apart."""
    rng = np.random.default_rng(SEED)
    codes = rng.integers(0, 3, (400, 3))
    few = CountIndex.from_codes(codes[:99], codes[:99, 0] > 1, weights="learned")
    assert weights_of(few) == [1, 1, 1]
    assert weights_of(CountIndex.from_codes(codes, [0] * 400, weights="learned")) == [1, 1, 1]
    assert weights_of(CountIndex.from_codes(codes, codes[:, 0] > 1, weights="learned")) != [1, 1, 1]


def test_many_columns_are_learned_too() -> None:
    """Hundreds of columns, beyond the matrix of all pairs, have the optimum: its gradient says so."""
    rng = np.random.default_rng(SEED)
    n, d = 300, 300
    labels = rng.integers(0, 2, n)
    codes = np.where(
        rng.random((n, d)) < rng.random(d), labels[:, None], rng.integers(0, 2, (n, d))
    )
    index = CountIndex.from_codes(codes, labels, n_values=[2] * d, weights="learned")
    best = optimum(codes, labels, [2] * d) * 8
    learned = np.array(weights_of(index), dtype=float)
    assert np.abs(learned * 8 - best).max() <= 0.5 + 1e-3


def test_every_way_learns_the_same() -> None:
    """A frame, rows and codes of one table have the same weights."""
    rng = np.random.default_rng(SEED)
    codes, labels, sizes = random_codes(rng, 600)
    cells = [[None if code < 0 else f"v{code}" for code in row] for row in codes.tolist()]
    domains = {f"x{j}": [f"v{code}" for code in range(size)] for j, size in enumerate(sizes)}
    names = [f"l{label}" for label in labels.tolist()]
    by_codes = CountIndex.from_codes(codes, names, n_values=sizes, weights="learned")
    by_rows = CountIndex.from_rows(
        [tuple(row) for row in cells], names, domains=domains, weights="learned"
    )
    frame = pl.DataFrame(cells, schema=[*domains], orient="row").with_columns(y=pl.Series(names))
    by_frame = CountIndex.from_table(frame, "y", domains=domains, weights="learned")
    assert weights_of(by_codes) == weights_of(by_rows) == weights_of(by_frame)
    fitted = CertifiedNB(weights="learned", domains=domains).fit(frame.drop("y"), names)
    assert fitted.weights_.tolist() == weights_of(by_frame)


# Given and kept -----------------------------------------------------------------------------------

ROWS = [("a", "x", None), ("a", "y", "p"), ("b", "x", "q"), ("b", None, "p"), ("a", "x", "q")]
LABELS = ["yes", "yes", "no", "no", "no"]
WEIGHTS: dict[str, Any] = {"x0": 0.125, "x2": Fraction(15, 8), "*": 0}


def weighted() -> CountIndex:
    """Count a small table with weights."""
    return CountIndex.from_rows(ROWS, LABELS, weights=WEIGHTS)


def test_weights_are_kept(tmp_path: Path) -> None:
    """Saved indexes, like, + and - keep weights; indexes of other weights do not add up."""
    index = weighted()
    assert weights_of(index) == [0.125, 0, 1.875]
    index.save(tmp_path / "an.index")
    loaded = CountIndex.load(tmp_path / "an.index")
    assert loaded == index
    assert weights_of(loaded) == weights_of(index)
    like = CountIndex.from_rows(ROWS, LABELS, like=index)
    assert like == index
    assert weights_of(like + index) == weights_of(index - like) == [0.125, 0, 1.875]
    equal = CountIndex.from_rows(ROWS, LABELS)
    assert equal != index
    with pytest.raises(NullproofError, match="differ"):
        index + equal
    with pytest.raises(NullproofError, match="like"):
        CountIndex.from_rows(ROWS, LABELS, like=index, weights={"x0": 1})


def test_equal_weights_by_any_name() -> None:
    """A weight of 1 for every column is no weight at all."""
    plain = CountIndex.from_rows(ROWS, LABELS)
    assert plain == CountIndex.from_rows(ROWS, LABELS, weights={"*": 1})
    assert plain == CountIndex.from_rows(ROWS, LABELS, weights="equal")
    assert weights_of(plain) == [1, 1, 1]


test_weights_that_are_refused = refuses(
    "A weight is a multiple of 1/8 from 0 to 2 of a column that there is, or the name of a way.",
    lambda weights: CountIndex.from_rows(ROWS, LABELS, weights=weights),
    *(({"x0": bad}, "1/8") for bad in (-0.125, 2.125, 0.1, math.nan, "1", None, True, 1 / 3)),
    ("best", "'learned', 'equal'"),
    ({"x7": 1}, "'x7'"),
)


def test_lazy_tables_take_weights_that_are_given() -> None:
    """A lazy table takes equal weights, given ones or those of like, and says so of learned ones."""
    frame = pl.DataFrame(ROWS, schema=["x0", "x1", "x2"], orient="row").with_columns(
        y=pl.Series(LABELS)
    )
    index = CountIndex.from_table(frame, "y", weights=WEIGHTS)
    assert CountIndex.from_table(frame.lazy(), "y", weights=WEIGHTS) == index
    assert CountIndex.from_table(frame.lazy(), "y", like=index) == index
    many = pl.DataFrame({"a": ["u", "v", "w"] * 40, "y": ["p", "q"] * 60})
    plain = CountIndex.from_table(many, "y", weights="equal")
    with pytest.warns(NullproofWarning, match="Every column counts 1.*like=.*weights='equal'"):
        assert CountIndex.from_table(many.lazy(), "y") == plain
    assert CountIndex.from_table(many.lazy(), "y", weights="equal") == plain


def test_every_question_takes_weights() -> None:
    """Attacks, odds, cleaning and the report answer about an index with weights."""
    index, points = weighted(), [("a", "x", "p")]
    questions: list[Any] = [radius, poison, label_odds, cleaning_plan, report]
    for ask in questions:
        assert ask(index, points) is not None
    assert certified_accuracy_curve(index, points, ["yes"]) is not None
    assert Cleaner(index, points, ROWS, LABELS) is not None


def test_how_many_weights_are_0_is_told() -> None:
    """One notice says from how many rows weights were learned and how many columns they take out."""
    rng = np.random.default_rng(SEED)
    labels = rng.integers(0, 2, 500)
    codes = np.stack([labels, np.zeros(500, dtype=int)], axis=1)
    codes[0, 1] = -1
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        CountIndex.from_codes(codes, labels, n_values=[2, 2], weights="learned")
    notices = [str(one.message) for one in told if one.category is NullproofWarning]
    (notice,) = (one for one in notices if one.startswith("Weights learned"))
    assert "500 rows" in notice
    assert "1 of 2 columns have weight 0" in notice


def test_explanations_show_weights() -> None:
    """Each term says its weight."""
    one = explain(weighted(), ("a", "x", "p"))
    assert [term.weight for term in one.terms] == [0.125, 0, 1.875]
    assert "weight 0.125" in repr(one)


def test_decide_with_weights() -> None:
    """The estimator decides where the label is certain or holds up to the bias, and says otherwise else."""
    rng = np.random.default_rng(SEED)
    codes, labels, _ = random_codes(rng, 400)
    cells = [[None if code < 0 else f"v{code}" for code in row] for row in codes.tolist()]
    for bias in (1.0, 0.05):
        model = CertifiedNB(weights="learned", bias=bias).fit(cells, labels)
        judged = model.certify(cells)
        decided = model.decide(cells, otherwise="?")
        assert decided.tolist() == [
            label if certain else "?"
            for label, certain in zip(judged.label, judged.certain, strict=True)
        ]
        assert {*model.decide(cells)} <= {*labels.tolist(), None}


def test_the_first_chunk_fixes_weights() -> None:
    """partial_fit learns weights from its first chunk and keeps them."""
    rng = np.random.default_rng(SEED)
    codes, labels, _ = random_codes(rng, 900)
    cells = [[None if code < 0 else f"v{code}" for code in row] for row in codes.tolist()]
    classes = np.unique(labels)
    model = CertifiedNB(weights="learned").partial_fit(cells[:400], labels[:400], classes)
    alone = CertifiedNB(weights="learned").fit(cells[:400], labels[:400]).weights_
    np.testing.assert_array_equal(model.weights_, alone)
    model.partial_fit(cells[400:], labels[400:])
    with pytest.warns(NullproofWarning, match="99 rows, too few to learn weights from"):
        CertifiedNB().partial_fit(cells[:99], labels[:99], classes)
    np.testing.assert_array_equal(model.weights_, alone)
    assert model.index_.n_rows == 900


def test_the_command_line_takes_weights(tmp_path: Path) -> None:
    """--weights gives what the library gives, by column or learned; a saved index has settled them."""
    frame = pl.DataFrame(ROWS, schema=["x0", "x1", "x2"], orient="row").with_columns(
        y=pl.Series(LABELS)
    )
    frame.write_csv(tmp_path / "t.csv")
    asked = ("certify", "t.csv", "--label", "y", "--json")
    by_column = ("--weights", "x0=0.125", "--weights", "x2=15/8", "--weights", "0")
    told = json.loads(ran(tmp_path, *asked, *by_column).out)
    index = CountIndex.from_table(frame, "y", weights=WEIGHTS)
    expected = certify(index, frame.drop("y")).document()
    for line, wanted in zip(told["points"], expected["points"], strict=True):
        assert (line["possible"], line["tolerance"]) == (wanted["possible"], wanted["tolerance"])
    assert ran(tmp_path, *asked, "--weights", "learned").code == 0
    one_line(ran(tmp_path, *asked, "--weights", "x0=0.1"), "1/8")
    one_line(ran(tmp_path, *asked, "--weights", "best"), "best")
    assert ran(tmp_path, "index", "t.csv", "--label", "y", "-o", "t.index", *by_column).code == 0
    saved = CountIndex.load(tmp_path / "t.index")
    assert weights_of(saved) == weights_of(index)
    one_line(ran(tmp_path, "certify", "t.index", "t.csv", "--weights", "equal"), "--weights")
    assert ran(tmp_path, "odds", "t.index", "t.csv").code == 0
