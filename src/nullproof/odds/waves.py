"""Fourier coefficients of log supports, from the terms as they are: nothing is rounded to a grid.

The coefficient of a sum of independent terms is the product of theirs. Supports are smooth but for
their finest detail, so the high coefficients of a product soon vanish: once few terms have shown
that, the others need low ones only (theory 6). Points share values, so those of a term are kept.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.model import Floats
from nullproof.odds.terms import Term, Terms

# So many coefficients are made at once, at least.
STEP = 128
# With more of them a grid, of which all are made at once, is quicker.
MAX_WAVES = 2**13
_MAX_CACHED = 2**28  # bytes
_EPS = float(np.finfo(np.float64).eps)
# Of the coefficients from STEP on those within a sixteenth of an octave make a band, bounded together.
_BANDS = np.floor(16 * np.log2(np.arange(STEP, MAX_WAVES) / STEP)).astype(np.intp)
_FIRST = STEP + np.flatnonzero(np.diff(_BANDS, prepend=-1)).astype(np.float64)
_LAST = np.append(_FIRST[1:] - 1, MAX_WAVES - 1)
Waves = NDArray[np.complex128]
# A label of a value: feature, code, label.
Which = tuple[int, int, int]
_ONES = np.ones(STEP, dtype=np.complex128)


class Enough(NamedTuple):
    """How many coefficients are asked for, a multiple of `STEP`, and how much those left out may matter."""

    n_waves: int
    tolerance: float


class Weights(NamedTuple):
    """What Vaaler's and Fejér's polynomials of degree below ``n`` multiply each coefficient with.

    Parameters
    ----------
    vaaler
        Of ``sin 2πkx`` in the polynomial next to ``x - ⌊x⌋ - 1/2``; 0 for ``k = 0``.
    fejer
        Of ``e^{2πikx}`` in what bounds its distance.
    most
        How much a coefficient can matter in all, for an interval with two ends.
    of_bands
        The same for all coefficients of a band together.
    """

    vaaler: Floats
    fejer: Floats
    most: Floats
    of_bands: Floats


@functools.lru_cache(maxsize=64)
def weights(n: int) -> Weights:
    """The weights of the first ``n`` coefficients, from ``k = 0`` on."""
    u = np.arange(1, n) / n
    vaaler = np.zeros(n)
    vaaler[1:] = -((1 - u) / np.tan(np.pi * u) + 1 / np.pi) / n
    fejer = (1 - np.arange(n) / n) / n
    fejer[0] /= 2
    most = 2 * (np.abs(vaaler) + fejer)
    of_bands = np.zeros(len(_FIRST))
    np.add.at(of_bands, _BANDS[: n - STEP], most[STEP:])
    return Weights(vaaler, fejer, most, of_bands)


class Product(NamedTuple):
    """The first coefficients of a sum of terms, and how much all further ones and roundings can matter."""

    waves: Waves
    rest: float


class Part(NamedTuple):
    """What is kept of a term: its first coefficients, and bounds of those in each band.

    How wide it is, and how many values it has.
    """

    which: Which
    head: Waves
    bounds: Floats
    variance: float
    n_values: int


def side_by_side(products: list[Product]) -> tuple[Waves, Floats]:
    """The coefficients of products in rows of the same length, and how much further ones can matter."""
    waves = np.zeros((len(products), max(len(own.waves) for own in products)), dtype=np.complex128)
    for row, own in zip(waves, products, strict=True):
        row[: len(own.waves)] = own.waves
    return waves, np.array([own.rest for own in products])


def octaves(widths: Floats) -> NDArray[np.int64]:
    """Binary logarithms of periods that are at least so long."""
    return np.asarray(np.ceil(np.log2(np.maximum(widths, 2.0**-40) * (1 + 1e-9))), dtype=np.int64)


def numbers(levels: Floats) -> NDArray[np.int64]:
    """Numbers of coefficients of at least ``2**levels``, of which many points share each."""
    rounded = np.clip(np.ceil(levels), math.log2(STEP), 40.0).astype(np.int64)
    whole = np.left_shift(1, rounded)
    fewer = whole - whole // 4
    return np.where((fewer >= np.exp2(levels)) & (fewer % STEP == 0), fewer, whole)


class Spectra:
    """Fourier coefficients of the terms of one model, for periods that are powers of two."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._parts: dict[tuple[int, int, int, int], Part | None] = {}
        self._long: dict[tuple[int, int, int, int], Waves] = {}
        self._n_cached = 0

    def after(self, terms: Terms, changed: set[int]) -> Spectra:
        """Those of a table in which only some features changed; the coefficients of others stay."""
        other = Spectra(terms)
        other._parts = {key: own for key, own in self._parts.items() if key[0] not in changed}
        other._long = {key: own for key, own in self._long.items() if key[0] not in changed}
        other._n_cached = self._n_cached
        return other

    def product(self, codes: list[int], labels: list[int], octave: int, how: Enough) -> Product:
        """The coefficients of the log support of a label above its least value, for a complete point.

        Parameters
        ----------
        labels
            The label; of two the terms of the second one are subtracted.
        octave
            The period is ``2**octave``.
        """
        parts = [
            [part for j, code in enumerate(codes) if (part := self._part((j, code, i), octave))]
            for i in labels
        ]
        every = [part for own in parts for part in own]
        most = _multiplied([part.bounds for part in every], _FIRST)
        rest = float(weights(how.n_waves).of_bands @ most)
        if rest <= how.tolerance:
            heads = [_multiplied([part.head for part in own], _ONES) for own in parts]
            return Product(_less(heads), 1.01 * rest + _roundings(every, STEP))
        return self._longer(every, labels[1:], octave, how)

    def _longer(self, parts: list[Part], against: list[int], octave: int, how: Enough) -> Product:
        """The same where the bounds do not tell: first the terms whose coefficients vanish soonest."""
        n, rest = how.n_waves, 0.0
        parts = sorted(parts, key=lambda part: (-part.variance, part.which))
        # Bounds of each term and all after it.
        bounds = np.ones((len(parts) + 1, len(_FIRST)))
        for place in range(len(parts) - 1, -1, -1):
            np.multiply(bounds[place + 1], parts[place].bounds, out=bounds[place])
        band = np.concatenate([np.zeros(STEP, dtype=np.intp), _BANDS[: n - STEP]])
        found = np.ones(n, dtype=np.complex128)
        for part, after in zip([None, *parts], bounds, strict=True):
            if part:
                own = self._waves(part.which, octave, len(found))
                found *= own.conj() if part.which[2] in against else own
            if len(found) > STEP:
                # No coefficient exceeds 1, so what is left out only gets smaller by further terms.
                matter = np.abs(found) * after[band[: len(found)]] * weights(n).most[: len(found)]
                matter = np.cumsum(matter[::-1])
                n_gone = int(np.searchsorted(matter, how.tolerance - rest)) // STEP * STEP
                n_gone = min(n_gone, len(found) - STEP)
                rest += float(matter[n_gone - 1]) if n_gone else 0.0
                found = found[: len(found) - n_gone]
        return Product(found, 1.01 * rest + _roundings(parts, n))

    def _part(self, which: Which, octave: int) -> Part | None:
        """What is kept of a term; None for a constant, which lies at its least value."""
        key = (*which, octave)
        if key not in self._parts:
            term = self._terms.of(*which[:2])[which[2]]
            self._parts[key] = None
            if len(term.logs) > 1 or term.zero > 0:
                mean = float(term.logs @ term.probs)
                variance = float((term.logs - mean) ** 2 @ term.probs)
                head = _waves(term, octave, STEP)
                bounds = greatest_waves(term, octave)
                self._parts[key] = Part(which, head, bounds, variance, len(term.logs))
        return self._parts[key]

    def _waves(self, which: Which, octave: int, n: int) -> Waves:
        key = (*which, octave)
        found = self._long.get(key)
        if found is None or len(found) < n:
            # Up to twice as many at once, so that few are made again.
            found = _waves(self._terms.of(*which[:2])[which[2]], octave, 1 << (n - 1).bit_length())
            if self._n_cached + found.nbytes > _MAX_CACHED:
                self._long.clear()
                self._n_cached = 0
            self._long[key] = found
            self._n_cached += found.nbytes
        return found[:n]


