"""What the server says: the forms of its answers, described for OpenAPI."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from nullproof.web.questions import AnalysisOrder, Cells


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
    n_unlabelled: int = Field(description="Rows without a label if this is the label column.")
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
    label: str | None = Field(description="The column that is probably to be predicted.")
    attacked: str | None = Field(
        description="The index that `nullproof poison` wrote beside this table, if the file names it."
    )


class SheetForm(BaseModel):
    """A worksheet that was filled in."""

    id: str = Field(description="Name the worksheet by this in an order.")
    name: str = Field(description="File name, without folders; only shown, never used as a path.")
    n_lines: int = Field(description="Its lines, those without an answer too.")


class ExampleForm(BaseModel):
    """The embedded example, as if its two files had been uploaded."""

    train: TableForm
    points: TableForm
    label: str
    ignore: list[str]


class AnalysisForm(BaseModel):
    """An analysis and how far it is."""

    id: str
    state: Literal["waiting", "working", "done", "failed", "cancelled"]
    share: float = Field(description="How much of the work is behind, from 0 to 1.")
    doing: str = Field(description="What is going on, in words.")
    seconds: float = Field(description="How long the work took, once it is over.")
    error: str | None = Field(description="Why it failed, in one sentence.")
    order: AnalysisOrder = Field(description="What was ordered.")


class PointLine(BaseModel):
    """The verdict on one point."""

    point: int = Field(description="Position in the table of points, from 0.")
    key: str | None = Field(None, description="Its name in the column that names the points.")
    truth: str | None = Field(None, description="Its true label, if that is known.")
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
    n_own_missing: int = Field(description="Cells of the point itself that are not known.")


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
    own_missing: Literal["skip", "any"]
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
                    "n_own_missing": 0,
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
    key: str | None = Field(None, description="Its name in the column that names the points.")
    truth: str | None = Field(None, description="Its true label, if that is known.")
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
    n_own_missing: int = Field(description="Cells of the point itself that are not known.")
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
        description="How likely each label is (`label`, `lower`, `upper`), the predicted one first; null "
        "if certain, or if the point has no odds."
    )
    worlds: list[dict[str, Any]] | None = Field(
        description="Two worlds that disagree (`winners`, `support`); null if certain."
    )
    explanation: dict[str, Any] | None = Field(
        None,
        description="Which cells speak for the strongest label, and which for its strongest rival; "
        "null if there is one label.",
    )
    differences: list[dict[str, Any]] = Field(
        description="Which missing cells the two worlds fill differently."
    )
    n_differences_left_off: int


class SupportAnswer(BaseModel):
    """The ranges of a point's support over the worlds of at most a bias."""

    bias: float
    certain: bool = Field(description="Whether all these worlds predict the same label.")
    label: str | None
    possible: list[str]
    support: list[SupportForm]
    n_labels_left_off: int


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


class SectionForm(BaseModel):
    """A section of the report."""

    name: str = Field(description="Its id, e.g. `holes`; the first is the `headline`.")
    title: str = Field(description="Its name in a list of contents.")
    html: str = Field(description="HTML of our own, with all data in it escaped.")
