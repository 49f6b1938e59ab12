"""The requests that clients can send: orders and questions, described for OpenAPI."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticSerializationError

# How far missing cells may differ from the known ones.
Bias = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


def _example(**fields: Any) -> ConfigDict:
    # Unknown fields are errors, so that misspelt ones are noticed.
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [fields]})


class Form(BaseModel):
    """A form without unknown fields, whose texts are valid UTF-8."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="after")
    def _is_text(self) -> Self:
        try:
            self.model_dump_json(warnings="none")
        except PydanticSerializationError:
            raise ValueError("a text holds half of a surrogate pair; send whole ones") from None
        return self


class Order(Form):
    """What to analyse, and how; the defaults are those of the command line."""

    model_config = _example(
        table="V1qk3YzPp0aB", label="churn", missing=["unknown"], ignore=["customer"], bias=1
    )
    table: str = Field(description="Id of the training table.")
    points: str | None = Field(None, description="Id of the points; null: the training rows.")
    label: str = Field(description="Name of the label column.")
    alpha: float | Annotated[str, Field(max_length=40)] = Field(
        1.0, description="Smoothing: a number, or a text such as `1/2`."
    )
    prior: Literal["uniform"] | None = Field(None, description="Null: frequencies of the labels.")
    weights: Literal["learned", "equal"] = Field(
        "learned", description="How much each column counts: learned from the table, or all equal."
    )
    binning: Literal["mdl", "uniform", "quantile", "none"] = Field(
        "mdl", description="How numbers and dates are cut into bins."
    )
    bins: Annotated[int, Field(ge=1, le=1000)] = Field(
        5, description="How many bins, for `uniform` and `quantile`."
    )
    missing: list[str] = Field(
        [],
        max_length=100,
        description="More texts that mean missing: TEXT, or COL=TEXT for one column.",
    )
    missing_only: list[str] | None = Field(
        None, max_length=100, description="Texts that mean missing, replacing the usual ones."
    )
    missing_is_value: list[str] = Field(
        [], max_length=2000, description="Columns where missing is itself a value."
    )
    unlabelled: Literal["refuse", "drop"] = Field(
        "refuse", description="Rows without a label: rejected, or left out."
    )
    ignore: list[str] = Field([], max_length=2000, description="Columns to leave out.")
    keep: list[str] = Field([], max_length=2000, description="Columns to keep that name rows.")
    key: str | None = Field(
        None, description="The column that names the points; it is then not a feature."
    )
    own_missing: Literal["skip", "any"] = Field(
        "skip", description="A point's own missing cells: left out, or allowed to hold anything."
    )
    bias: Bias = Field(
        1.0,
        strict=True,
        description="How far missing cells may differ from known ones; 1: any values.",
    )
    answers: list[str] = Field(
        [], max_length=100, description="Ids of filled-in worksheets whose answers are used."
    )
    compare: str | None = Field(None, description="Id of an analysis to compare with this one.")


class Wanted(BaseModel):
    """Which points of an analysis to list, and in which order."""

    verdict: Literal["all", "certain", "holds", "open"] = "all"
    find: str = Field(
        "", max_length=200, description="A name, a position, or a part of a name or of a value."
    )
    right: bool | None = Field(None, description="Whether the prediction is the true label.")
    sort: Literal["point", "predicted", "tolerance", "rival"] = Field(
        "point", description="Sorted by this."
    )
    down: bool = Field(False, description="The greatest first.")
    bias: Bias | None = Field(
        None, description="The bias at which predictions hold; default: the threshold."
    )
    offset: int = Field(0, ge=0)
    limit: int = Field(50, ge=1, le=1000)


class ErrorForm(BaseModel):
    """Every error has this form."""

    error: str = Field(description="One sentence: what was given, what is needed, what to do.")
