"""Sparse matrices as HiGHS takes them."""

from __future__ import annotations

from typing import Any

from nullproof.attacks.joint.problem import Floats, Ints


def sparse(rows: Ints, columns: Ints, values: Floats, shape: tuple[int, int]) -> Any:
    """Return a matrix from its entries; the HiGHS of older SciPy takes no wide integers."""
    from scipy.sparse import coo_array

    place = rows.astype("int32"), columns.astype("int32")
    return coo_array((values, place), shape=shape).tocsr()
