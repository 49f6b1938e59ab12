"""The worksheet of an analysis: the missing cells to look up, as a CSV file to fill in."""

from __future__ import annotations

import tempfile
from pathlib import Path

from nullproof.cleaning.worksheet import Work
from nullproof.model import written_number
from nullproof.web.analysis import Analysis
from nullproof.web.problems import RequestError


def worksheet(analysis: Analysis) -> str:
    """The cells of the plan that `nullproof clean` makes, which also takes the answers."""
    result, options = analysis.result, analysis.options
    if options.changes:
        raise RequestError(
            409, "a worksheet is about the table as it is; analyse it without changes first"
        )
    how = {
        "confidence": 1.0,
        "cells": None,
        "costs": None,
        "alpha": written_number(options.alpha),
        "prior": options.prior or None,
        "own_holes": options.own_holes,
        "bias": options.bias,
    }
    work = Work(
        result.index,
        result.points,
        analysis.table,
        how,
        key=options.key,
        same_rows=analysis.of_training_rows,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "worksheet.csv"
        work.write_worksheet(path, work.plan(None))
        return path.read_text("utf-8")
