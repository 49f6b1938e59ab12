# ruff: noqa: N803 (X is what scikit-learn calls it)
"""audit: what it says changed can be checked by anyone, and what it fills lies within its worlds."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.command_line import Runner
from support.refusing import refuses
from support.schemas import problems

from nullproof import CertifiedNB, CountIndex, NullproofError, NullproofWarning, audit, certify

sklearn = pytest.importorskip("sklearn", reason="audit needs scikit-learn")
from sklearn.base import BaseEstimator, ClassifierMixin, clone  # noqa: E402
from sklearn.compose import make_column_transformer  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.linear_model import LinearRegression, LogisticRegression  # noqa: E402
from sklearn.model_selection import GridSearchCV, StratifiedKFold  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402


def tables(n_rows: int = 120, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a table with missing numbers and texts, and complete points."""
    random = np.random.default_rng(seed)
    label = random.random(n_rows + 40) < 0.5
    age = random.normal(40 + 8 * label, 8).round(1)
    town = np.where(random.random(n_rows + 40) < 0.6, np.where(label, "north", "south"), "west")
    frame = pl.DataFrame({"age": age, "town": town, "ill": np.where(label, "yes", "no")})
    train, test = frame[:n_rows], frame[n_rows:]
    gone = random.random((2, n_rows)) < 0.25
    train = train.with_columns(
        pl.when(pl.Series(gone[0])).then(None).otherwise("age").alias("age"),
        pl.when(pl.Series(gone[1])).then(None).otherwise("town").alias("town"),
    )
    return train, test.drop("ill")


def tree() -> Any:
    """Return a pipeline that takes missing cells."""
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer((ordinal, ["town"]), remainder="passthrough")
    model = DecisionTreeClassifier(max_depth=4, min_samples_leaf=5, random_state=0)
    return make_pipeline(columns, model)


def linear() -> Any:
    """Return a pipeline that rejects missing numbers."""
    columns = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    return make_pipeline(columns, LogisticRegression())


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_a_change_can_be_checked(library: str) -> None:
    """The classifier, fitted on the two tables of a witness, predicts the point differently."""
    train, test = tables()
    if library == "pandas":
        train, test = train.to_pandas(), test.to_pandas()
    estimator = tree()
    found = audit(estimator, train, test, label="ill", n_worlds=8)
    changed = np.flatnonzero(found.changed)
    assert 0 < len(changed) < len(found)
    assert not hasattr(estimator, "classes_")
    for point in changed[:5].tolist():
        for world in found.witness(point):
            table = world.complete(train)
            assert type(table) is type(train)
            features = [name for name in table.columns if name != "ill"]
            fitted = clone(found.estimator).fit(table[features], np.asarray(table["ill"]))
            assert fitted.predict(test)[point] == world.predicted
        one, other = found.witness(point)
        assert one.predicted != other.predicted
    for point in np.flatnonzero(~found.changed)[:2].tolist():
        with pytest.raises(NullproofError, match="has no witness"):
            found.witness(point)


def test_every_world_completes_the_table() -> None:
    """A world fills all missing cells with values of the same column and leaves the others alone."""
    train, test = tables()
    found = audit(tree(), train, test, label="ill", n_worlds=8)
    worlds = {w.number: w for i in np.flatnonzero(found.changed).tolist() for w in found.witness(i)}
    filled = [*worlds.values()]
    assert any(world.directed for world in filled)
    for world in filled:
        table = world.complete(train)
        assert not sum(table.null_count().row(0))
        for name in train.columns:
            known = train[name].is_not_null()
            assert table[name].filter(known).equals(train[name].filter(known))
            assert {*table[name]} <= {*train[name].drop_nulls()}


def test_worlds_keep_to_the_bias() -> None:
    """With a bias the shares of the filled values differ from the known ones by no more than that."""
    train, test = tables(400)
    bias = 0.1
    found = audit(tree(), train, test, label="ill", n_worlds=8, bias=bias)
    anything = audit(tree(), train, test, label="ill", n_worlds=8)
    assert found.changed.sum() <= anything.changed.sum()
    witnesses = [found.witness(i)[1] for i in np.flatnonzero(found.changed).tolist()]
    assert witnesses
    for world in witnesses:
        table = world.complete(train)
        for label in ("yes", "no"):
            rows, is_label = train["town"], train["ill"] == label
            known = rows.filter(is_label & rows.is_not_null())
            cells = table["town"].filter(is_label & rows.is_null())
            for value in ("north", "south", "west"):
                share = (known.to_list().count(value) + 1) / (len(known) + 3)
                least, most = (len(cells) * (share + step) for step in (-bias, bias))
                assert np.floor(least) <= (cells == value).sum() <= np.ceil(most)


