"""What goes over the wire: the forms of questions and answers, described for OpenAPI."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticSerializationError

Cell = str | bool | int | float | None
Cells = Cell | list[Cell]
# How far missing cells may differ from the known ones.
Bias = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Form(BaseModel):
    """A form without unknown fields, so that a misspelt one is told."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="after")
    def _is_text(self) -> Self:
        try:
            self.model_dump_json(warnings="none")
        except PydanticSerializationError:
            raise ValueError("a text holds half of a surrogate pair; send whole ones") from None
        return self


class ErrorForm(BaseModel):
    """Every error has this form."""

    error: str = Field(
        description="One sentence: what came, what was needed, what to do.",
        examples=[
            "there is no table 'x1'; it may have been dropped to make room, so make it again"
        ],
    )


class Limits(BaseModel):
    """How much this server takes."""

    version: str = Field(description="Version of nullproof.")
    max_upload: int = Field(description="Bytes of one file, also after unpacking.")
    max_rows: int = Field(description="Rows of one table.")
    max_columns: int = Field(description="Columns of one table.")
    max_tables: int = Field(description="Tables that are kept; the oldest go first.")
    max_analyses: int = Field(description="Analyses that are kept; the oldest go first.")


class ColumnForm(BaseModel):
    """One column of an uploaded table."""

    name: str
    type: Literal["text", "number", "date", "boolean", "candidates"] = Field(
        description="What the column holds; `candidates` are lists of possible values."
    )
    n_missing: int = Field(description="Missing cells, before further spellings of missing.")
    n_distinct: int = Field(description="Distinct values among the first 10,000 known cells.")
    is_key: bool = Field(description="Whether it only names the rows: left out unless kept.")


class TableForm(BaseModel):
    """An uploaded table."""

    id: str = Field(description="Name the table by this in other calls.", examples=["V1qk3YzPp0aB"])
    name: str = Field(description="File name, without folders; only shown, never used as a path.")
    n_bytes: int
    n_rows: int
    columns: list[ColumnForm]
    preview: list[list[str | None]] = Field(description="The first rows as text, null for missing.")
    spellings: list[str] = Field(
        description="Further texts that often mean missing, e.g. `unknown`: `missing` takes them."
    )


class ExampleForm(BaseModel):
    """The embedded example, as if its two files had been uploaded."""

    train: TableForm
    points: TableForm
    label: str
    ignore: list[str]