def _roundings(parts: list[Part], n: int) -> float:
    """Bound how much the roundings of ``n`` coefficients of a product can matter.

    A wave is off by eight eps, its turn being known exactly; its ``k``-th power, which takes ``2·log k``
    products, by at most ``16·k`` eps. A sum of ``l`` of them adds ``2·l`` roundings. All coefficients
    together matter ``4 + log n``, and their sum adds ``4·n`` roundings.
    """
    each = sum(2 * part.n_values + 16 * n for part in parts) + 4 * n
    return each * _EPS * (4 + math.log(n))


def _multiplied(factors: list[NDArray[Any]], like: NDArray[Any]) -> NDArray[Any]:
    return np.multiply.reduce(factors) if factors else np.ones_like(like)


def _less(heads: list[Waves]) -> Waves:
    return heads[0] if len(heads) == 1 else heads[0] * heads[1].conj()


def greatest_waves(term: Term, octave: int) -> Floats:
    """Bounds of the absolute values of the coefficients of a term in each band, by Kusmin and Landau.

    Where the turns from each value to the next one descend between two whole numbers, at least λ from both,
    values add up to no more than ``max(p)·cot(πλ) + V / (2·sin(πλ))``, with V the total variation of the
    probabilities (theory 6).
    """
    total = min(1.0, 1.01 * float(term.probs.sum()))
    if len(term.logs) < 2:
        return np.full(len(_FIRST), total)
    turns, rounding = np.diff(term.logs), 8 * _EPS * (1 + term.magnitude)
    least = _FIRST * math.ldexp(float(turns.min()) - rounding, -octave) * (1 - 1e-9)
    most = _LAST * math.ldexp(float(turns.max()) + rounding, -octave) * (1 + 1e-9)
    whole = np.floor(least)
    near = np.minimum(least - whole, whole + 1 - most).clip(min=1e-9)
    varied = float(np.abs(np.diff(term.probs, prepend=0.0, append=0.0)).sum())
    angle = np.pi * near
    bound = (float(term.probs.max()) * np.cos(angle) + varied / 2) / np.sin(angle)
    return np.minimum(1.01 * bound, total)


def _waves(term: Term, octave: int, n: int) -> Waves:
    """The first coefficients of one term, above its least value, which sum to ``1 - zero``."""
    turns = np.ldexp(term.logs - term.logs[:1], -octave)
    side = 1 << (n.bit_length() // 2)
    low, high = powers(turns, side), powers(turns * side, n // side).T * term.probs
    # Not a product of matrices: a library would start threads for it, that cost more than they bring.
    found: Waves = np.einsum("kv,vl->kl", high, low)
    return found.ravel()


def powers(turns: Floats, n: int) -> Waves:
    """``e^{2πik·turns}`` for ``k`` below ``n``, in a last axis."""
    found = np.ones((*turns.shape, n), dtype=np.complex128)
    one, size = np.exp(2j * math.pi * (turns - np.rint(turns)))[..., None], 1
    while size < n:
        np.multiply(found[..., : min(size, n - size)], one, out=found[..., size : 2 * size])
        one, size = one * one, 2 * size
    return found