def test_the_judged_prediction() -> None:
    """It is that of the table as it is, or of the first completed one where missing cells are rejected."""
    train, test = tables()
    found = audit(tree(), train, test, label="ill", n_worlds=4)
    fitted = tree().fit(train.drop("ill"), train["ill"].to_numpy())
    assert found.predicted == fitted.predict(test).tolist()
    with pytest.warns(NullproofWarning, match="cannot be fitted on the incomplete table"):
        without = audit(linear(), train, test, label="ill", n_worlds=4)
    assert without.as_it_is is None
    labels = [without.labels[label] for label in without.predictions[0].tolist()]
    assert without.predicted == labels


def test_what_chance_tells() -> None:
    """The world that gave the judged prediction is no trial of it; one world alone tells nothing."""
    train, test = tables()
    takes_missing = audit(tree(), train, test, label="ill", n_worlds=8)
    assert takes_missing.chance_at_most == pytest.approx(1 - 0.05 ** (1 / 4))
    with pytest.warns(NullproofWarning, match="from the first completed table is judged"):
        rejects = audit(linear(), train, test, label="ill", n_worlds=8)
    assert rejects.chance_at_most == pytest.approx(1 - 0.05 ** (1 / 3))
    assert "at most 63.2 % of all worlds drawn by chance would" in rejects.confidence()
    with pytest.warns(NullproofWarning):
        one = audit(linear(), train, test, label="ill", n_worlds=2)
    assert one.chance_at_most is None
    assert "too few" in one.confidence()


def test_seeds_and_numbers() -> None:
    """The same seed sees the same, and the bound for chance is 1 - 0.05^(1/n)."""
    train, test = tables()
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["town"])),
        RandomForestClassifier(5),
    )
    first, second, other = (
        audit(model, train, test, label="ill", n_worlds=6, seed=seed) for seed in (0, 0, 1)
    )
    assert (first.predictions == second.predictions).all()
    assert (first.predictions != other.predictions).any()
    document = first.document()
    assert document["n_chance"] + document["n_directed"] == document["n_worlds"] == 6
    assert document["chance_at_most"] == pytest.approx(1 - 0.05 ** (1 / document["n_chance"]))
    assert document["n_changed"] == sum(point["changed"] for point in document["points"])
    assert json.loads(json.dumps(document)) == document
    assert first.to_frame()["changed"].to_list() == first.changed.tolist()
    assert "no proof" in repr(first)
    assert "<table>" in first._repr_html_()


def test_causes_name_columns() -> None:
    """A column is a cause if its cells alone, taken from the second world, change the prediction."""
    train, test = tables()
    found = audit(tree(), train, test, label="ill", n_worlds=8)
    causes = [found.causes(i) for i in np.flatnonzero(found.changed)[:6].tolist()]
    assert any(causes)
    assert {name for own in causes for name in own} <= {"age", "town"}


def test_a_random_classifier_is_refused() -> None:
    """Seeds are fixed, of what splits rows too; a classifier that stays random is refused."""
    train, test = tables()
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["town"]))
    search = GridSearchCV(
        DecisionTreeClassifier(), {"max_depth": [1, 2, 3]}, cv=StratifiedKFold(3, shuffle=True)
    )
    first, second = (
        audit(make_pipeline(columns, search), train, test, label="ill", n_worlds=3) for _ in "ab"
    )
    assert (first.predictions == second.predictions).all()
    with pytest.raises(NullproofError, match="fitted twice on the same table"):
        audit(Coin(), train, test, label="ill", n_worlds=3)


