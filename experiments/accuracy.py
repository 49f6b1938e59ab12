"""How often CertifiedNB with its defaults is right, beside its peers of scikit-learn.

The folder of datasets is named by ``NULLPROOF_DATA``. Five folds, each label spread evenly over them.
Every peer gets the table by the pipeline that its users would write: medians and a category of their own
for missing cells, and new categories in the points must not stop it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from experiments.tables_at_hand import LABELS, at_hand, frame_of
from nullproof.estimator import CertifiedNB

TITLE = "How accurate the defaults are"
MOST_ROWS = 5_000
FOLDS = 5
OURS = "CertifiedNB"
NAIVE = ("CategoricalNB, uniform", "CategoricalNB, quantile", "GaussianNB")
OTHERS = ("LogisticRegression", "HistGradientBoosting")
# What a peer of Naive Bayes may be ahead by, on balanced accuracy.
BEHIND = 0.03
Scores = dict[str, tuple[float, float]]


def run(*, quick: bool) -> list[str]:
    found = at_hand()
    names = [*found][:3] if quick else [*found]
    scores = {name: measure(name, found[name]) for name in names}
    return [*_preface(), *_summary(scores), *_listing(scores)]


def measure(name: str, path: Path) -> Scores:
    """The mean accuracy and balanced accuracy of each peer over the folds."""
    frame = frame_of(name, path, most_rows=MOST_ROWS)
    labels = frame[LABELS[name]].to_numpy().astype(str)
    cells = frame.drop(LABELS[name])
    found: dict[str, list[tuple[float, float]]] = {}
    with warnings.catch_warnings():
        # Labels with fewer rows than folds, and linear models that do not converge.
        warnings.simplefilter("ignore")
        for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(
            labels, labels
        ):
            for peer, make in peers(cells).items():
                predicted = _predicted(peer, make(), cells, labels, train, test)
                right = accuracy_score(labels[test], predicted)
                balanced = balanced_accuracy_score(labels[test], predicted)
                found.setdefault(peer, []).append((right, balanced))
    print(
        name,
        {p: np.round(np.mean(s, axis=0), 3).tolist() for p, s in found.items()},
        file=sys.stderr,
    )
    return {peer: tuple(np.mean(each, axis=0).tolist()) for peer, each in found.items()}


def _predicted(
    peer: str, model: Any, cells: pl.DataFrame, labels: Any, train: Any, test: Any
) -> Any:
    if peer == OURS:
        return model.fit(cells[train], labels[train]).predict(cells[test])
    table = _for_peers(cells)
    return model.fit(table.iloc[train], labels[train]).predict(table.iloc[test])


def _for_peers(cells: pl.DataFrame) -> Any:
    """A pandas frame of doubles and of texts, where a missing one is a category of its own."""
    numbers, texts = _kinds(cells)
    frame = cells.select(
        pl.col(numbers).cast(pl.Float64), pl.col(texts).cast(pl.String).fill_null("(missing)")
    )
    return frame.to_pandas().astype(dict.fromkeys(texts, object))


def _kinds(cells: pl.DataFrame) -> tuple[list[str], list[str]]:
    numbers = [name for name, dtype in cells.schema.items() if dtype.is_numeric()]
    return numbers, [name for name in cells.columns if name not in numbers]


def peers(cells: pl.DataFrame) -> dict[str, Callable[[], Any]]:
    """The models by name, each made anew when it is called for."""
    numbers, texts = _kinds(cells)

    def table(number: Any, text: Any) -> ColumnTransformer:
        return ColumnTransformer(
            [("numbers", number, numbers), ("texts", text, texts)], sparse_threshold=0
        )

    def binned(strategy: str) -> Pipeline:
        bins = KBinsDiscretizer(5, strategy=strategy, encode="ordinal")
        codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        most = 2 + max([5, *(cells[name].n_unique() for name in texts)])
        return make_pipeline(
            table(
                make_pipeline(_median(), bins),
                make_pipeline(codes, FunctionTransformer(lambda x: x + 1)),
            ),
            CategoricalNB(min_categories=most),
        )

    def one_hot(model: Any, *, scaled: bool) -> Pipeline:
        number = make_pipeline(_median(), StandardScaler()) if scaled else _median()
        text = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=5)
        text.set_params(sparse_output=False)
        return make_pipeline(table(number, text), model)

    def boosted() -> Pipeline:
        codes = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=200
        )
        places = [*range(len(numbers), len(numbers) + len(texts))]
        model = HistGradientBoostingClassifier(categorical_features=places, random_state=0)
        return make_pipeline(table("passthrough", codes), model)

    return {
        OURS: CertifiedNB,
        NAIVE[0]: lambda: binned("uniform"),
        NAIVE[1]: lambda: binned("quantile"),
        NAIVE[2]: lambda: one_hot(GaussianNB(), scaled=False),
        OTHERS[0]: lambda: one_hot(LogisticRegression(max_iter=100), scaled=True),
        OTHERS[1]: boosted,
    }


def _median() -> SimpleImputer:
    return SimpleImputer(strategy="median", keep_empty_features=True)


def _preface() -> list[str]:
    return [
        f"{FOLDS} folds with the labels spread evenly, at most {MOST_ROWS:,} rows of a table; id columns "
        "are left out for all. CertifiedNB as it is made without arguments. Its peers: CategoricalNB after "
        "medians for missing numbers, five bins, and missing texts as a category of their own; GaussianNB "
        "and LogisticRegression after medians and one-hot codes; HistGradientBoosting, which takes holes "
        "as they are.",
        "",
    ]


def _best(scores: Scores, place: int) -> float:
    return max(scores[peer][place] for peer in NAIVE)


def _summary(scores: dict[str, Scores]) -> Iterator[str]:
    for place, word in enumerate(("accuracy", "balanced accuracy")):
        ahead = sum(own[OURS][place] >= _best(own, place) - 1e-9 for own in scores.values())
        lag = {name: _best(own, place) - own[OURS][place] for name, own in scores.items()}
        worst = max(lag, key=lambda name: lag[name])
        far = [f"{name} ({gap:.3f})" for name, gap in lag.items() if gap > BEHIND]
        yield (
            f"- By {word}, at least the best Naive Bayes peer on {ahead} of {len(scores)} tables; furthest "
            f"behind by {max(lag[worst], 0):.3f} ({worst}); more than {BEHIND} behind: "
            f"{', '.join(far) or 'none'}."
        )
    yield ""


def _listing(scores: dict[str, Scores]) -> Iterator[str]:
    models = (OURS, *NAIVE, *OTHERS)
    yield "Accuracy / balanced accuracy; the best Naive Bayes of a table, ours or a peer, in bold."
    yield ""
    yield f"| table | {' | '.join(models)} |"
    yield "|---" * (len(models) + 1) + "|"
    for name, own in scores.items():
        yield f"| {name} | {' | '.join(_cell(own, model) for model in models)} |"
    yield ""


def _cell(own: Scores, model: str) -> str:
    def shown(place: int) -> str:
        score = own[model][place]
        best = max(_best(own, place), own[OURS][place])
        return f"**{score:.3f}**" if model not in OTHERS and score == best else f"{score:.3f}"

    return f"{shown(0)} / {shown(1)}"
