"""What a client may ask: the forms of orders and questions, described for OpenAPI."""

from __future__ import annotations

from typing import Annotated, Literal, Self

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


class ChangeForm(Form):
    """Some training cells of one label and feature to blank or to fill."""

    do: Literal["blank", "fill"]
    feature: str
    label: str = Field(description="The label of the rows that the cells are in.")
    value: str = Field(description="A value of the feature's domain, as `features` lists it.")
    n_cells: int = Field(1, ge=1, description="How many such cells.")


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
                    "own_missing": "skip",
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
    missing: list[str] = Field(
        [],
        max_length=100,
        description="Further spellings of missing: TEXT, or COL=TEXT for one column.",
    )
    missing_only: list[str] | None = Field(
        None, max_length=100, description="Spellings of missing instead of the usual ones."
    )
    missing_is_value: list[str] = Field(
        [], max_length=2000, description="Columns where missing is an answer of its own."
    )
    unlabelled: Literal["refuse", "drop"] = Field(
        "refuse",
        description="Rows without a label: refused, or left out of the training table.",
    )
    key: str | None = Field(
        None, description="The column that names the points; it is no feature then."
    )
    truth: str | None = Field(
        None,
        description="The column of the points with their true labels; null: the label column, if they "
        "have it.",
    )
    changes: list[ChangeForm] = Field(
        [], max_length=200, description="Training cells to blank or fill before all else."
    )
    answers: list[str] = Field(
        [],
        max_length=100,
        description="Ids of worksheets that were filled in: their answers are taken before all else.",
    )
    compare: str | None = Field(
        None, description="Id of an analysis that is done, to be put beside this one."
    )
    ignore: list[str] = Field([], max_length=2000, description="Columns to leave out.")
    keep: list[str] = Field([], max_length=2000, description="Columns to keep that name rows.")
    own_missing: Literal["skip", "any"] = Field(
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