class Coin(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts by chance, with a seed that nobody can fix."""

    def fit(self, X: Any, y: Any) -> Coin:
        """Learn nothing."""
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        """Toss a coin."""
        return np.random.default_rng().choice(self.classes_, len(X))


def test_spelled_missing_cells_are_missing() -> None:
    """A table that spells missing as ? and -999 gives what the same table with nulls does."""
    train, test = tables()
    spelled = train.with_columns(pl.col("age").fill_null(-999.0), pl.col("town").fill_null("?"))
    plain = audit(tree(), train, test, label="ill", n_worlds=6)
    same = audit(tree(), spelled, test, label="ill", n_worlds=6, missing=["?", "-999"])
    assert same.predicted == plain.predicted
    assert (same.changed == plain.changed).all()
    point = int(np.flatnonzero(same.changed)[0])
    assert same.witness(point)[0].complete(spelled).equals(plain.witness(point)[0].complete(train))
    with pytest.raises(NullproofError, match="not the one that was audited"):
        same.witness(point)[0].complete(spelled.reverse())


def test_worlds_that_cannot_be_fitted_are_left_out() -> None:
    """A fit that fails in some worlds costs these worlds and no more."""
    train, test = tables(40)
    with pytest.warns(NullproofWarning, match="could not be fitted in"):
        found = audit(Picky(), train, test, label="ill", n_worlds=12)
    assert 0 < found.n_worlds < 12


class Picky(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fits only where the mean is low, or not known."""

    def fit(self, X: Any, y: Any) -> Picky:
        """Fail on about half of the tables."""
        self.classes_, mean = np.unique(y), X["age"].mean()
        if not X["age"].null_count() and round(mean * 1e4) % 3 == 1:
            raise RuntimeError("no")
        return self

    def predict(self, X: Any) -> Any:
        """Predict one label."""
        return np.full(len(X), self.classes_[0])


def test_certain_predictions_of_fixed_bins_stay() -> None:
    """With categories alone and equal weights nothing is learned anew: certain points never change."""
    random = np.random.default_rng(3)
    values = np.array(["a", "b", "c"], dtype=object)
    rows = values[random.integers(3, size=(200, 4))]
    label = np.where(rows[:, 0] == "a", "yes", np.where(random.random(200) < 0.5, "yes", "no"))
    rows[random.random(rows.shape) < 0.1] = None
    train = pl.DataFrame({**{f"f{j}": rows[:, j].tolist() for j in range(4)}, "y": label})
    test = pl.DataFrame({f"f{j}": values[random.integers(3, size=60)].tolist() for j in range(4)})
    found = audit(CertifiedNB(weights="equal"), train, test, label="y", n_worlds=30)
    index = CountIndex.from_table(train, "y", weights="equal")
    certain = certify(index, test).certain
    assert certain.any()
    assert found.changed.any()
    assert not (certain & found.changed).any()


ASKED: dict[str, Any] = dict(zip(("table", "points"), tables(), strict=True))
ASKED |= {"estimator": tree(), "label": "ill", "n_worlds": 2}

test_bad_input = pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")(
    refuses(
        "What cannot be audited is rejected in one sentence.",
        lambda change: audit(**{**ASKED, **change}),
        ({"n_worlds": 1}, "n_worlds is 1; give a whole number that is 2 or more"),
        ({"seed": -1}, "seed is -1"),
        ({"estimator": LinearRegression()}, "LinearRegression is not a classifier"),
        ({"estimator": 3}, "the estimator is 3"),
        ({"estimator": DecisionTreeClassifier}, "give a scikit-learn classifier"),
        ({"points": tables()[1][:0]}, "with 0 rows"),
        ({"table": tables()[0].with_columns(age=None)}, "'age' has no known cell"),
        ({"table": tables()[0].with_columns(ill=pl.lit("no"))}, "holds one label"),
        ({"points": pl.DataFrame({"age": [1.0]})}, "town"),
        ({"table": tables()[0].fill_null(0).fill_null("west")}, "no missing cells"),
        ({"label": "sick"}, "sick"),
    )
)


@pytest.fixture
def on_files(run: Runner) -> Runner:
    """Return the command line in a folder with two files."""
    train, test = tables()
    train.write_csv("clinic.csv")
    test.with_row_index("id").with_columns(pl.format("p{}", "id").alias("id")).write_csv("new.csv")
    return run


@pytest.mark.parametrize(
    "model",
    [
        pytest.param("hist-gradient-boosting", marks=pytest.mark.slow),
        "logistic-regression",
        pytest.param("random-forest", marks=pytest.mark.slow),
    ],
)
def test_the_command_gives_what_the_library_does(on_files: Runner, model: str) -> None:
    """Terminal, JSON and file name the same predictions that changed."""
    asked = ("audit", "clinic.csv", "new.csv", "--label", "ill", "--model", model, "--worlds", "4")
    found = json.loads(on_files(*asked, "--json", "-o", "audit.csv").out)
    assert problems("audit", found) == []
    assert found["n_worlds"] == 4
    assert found["model"] == model
    assert found["n_points"] == 40
    assert pl.read_csv("audit.csv")["changed"].to_list() == [p["changed"] for p in found["points"]]
    shown = on_files(*asked)
    assert shown.code == 0
    assert f"{found['n_changed']} of 40 predictions" in " ".join(shown.out.split())
    assert "nullproof certify clinic.csv new.csv --label ill" in shown.out


@pytest.mark.slow
def test_the_command_checks_and_refuses(on_files: Runner) -> None:
    """--check exits 1 if too few predictions stay; what makes no sense is one sentence."""
    asked = ("audit", "clinic.csv", "new.csv", "--label", "ill", "--worlds", "4")
    assert on_files(*asked, "--check").code == 1
    assert on_files(*asked, "--check", "--min-share", "0").code == 0
    refused = on_files(*asked, "--model", "svm")
    assert refused.code == 2
    assert "--model is 'svm'; give one of" in refused.err
    assert "--alpha belongs to certify" in on_files(*asked, "--alpha", "0").err
    assert "no points to predict" in on_files("audit", "clinic.csv", "--label", "ill").err