class AnalysisOrder(Form):
    """What to analyse, and how."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "table": "V1qk3YzPp0aB",
                    "label": "churn",
                    "alpha": 1,
                    "missing": ["unknown"],
                    "ignore": ["customer"],
                    "own_holes": "skip",
                    "bias": 1,
                }
            ]
        },
    )
    table: str = Field(description="Id of the training table.")
    points: str | None = Field(
        None, description="Id of the table of points to predict; null: the training rows."
    )
    label: str = Field(description="Name of the label column.")
    alpha: float | Annotated[str, Field(max_length=40)] = Field(
        1.0, description="Smoothing: a number, or a text such as `1/2`."
    )
    prior: Literal["uniform"] | None = Field(None, description="Null: frequencies of the labels.")
    bins: Annotated[int, Field(ge=1, le=1000)] = Field(
        5,
        description="How many bins of numbers and dates, of equal width or with equally many rows.",
    )
    binning: Literal["mdl", "uniform", "quantile", "none"] = Field(
        "mdl",
        description="Bins cut where the label changes, of equal width, or with equally many rows; none: "
        "every value is a category.",
    )
    missing: list[str] = Field([], max_length=100, description="Further spellings of missing.")
    missing_only: list[str] | None = Field(
        None, max_length=100, description="Spellings of missing instead of the usual ones."
    )
    ignore: list[str] = Field([], max_length=2000, description="Columns to leave out.")
    keep: list[str] = Field([], max_length=2000, description="Columns to keep that name rows.")
    own_holes: Literal["skip", "any"] = Field(
        "skip",
        description="A point's own missing cells: left out, or whatever they hold.",
    )
    bias: Bias = Field(
        1.0,
        strict=True,
        description="How far missing training cells may differ from the known ones, from 0 to 1; 1: "
        "they may hold anything.",
    )
    patience: Annotated[float, Field(gt=0)] | None = Field(
        None,
        description="Cancel the analysis if nobody asks for its state for so many seconds while "
        "it waits or works; null: never.",
    )


class AnalysisForm(BaseModel):
    """An analysis and how far it is."""

    id: str
    state: Literal["waiting", "working", "done", "failed", "cancelled"]
    share: float = Field(description="How much of the work is behind, from 0 to 1.")
    doing: str = Field(description="What is going on, in words.")
    seconds: float = Field(description="How long the work took, once it is over.")
    error: str | None = Field(description="Why it failed, in one sentence.")


class PointLine(BaseModel):
    """The verdict on one point."""

    point: int = Field(description="Position in the table of points, from 0.")
    predicted: str | None = Field(description="What Naive Bayes predicts; null for a tie.")
    verdict: Literal["certain", "holds", "open"] = Field(
        description="`certain`: a tolerance of 1; `holds`: one of at least the bias; else `open`."
    )
    certain: bool = Field(
        description="Whether every world of the analysis's bias predicts the same label."
    )
    possible: list[str] = Field(description="Labels that win or tie in some of these worlds.")
    tolerance: float | None = Field(
        description="The largest bias up to which the prediction holds; null: not even 0 decides."
    )
    tolerance_rival: str | None = Field(description="The label that catches up beyond it.")
    n_own_holes: int = Field(description="Cells of the point itself that are not known.")


class PointsPage(BaseModel):
    """Some verdicts of many."""

    n_points: int = Field(description="Points that match.")
    offset: int
    bias: float = Field(description="The bias that `verdict` is about.")
    points: list[PointLine]


class CurveStep(BaseModel):
    """What holds at one bias."""

    bias: float
    n_hold: int = Field(description="Predictions that hold, the certain ones among them.")
    n_open: int
    accuracy_hold: float | None = Field(
        description="Share of right ones among those that hold; null if no label tells."
    )
    accuracy_open: float | None = Field(description="Share of right ones among the open ones.")


class CurveForm(BaseModel):
    """How many predictions hold as the bias grows."""

    n_points: int
    n_certain: int = Field(description="Those that hold at a bias of 1.")
    n_labelled: int | None = Field(
        description="Points whose own label is known, which the accuracies are about."
    )
    own_holes: Literal["skip", "any"]
    bias: float = Field(description="The bias that the analysis was ordered with.")
    threshold: float = Field(description="The bias of summaries: that one, or 0.05 if it is 1.")
    at: list[CurveStep]


class SupportForm(BaseModel):
    """The range of one label's support over all worlds, as natural logarithms."""

    label: str
    low: float | None = Field(description="Null means a support of 0.")
    high: float | None = Field(description="Null means a support of 0.")
    possible: bool


