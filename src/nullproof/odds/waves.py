"""Fourier coefficients of log supports, from the terms as they are: nothing is rounded to a grid.

The coefficient of a sum of independent terms is the product of theirs. Supports are smooth but for
their finest detail, so the high coefficients of a product soon vanish: once few terms have shown
that, the others need low ones only (theory 6). Points share values, so those of a term are kept.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import defaultdict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.model.bias import Floats
from nullproof.odds.terms import Term, Terms

# So many coefficients are made at once, at least.
STEP = 128
# With more of them a grid, of which all are made at once, is quicker.
MAX_WAVES = 2**13
_MAX_CACHED = 2**28  # bytes
# So many terms at once stay near the processor: when coefficients are made, and when they are multiplied.
_MADE, _MULTIPLIED = 16, 2**10
# So small a product of matrices is done at once; for a larger one a library would start threads, that
# cost more than they bring.
_SMALL = 2**16
_EPS = float(np.finfo(np.float64).eps)
# Of the coefficients from STEP on those within a sixteenth of an octave make a band, bounded together.
_BANDS = np.floor(16 * np.log2(np.arange(STEP, MAX_WAVES) / STEP)).astype(np.intp)
_FIRST = STEP + np.flatnonzero(np.diff(_BANDS, prepend=-1)).astype(np.float64)
_LAST = np.append(_FIRST[1:] - 1, MAX_WAVES - 1)
Waves = NDArray[np.complex128]
Integers = NDArray[np.int64]
# A label of a value, and a period: feature, code, label, octave.
Key = tuple[int, int, int, int]


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


class Sums(NamedTuple):
    """Sums of terms, of which coefficients are asked for.

    Parameters
    ----------
    codes
        Complete points, features × sums.
    labels
        The label of each, sums × 1; of two labels the terms of the second one are subtracted.
    octaves
        The periods are ``2**octaves``.
    n_waves
        How many coefficients are asked for, multiples of `STEP`.
    """

    codes: NDArray[np.int32]
    labels: NDArray[np.intp]
    octaves: Integers
    n_waves: Integers


class Products(NamedTuple):
    """The first coefficients of sums of terms (sums × coefficients), each as many as matter, then zeros.

    Parameters
    ----------
    sizes
        How many matter.
    rest
        How much all further ones and roundings can matter.
    """

    waves: Waves
    sizes: Integers
    rest: Floats


class Part(NamedTuple):
    """What is kept of a term: its first coefficients, and bounds of those in each band.

    How wide it is, and how many values it has; none for a constant, which lies at its least value.
    """

    key: Key
    head: Waves
    bounds: Floats
    variance: float
    n_values: int


def weights_of(n_waves: Integers, size: int) -> tuple[Floats, Floats]:
    """Vaaler's and Fejér's weights of the first coefficients, for each number of them."""
    numbers, rows = np.unique(n_waves, return_inverse=True)
    both = np.zeros((2, len(numbers), size))
    for place, n in enumerate(numbers.tolist()):
        both[:, place, :n] = [own[:size] for own in weights(n)[:2]]
    vaaler, fejer = both[:, rows]
    return vaaler, fejer


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
        self._parts: dict[Key, Part] = {}
        self._long: dict[Key, Waves] = {}
        self._n_cached = 0

    def after(self, terms: Terms, changed: set[int]) -> Spectra:
        """Those of a table in which only some features changed; the coefficients of others stay."""
        other = Spectra(terms)
        other._parts = {key: own for key, own in self._parts.items() if key[0] not in changed}
        other._long = {key: own for key, own in self._long.items() if key[0] not in changed}
        other._n_cached = self._n_cached
        return other

    def products(self, sums: Sums, tolerance: Floats) -> Products:
        """The coefficients of log supports above their least values, but for a rest near the tolerance."""
        parts, places = self._parts_of(sums)
        heads, bounds = np.stack([own.head for own in parts]), np.stack([o.bounds for o in parts])
        n_values = np.array([own.n_values for own in parts])[places]
        waves = np.empty((len(places), STEP), dtype=np.complex128)
        rest, sizes = np.empty(len(places)), np.full(len(places), STEP)
        of_bands = np.stack([weights(n).of_bands for n in sums.n_waves.tolist()])
        # The terms that are subtracted come last.
        first = len(sums.codes)
        length = max(1, _MULTIPLIED // places.shape[1])
        for here in (slice(at, at + length) for at in range(0, len(places), length)):
            most = np.multiply.reduce(bounds[places[here]], axis=1)
            rest[here] = np.einsum("sb,sb->s", most, of_bands[here])
            waves[here] = np.multiply.reduce(heads[places[here, :first]], axis=1)
            if sums.labels.shape[1] == 2:
                waves[here] *= np.multiply.reduce(heads[places[here, first:]], axis=1).conj()
        longer = np.flatnonzero(rest > tolerance)
        rest = 1.01 * rest + _roundings(n_values, sizes)
        made = {
            row: self._longer(
                [parts[place] for place in places[row]], sums, row, float(tolerance[row])
            )
            for row in longer.tolist()
        }
        longest = max([STEP, *(len(found) for found, _ in made.values())])
        waves = np.pad(waves, ((0, 0), (0, longest - STEP)))
        for row, (found, own) in made.items():
            waves[row, : len(found)], sizes[row], rest[row] = found, len(found), own
        return Products(waves, sizes, rest)

    def _parts_of(self, sums: Sums) -> tuple[list[Part], NDArray[np.intp]]:
        """What is kept of all terms, and which of them each sum has, sums × terms."""
        known: defaultdict[Key, int] = defaultdict(itertools.count().__next__)
        columns = zip(
            sums.codes.T.tolist(), sums.labels.tolist(), sums.octaves.tolist(), strict=True
        )
        places = [
            [known[j, code, i, octave] for i in some for j, code in enumerate(own)]
            for own, some, octave in columns
        ]
        new = [key for key in known if key not in self._parts]
        for start in range(0, len(new), _MADE):
            self._make(new[start : start + _MADE])
        shape = len(places), sums.labels.shape[1] * len(sums.codes)
        return [self._parts[key] for key in known], np.array(places, dtype=np.intp).reshape(shape)

    def _make(self, keys: list[Key]) -> None:
        terms = [self._terms.of(j, code)[i] for j, code, i, _ in keys]
        octaves = np.array([key[3] for key in keys])
        above, probs = padded(terms)
        heads = made_waves(np.ldexp(above, -octaves[:, None]), probs, STEP)
        bounds = greatest_waves(terms, above, probs, octaves)
        apart = above - np.einsum("tv,tv->t", above, probs)[:, None]
        variances = np.einsum("tv,tv,tv->t", apart, apart, probs).tolist()
        for key, term, head, bound, variance in zip(
            keys, terms, heads, bounds, variances, strict=True
        ):
            n_values = len(term.logs) if len(term.logs) > 1 or term.zero > 0 else 0
            self._parts[key] = Part(key, head, bound, variance, n_values)

    def _longer(
        self, parts: list[Part], sums: Sums, row: int, tolerance: float
    ) -> tuple[Waves, float]:
        """Coefficients and rest where the bounds do not tell: first the terms whose ones vanish soonest."""
        n, rest, against = int(sums.n_waves[row]), 0.0, sums.labels[row, 1:].tolist()
        parts = sorted(
            (part for part in parts if part.n_values), key=lambda part: (-part.variance, part.key)
        )
        # Bounds of each term and all after it.
        bounds = np.ones((len(parts) + 1, len(_FIRST)))
        for place in range(len(parts) - 1, -1, -1):
            np.multiply(bounds[place + 1], parts[place].bounds, out=bounds[place])
        band = np.concatenate([np.zeros(STEP, dtype=np.intp), _BANDS[: n - STEP]])
        found = np.ones(n, dtype=np.complex128)
        for part, after in zip([None, *parts], bounds, strict=True):
            if part:
                own = self._first_waves(part, len(found))
                found *= own.conj() if part.key[2] in against else own
            if len(found) > STEP:
                # No coefficient exceeds 1, so what is left out only gets smaller by further terms.
                matter = np.abs(found) * after[band[: len(found)]] * weights(n).most[: len(found)]
                matter = np.cumsum(matter[::-1])
                n_gone = int(np.searchsorted(matter, tolerance - rest)) // STEP * STEP
                n_gone = min(n_gone, len(found) - STEP)
                rest += float(matter[n_gone - 1]) if n_gone else 0.0
                found = found[: len(found) - n_gone]
        n_values = np.array([[part.n_values for part in parts]])
        return found, 1.01 * rest + float(_roundings(n_values, np.array([n]))[0])

    def _first_waves(self, part: Part, n: int) -> Waves:
        """The first coefficients of a term, kept in case that others need them too."""
        if n <= STEP:
            return part.head[:n]
        j, code, i, octave = part.key
        found = self._long.get(part.key)
        if found is None or len(found) < n:
            above, probs = padded([self._terms.of(j, code)[i]])
            # Up to twice as many at once, so that few are made again.
            found = made_waves(np.ldexp(above, -octave), probs, 1 << (n - 1).bit_length())[0]
            if self._n_cached + found.nbytes > _MAX_CACHED:
                self._long.clear()
                self._n_cached = 0
            self._long[part.key] = found
            self._n_cached += found.nbytes
        return found[:n]


def _roundings(n_values: Integers, n_waves: Integers) -> Floats:
    """Bound how much the roundings of ``n_waves`` coefficients of each product can matter.

    A wave is off by eight eps, its turn being known exactly; its ``k``-th power, which takes ``2·log k``
    products, by at most ``16·k`` eps. A sum of ``l`` of them adds ``2·l`` roundings. All coefficients
    together matter ``4 + log n``, and their sum adds ``4·n`` roundings.
    """
    n_terms = (n_values > 0).sum(axis=1)
    each = 2 * n_values.sum(axis=1) + (16 * n_terms + 4) * n_waves
    return np.asarray(each * _EPS * (4 + np.log(n_waves)))


def padded(terms: list[Term]) -> tuple[Floats, Floats]:
    """How far values of terms lie above the least ones, and their probabilities, terms × values."""
    both = np.zeros((2, len(terms), max(len(term.logs) for term in terms)))
    for place, term in enumerate(terms):
        own = slice(0, len(term.logs))
        both[:, place, own] = term.logs - term.logs[:1], term.probs
    return both[0], both[1]


def greatest_waves(terms: list[Term], above: Floats, probs: Floats, octaves: Integers) -> Floats:
    """Bounds of the absolute values of the coefficients of terms in each band, by Kusmin and Landau.

    Where the turns from each value to the next one descend between two whole numbers, at least λ from both,
    values add up to no more than ``max(p)·cot(πλ) + V / (2·sin(πλ))``, with V the total variation of the
    probabilities (theory 6). The first turn is the greatest, the last one the least.
    """
    total = np.minimum(1.0, 1.01 * probs.sum(axis=1))[:, None]
    last = np.array([max(len(term.logs) - 1, 1) for term in terms])
    rounding = np.array([8 * _EPS * (1 + term.magnitude) for term in terms])
    if above.shape[1] < 2:
        return np.broadcast_to(total, (len(terms), len(_FIRST)))
    rows = np.arange(len(terms))
    slowest = np.ldexp(above[rows, last] - above[rows, last - 1] - rounding, -octaves)
    fastest = np.ldexp(above[:, 1] + rounding, -octaves)
    least, most = slowest[:, None] * _FIRST * (1 - 1e-9), fastest[:, None] * _LAST * (1 + 1e-9)
    whole = np.floor(least)
    near = np.minimum(least - whole, whole + 1 - most).clip(min=1e-9)
    varied = np.abs(np.diff(probs, prepend=0.0, append=0.0)).sum(axis=1)[:, None]
    angle = np.pi * near
    bound = (probs.max(axis=1)[:, None] * np.cos(angle) + varied / 2) / np.sin(angle)
    return np.asarray(np.minimum(1.01 * bound, total))


def made_waves(turns: Floats, probs: Floats, n: int) -> Waves:
    """The first coefficients of terms (terms × values), which sum to ``1 - zero`` each."""
    side = 1 << (n.bit_length() // 2)
    low, high = powers(turns, side), powers(turns * side, n // side) * probs[:, :, None]
    found = np.zeros((len(turns), n // side // 4, 4, side), dtype=np.complex128)
    rows = high.swapaxes(1, 2).reshape(*found.shape[:3], turns.shape[1])
    length = _SMALL // (4 * side)
    for start in range(0, turns.shape[1], length):
        here = slice(start, start + length)
        found += rows[..., here] @ low[:, None, here]
    return found.reshape(len(turns), n)


def powers(turns: Floats, n: int) -> Waves:
    """``e^{2πik·turns}`` for ``k`` below ``n``, in a last axis."""
    found = np.ones((*turns.shape, n), dtype=np.complex128)
    one, size = np.exp(2j * math.pi * (turns - np.rint(turns)))[..., None], 1
    while size < n:
        np.multiply(found[..., : min(size, n - size)], one, out=found[..., size : 2 * size])
        one, size = one * one, 2 * size
    return found
