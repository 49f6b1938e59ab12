"""What users of scikit-learn write for a table with numbers, texts and holes: one pipeline a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

NAIVE = ("CategoricalNB, uniform", "CategoricalNB, quantile", "GaussianNB")
OTHERS = ("LogisticRegression", "HistGradientBoosting")


def for_pipelines(cells: pl.DataFrame) -> Any:
    """A pandas frame of doubles and of texts, where a missing one is a category of its own."""
    numbers, texts = _kinds(cells)
    frame = cells.select(
        pl.col(numbers).cast(pl.Float64), pl.col(texts).cast(pl.String).fill_null("(missing)")
    )
    return frame.to_pandas().astype(dict.fromkeys(texts, object))


def pipelines(cells: pl.DataFrame) -> dict[str, Callable[[], Any]]:
    """The pipelines by name, each made anew when it is called for."""
    numbers, texts = _kinds(cells)

    def table(number: Any, text: Any) -> ColumnTransformer:
        return ColumnTransformer(
            [("numbers", number, numbers), ("texts", text, texts)], sparse_threshold=0
        )

    def binned(strategy: str) -> Pipeline:
        bins = KBinsDiscretizer(5, strategy=strategy, encode="ordinal")
        return make_pipeline(
            table(make_pipeline(_median(), bins), make_pipeline(_codes(-1), _one_up())),
            CategoricalNB(),
        )

    def one_hot(model: Any) -> Pipeline:
        text = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=5)
        text.set_params(sparse_output=False)
        # GaussianNB adds a share of the largest variance to all: unscaled, one column drowns the rest.
        return make_pipeline(table(make_pipeline(_median(), StandardScaler()), text), model)

    def boosted() -> Pipeline:
        places = [*range(len(numbers), len(numbers) + len(texts))]
        # Stopping early would set rows apart, which fails where a label has one row.
        model = HistGradientBoostingClassifier(
            categorical_features=places, early_stopping=False, random_state=0
        )
        return make_pipeline(table("passthrough", _codes(np.nan, max_categories=200)), model)

    return {
        NAIVE[0]: lambda: binned("uniform"),
        NAIVE[1]: lambda: binned("quantile"),
        NAIVE[2]: lambda: one_hot(GaussianNB()),
        OTHERS[0]: lambda: one_hot(LogisticRegression(max_iter=100)),
        OTHERS[1]: boosted,
    }


def _kinds(cells: pl.DataFrame) -> tuple[list[str], list[str]]:
    numbers = [name for name, dtype in cells.schema.items() if dtype.is_numeric()]
    return numbers, [name for name in cells.columns if name not in numbers]


def _median() -> SimpleImputer:
    return SimpleImputer(strategy="median", keep_empty_features=True)


def _codes(unknown: float, **options: Any) -> OrdinalEncoder:
    return OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=unknown, **options)


def _one_up() -> FunctionTransformer:
    """Codes from 1 on, so that 0 is left for texts that training never showed."""
    return FunctionTransformer(lambda codes: codes + 1)