class PointAnswer(BaseModel):
    """All that is known of one point."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "point": 2,
                    "values": {"age": "over 55", "in_us": "yes", "income": "low", "claim": "no"},
                    "bins": {},
                    "predicted": "no",
                    "certain": False,
                    "label": None,
                    "possible": ["no", "yes"],
                    "tolerance": 0.18,
                    "tolerance_rival": "yes",
                    "n_own_holes": 0,
                    "radius": 0,
                    "rival": None,
                    "support": [
                        {"label": "no", "low": -4.99, "high": -3.96, "possible": True},
                        {"label": "yes", "low": -5.23, "high": -4.26, "possible": True},
                    ],
                    "n_labels_left_off": 0,
                    "odds": [
                        {"label": "no", "lower": 0.61, "upper": 0.61},
                        {"label": "yes", "lower": 0.39, "upper": 0.39},
                    ],
                    "worlds": [],
                    "differences": [],
                    "n_differences_left_off": 0,
                }
            ]
        }
    )
    point: int | None = Field(description="Position, or null for a point that was typed in.")
    values: dict[str, Cells] = Field(description="Its cells, null where missing.")
    bins: dict[str, str] = Field(description="The bins that its numbers and dates lie in.")
    predicted: str | None = Field(description="What Naive Bayes predicts; null for a tie.")
    certain: bool
    label: str | None = Field(description="The certain label, null if there is none.")
    possible: list[str]
    tolerance: float | None = Field(
        description="The largest bias up to which the prediction holds; null: not even 0 decides."
    )
    tolerance_rival: str | None = Field(description="The label that catches up beyond it.")
    n_own_holes: int = Field(description="Cells of the point itself that are not known.")
    radius: int | None = Field(
        description="Fewest training cells to blank before the point is not certain; 0 if it is "
        "not certain now, null if no attack exists."
    )
    rival: str | None = Field(description="The label that would catch up.")
    not_worked_out: str | None = Field(
        None, description="Why the radius of a certain point is not known and null."
    )
    support: list[SupportForm] = Field(
        description="Ranges of support, the strongest first; certain means that one lies clear "
        "above all others."
    )
    n_labels_left_off: int
    odds: list[dict[str, Any]] | None = Field(
        description="How likely each label is (`label`, `lower`, `upper`); null if certain."
    )
    worlds: list[dict[str, Any]] | None = Field(
        description="Two worlds that disagree (`winners`, `support`); null if certain."
    )
    differences: list[dict[str, Any]] = Field(
        description="Which missing cells the two worlds fill differently."
    )
    n_differences_left_off: int


class ChangeForm(Form):
    """Some training cells of one label and feature to blank or to fill."""

    do: Literal["blank", "fill"]
    feature: str
    label: str = Field(description="The label of the rows that the cells are in.")
    value: str = Field(description="A value of the feature's domain, as `features` lists it.")
    n_cells: int = Field(1, ge=1, description="How many such cells.")


class PointQuestion(Form):
    """A point to judge, on the table as it is or with cells changed."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"values": {"age": "over 55", "in_us": "yes", "income": None}}]
        },
    )
    values: dict[str, Cells] = Field(
        description="A value per feature: null or left out for missing, a list for candidates."
    )
    changes: list[ChangeForm] = Field([], max_length=200)


class SupportQuestion(PointQuestion):
    """A point and the bias of the worlds to look at."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"values": {"age": "over 55"}, "bias": 0.05}]},
    )
    bias: Bias = Field(strict=True, description="How far missing cells may differ, from 0 to 1.")


class SupportAnswer(BaseModel):
    """The ranges of a point's support over the worlds of at most a bias."""

    bias: float
    certain: bool = Field(description="Whether all these worlds predict the same label.")
    label: str | None
    possible: list[str]
    support: list[SupportForm]
    n_labels_left_off: int


class WhatIf(Form):
    """Cells to blank or fill, all counted from the original table."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "changes": [
                        {
                            "do": "fill",
                            "feature": "in_us",
                            "label": "yes",
                            "value": "no",
                            "n_cells": 1,
                        }
                    ]
                }
            ]
        },
    )
    changes: list[ChangeForm] = Field(max_length=200)


class ChangedLine(PointLine):
    """A point whose possible labels are different now."""

    was_certain: bool


class WhatIfAnswer(BaseModel):
    """Certainty on the changed table, against the original."""

    n_points: int = Field(description="Points that were certified again.")
    n_points_left_off: int = Field(description="Points past the first 200,000, not looked at.")
    n_certain_before: int
    n_certain: int
    n_gained: int
    n_lost: int
    n_missing_before: int
    n_missing: int
    changed: list[ChangedLine] = Field(description="Those that gain or lose certainty first.")
    n_changed_left_off: int


class FeatureForm(BaseModel):
    """One feature and its domain."""

    name: str
    kind: Literal["category", "boolean", "number", "date", "code"]
    binned: bool = Field(description="Whether its values are intervals.")
    values: list[str] = Field(description="The domain, or its first values.")
    n_values: int
    n_missing: list[int] = Field(description="Missing cells per label.")


class FeaturesForm(BaseModel):
    """The features and the labels that the counts are listed by."""

    labels: list[str]
    features: list[FeatureForm]


class FeatureCounts(FeatureForm):
    """One feature with its known cells."""

    known: list[list[int]] = Field(description="Known cells per value and label.")
