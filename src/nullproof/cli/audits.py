"""nullproof audit: which predictions of an ordinary scikit-learn model were seen to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from nullproof.cli.options import Request
from nullproof.cli.registry import command, typed
from nullproof.cli.shown import Following, ShowAll, Shown
from nullproof.cli.streams import working
from nullproof.cli.written import BiasOption, written_bias
from nullproof.errors import NullproofError, missing_extra

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from nullproof.auditing import Audit
    from nullproof.data.sources import Table

MODELS = ("hist-gradient-boosting", "logistic-regression", "random-forest")
_NOT_NAIVE_BAYES = "belongs to Naive Bayes, and audit fits another model; leave it out"


@command(
    without={
        "--alpha": _NOT_NAIVE_BAYES,
        "--prior": _NOT_NAIVE_BAYES,
        "--weights": _NOT_NAIVE_BAYES,
        "--own-missing": "is a question to certify; here the model handles missing cells of the points",
        "--memory-limit": "counts a table without reading it, and audit needs its rows; leave it out",
    },
    needs={"test": "no points to predict were named; give TEST after TRAIN"},
)
def audit(
    request: Request,
    model: Annotated[
        str, typer.Option("--model", metavar="NAME", help=f"One of {', '.join(MODELS)}.")
    ] = MODELS[0],
    worlds: Annotated[
        int, typer.Option("--worlds", metavar="N", min=2, help="Completed tables to fit on.")
    ] = 32,
    bias: BiasOption = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the worlds.")] = 0,
    check: Annotated[
        bool, typer.Option("--check", help="Exit 1 if too few predictions stay the same.")
    ] = False,
    min_share: Annotated[
        float,
        typer.Option(
            "--min-share", metavar="S", min=0, max=1, help="For --check: the share that must stay."
        ),
    ] = 1.0,
    show_all: ShowAll = False,
) -> None:
    """Fit a model on many completions of TRAIN and list the predictions that were seen to change.

    What changes is proven by two completed tables; that the rest stays the same is not proven.

    [bold]Example:[/] nullproof audit train.csv test.csv --label churn --model random-forest
    """
    from nullproof.auditing import audit as fit_on_worlds
    from nullproof.cli.following import shown_of
    from nullproof.cli.outputs import failing
    from nullproof.data.keys import row_names
    from nullproof.data.labels import labelled_rows

    if model not in MODELS:
        raise NullproofError(f"--model is {model!r}; give one of {', '.join(MODELS)}")
    if request.is_index:
        raise NullproofError(
            f"{request.train} is a saved index, without rows; give the table that was counted"
        )
    with working("reading and counting"):
        index, points = request.load()
        names, label = index.features, index.schema.label_name
        table = request.table
        table = labelled_rows(table, table.labels(label)).table
        train = _plain_frame(table, names).with_columns(_labels(table, label))
        test = _plain_frame(points, names)
        key = request.naming(points)["key"]
        named = None if key is None else row_names(key, points.frame, None, len(test)).values
    with working("fitting on completed tables") as say:
        result = fit_on_worlds(
            pipeline(model, train.drop(label)),
            train,
            test,
            label=label,
            n_worlds=worlds,
            bias=written_bias(bias),
            missing_is_value=request.missing_is_value or (),
            key=named,
            seed=seed,
            on_progress=say,
        )
    following = Following(
        "which predictions Naive Bayes can prove", typed("certify", request, {"--bias": bias})
    )
    shown = shown_of(request, show_all, following)
    share = 1 - float(result.changed.mean()) if len(result) else 1.0
    with failing(check and share < min_share):
        request.answer(
            result, lambda console: _show(console, result, shown), shown.then, model=model
        )


def _plain_frame(table: Table, names: tuple[str, ...] | list[str]) -> pl.DataFrame:
    """Return columns as numbers and texts, null where they are missing."""
    import numpy as np
    import polars as pl

    columns = []
    for name in names:
        column = table.column(name)
        known = column.known
        if column.numbers is not None:
            numbers = pl.Series(name, column.numbers.astype(np.float64))
            columns.append(
                pl.select(pl.when(pl.Series(known)).then(numbers)).to_series().alias(name)
            )
        else:
            values = np.array([*column.values, None], dtype=object)
            columns.append(pl.Series(name, values[column.codes].tolist(), dtype=pl.String))
    return pl.DataFrame(columns)


def _labels(table: Table, label: str) -> pl.Series:
    import polars as pl

    from nullproof.data.labels import label_codes

    codes, labels = label_codes(table.labels(label))
    return pl.Series(label, [str(labels[code]) for code in codes.tolist()])


def pipeline(model: str, features: pl.DataFrame) -> Any:
    """Return a model that takes these columns as they are, with texts and missing cells."""
    try:
        from sklearn.compose import make_column_transformer
        from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
        from sklearn.impute import SimpleImputer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
    except ImportError:
        raise missing_extra("audit", "sklearn") from None
    import polars as pl

    texts = [name for name, kind in features.schema.items() if kind == pl.String]
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    as_numbers = make_column_transformer((ordinal, texts), remainder="passthrough")
    if model == "logistic-regression":
        numbers = [name for name in features.columns if name not in texts]
        columns = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), texts),
            (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        )
        return make_pipeline(columns, LogisticRegression(max_iter=1000))
    if model == "random-forest":
        imputer = SimpleImputer(strategy="most_frequent")
        return make_pipeline(as_numbers, imputer, RandomForestClassifier(random_state=0))
    return make_pipeline(as_numbers, HistGradientBoostingClassifier(random_state=0))


def _show(console: Console, result: Audit, shown: Shown) -> None:
    """Print what was seen, and the predictions that changed in most worlds first."""
    import numpy as np
    from rich.text import Text

    from nullproof.cli.terminal import (
        POINTS,
        empty_grid,
        point_heading,
        point_name,
        say_more,
        say_next,
    )

    console.print(Text("\n").append(f"{result.sentence()}.", style="bold").append("\n"))
    order = np.argsort(-result.n_changed_worlds, kind="stable")[: int(result.changed.sum())]
    if len(order):
        grid = empty_grid(point_heading(result.points.names), "predicted", "also seen", ">worlds")
        for place in order[: shown.limit].tolist():
            one = result[place]
            others = [str(label) for label in one.seen if label != one.predicted]
            grid.add_row(
                point_name(result.points.names, place),
                Text(str(one.predicted)),
                Text(", ".join(others)),
                f"{one.n_changed_worlds:,} of {result.n_worlds:,}",
            )
        console.print(grid)
        say_more(console, len(order), POINTS, shown.limit)
    console.print(Text(f"\n{result.confidence()}", style="dim"))
    say_next(console, shown.following)
