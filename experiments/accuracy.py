"""How often CertifiedNB with its defaults is right, beside its peers of scikit-learn.

The folder of datasets is named by ``NULLPROOF_DATA``. Five folds, each label spread evenly over them and
the same for all models; small tables are dealt into folds several times, since there chance weighs most.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss
from sklearn.model_selection import RepeatedStratifiedKFold
from threadpoolctl import threadpool_limits

from experiments.pipelines import NAIVE, OTHERS, for_pipelines, pipelines
from experiments.tables_at_hand import LABELS, at_hand, frame_of
from nullproof.estimator import CertifiedNB

TITLE = "How accurate the defaults are"
MOST_ROWS = 20_000
FOLDS = 5
SMALL, DEALS = 2_000, 5
OURS, EQUAL = "CertifiedNB", 'weights="equal"'
MAJORITY = "always the majority"
# The same model with one option changed, to see what each brings.
VARIANTS: dict[str, dict[str, Any]] = {
    'prior="uniform"': {"prior": "uniform"},
    "alpha=0.1": {"alpha": 0.1},
    'binning="quantile"': {"binning": "quantile"},
    'binning="uniform"': {"binning": "uniform"},
    EQUAL: {"weights": "equal"},
}
# What a person who knows the table leaves out for every model: numbers that only name a row.
IDS = {
    "breast_cancer_wisconsin": ["sample_code_number"],
    "diabetic_data": ["patient_nbr"],
    "fitness_class": ["booking_id"],
    "star_classification_10k": ["obj_ID", "spec_obj_ID"],
}
# What a peer of Naive Bayes may be ahead by, on balanced accuracy.
BEHIND = 0.03
MEASURES = ("accuracy", "balanced accuracy")
# The mean log loss counts no probability below this, so that one row cannot outweigh a table.
LEAST = 1e-6
# For each model one row a fold: accuracy, balanced accuracy and log loss.
Scores = dict[str, NDArray[np.float64]]


def run(*, quick: bool) -> list[str]:
    found = at_hand()
    names = [*found][:3] if quick else [*found]
    scores = {name: measure(name, found[name]) for name in names}
    return [
        *_preface(),
        *_summary(scores),
        *_means(scores),
        *_listing(scores),
        *_distances(scores),
        *_changes(scores),
    ]


def measure(name: str, path: Path) -> Scores:
    """Accuracy, balanced accuracy and log loss of each model on each fold."""
    frame = frame_of(name, path, most_rows=MOST_ROWS).drop(IDS.get(name, []))
    labels = frame[LABELS[name]].to_numpy().astype(str)
    cells = frame.drop(LABELS[name])
    deals = DEALS if len(labels) < SMALL else 1
    splits = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=deals, random_state=0)
    # Threads that wait for each other would cost more than they bring on tables of this size.
    with warnings.catch_warnings(), threadpool_limits(1):
        # Labels with fewer rows than folds, and linear models that do not converge.
        warnings.simplefilter("ignore")
        folds = [_fold(cells, labels, *each) for each in splits.split(labels, labels)]
    scores = {model: np.array([fold[model] for fold in folds]) for model in folds[0]}
    print(
        name,
        {m: each.mean(axis=0).round(3).tolist() for m, each in scores.items()},
        file=sys.stderr,
    )
    return scores


def _fold(
    cells: pl.DataFrame, labels: Any, train: Any, test: Any
) -> dict[str, tuple[float, float, float]]:
    found: dict[str, tuple[float, float, float]] = {}
    every = np.unique(labels)

    def judge(name: str, model: Any, table: Any) -> None:
        model.fit(table(train), labels[train])
        predicted = model.predict(table(test))
        # A label with fewer rows than folds may be in none of the training rows.
        shares = np.full((len(test), len(every)), LEAST)
        shares[:, np.searchsorted(every, model.classes_)] = model.predict_proba(table(test))
        shares = np.maximum(shares, LEAST)
        shares /= shares.sum(axis=1, keepdims=True)
        found[name] = (
            accuracy_score(labels[test], predicted),
            balanced_accuracy_score(labels[test], predicted),
            log_loss(labels[test], shares, labels=every),
        )

    for name, options in {OURS: {}, **VARIANTS}.items():
        judge(name, CertifiedNB(**options), lambda rows: cells[rows])
    frame = for_pipelines(cells)
    for name, make in {**pipelines(cells), MAJORITY: DummyClassifier}.items():
        judge(name, make(), lambda rows: frame.iloc[rows])
    return found


def _preface() -> list[str]:
    return [
        f"{FOLDS} folds with the labels spread evenly, the same for all models, at most {MOST_ROWS:,} rows "
        f"of a table; tables of fewer than {SMALL:,} rows are dealt into folds {DEALS} times. Columns that "
        "only name the rows are left out for all. CertifiedNB as it is made without arguments. Its "
        "peers: CategoricalNB after medians for missing numbers, five bins, and missing texts as a "
        "category of their own; GaussianNB and LogisticRegression after medians, scaling and one-hot "
        "codes; HistGradientBoosting, which takes holes as they are. Everything is learned from the "
        "training folds.",
        "",
    ]


def _mean(own: Scores, model: str, place: int) -> float:
    return float(own[model][:, place].mean())


def _best(own: Scores, place: int) -> str:
    """The Naive Bayes peer that is ahead of the other ones."""
    return max(NAIVE, key=lambda peer: _mean(own, peer, place))


def _behind(own: Scores, place: int) -> float:
    return _mean(own, _best(own, place), place) - _mean(own, OURS, place)


def _error(differences: NDArray[np.float64]) -> float:
    """The standard error of a mean over folds; a quarter stands for the rows that folds share."""
    spread = differences.std(ddof=1)
    return float(spread * np.sqrt(1 / len(differences) + 1 / (FOLDS - 1)))


def _summary(scores: dict[str, Scores]) -> Iterator[str]:
    for place, word in enumerate(MEASURES):
        lag = {name: _behind(own, place) for name, own in scores.items()}
        lost = {name: gap for name, gap in lag.items() if gap > 1e-9}
        clear = [name for name, gap in lost.items() if gap > _error(_paired(scores[name], place))]
        far = [f"{name} ({gap:.3f})" for name, gap in lag.items() if gap > BEHIND]
        yield (
            f"- By {word}, at least the best Naive Bayes peer on {len(lag) - len(lost)} of {len(lag)} "
            f"tables, and behind it by more than one standard error on {len(clear)}: "
            f"{', '.join(clear) or 'none'}. "
            f"More than {BEHIND} behind: {', '.join(far) or 'none'}."
        )
    yield ""


def _means(scores: dict[str, Scores]) -> Iterator[str]:
    """Means over the tables with standard errors of the tables' means, and what was aimed at."""
    models = (OURS, EQUAL, *NAIVE, *OTHERS, MAJORITY)
    yield "| mean over the tables | accuracy | balanced accuracy | log loss | ours less it, accuracy |"
    yield "|---|---|---|---|---|"
    for model in models:
        means = [
            np.mean([_mean(own, model, place) for own in scores.values()]) for place in range(3)
        ]
        apart = np.array([_paired(own, 0, OURS, model).mean() for own in scores.values()])
        error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.nan
        shown = " | ".join(f"{mean:.3f}" for mean in means)
        yield f"| {model} | {shown} | {apart.mean():+.3f} ± {error:.3f} |"
    below = [
        f"{name} ({gap:.3f})"
        for name, own in scores.items()
        if (gap := _mean(own, MAJORITY, 0) - _mean(own, OURS, 0)) > 0.005
    ]
    yield ""
    yield (
        f"Below always the majority by more than 0.005: {', '.join(below) or 'none'}. Log loss counts no "
        f"probability below {LEAST}."
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
        score = _mean(own, model, place)
        best = max(_mean(own, naive, place) for naive in (OURS, *NAIVE))
        return f"**{score:.3f}**" if model not in OTHERS and score == best else f"{score:.3f}"

    return f"{shown(0)} / {shown(1)}"


def _paired(own: Scores, place: int, model: str = OURS, peer: str = "") -> NDArray[np.float64]:
    differences: NDArray[np.float64] = (own[model] - own[peer or _best(own, place)])[:, place]
    return differences


def _distance(differences: NDArray[np.float64]) -> str:
    return f"{differences.mean():+.3f} ± {_error(differences):.3f}"


def _distances(scores: dict[str, Scores]) -> Iterator[str]:
    yield (
        "Ours less the best Naive Bayes peer of the table, fold by fold: mean ± standard error (with the "
        "correction for folds that share rows). A difference smaller than its error is noise."
    )
    yield ""
    yield "| table | accuracy | against | balanced accuracy | against |"
    yield "|---|---|---|---|---|"
    for name, own in scores.items():
        cells = [
            cell
            for place in range(len(MEASURES))
            for cell in (_distance(_paired(own, place)), _best(own, place))
        ]
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""


def _changes(scores: dict[str, Scores]) -> Iterator[str]:
    yield "What one other option changes in CertifiedNB: accuracy / balanced accuracy."
    yield ""
    yield f"| table | {' | '.join(f'`{name}`' for name in VARIANTS)} |"
    yield "|---" * (len(VARIANTS) + 1) + "|"
    for name, own in scores.items():
        cells = [
            " / ".join(f"{_paired(own, place, model, OURS).mean():+.3f}" for place in (0, 1))
            for model in VARIANTS
        ]
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""
