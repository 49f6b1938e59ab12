"""The grid of biases that many points share (T10)."""

from __future__ import annotations

import gc
import math
import random

import pytest
from support.bias_tables import random_holed

from nullproof import brackets
from nullproof.brackets import grid_of
from nullproof.leads import Tables
from nullproof.model import Model


def tables_of(model: Model, n_points: int) -> Tables:
    """The tables of some points, each with the first value of every feature."""
    values = [feature.values[0] for feature in model.index.schema.features]
    return Tables(model, model.points([values] * n_points))


def test_a_grid_is_kept_for_the_next_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """One grid serves all blocks of points of a model, but for one that pays for more biases."""
    monkeypatch.setattr(brackets, "_TERMS", math.inf)
    monkeypatch.setattr(brackets, "_MOST", 32)
    index = random_holed(random.Random(3)).index()
    model = Model(index)
    grid = grid_of(tables_of(model, 5))
    assert grid is not None
    assert len(grid.biases) == 32
    assert grid_of(tables_of(model, 9)) is grid
    monkeypatch.setattr(brackets, "_MOST", 16)
    assert grid_of(tables_of(model, 9)) is grid
    monkeypatch.setattr(brackets, "_MOST", 64)
    finer = grid_of(tables_of(model, 9))
    assert finer is not None
    assert len(finer.biases) == 64
    assert grid_of(tables_of(Model(index), 9)) is not finer


def test_a_grid_is_forgotten_with_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid may take tens of megabytes, which nobody needs once the model is gone."""
    monkeypatch.setattr(brackets, "_TERMS", math.inf)
    model = Model(random_holed(random.Random(3)).index())
    assert grid_of(tables_of(model, 5)) is not None
    assert brackets._LAST._kept is not None
    del model
    gc.collect()
    assert brackets._LAST._kept is None
