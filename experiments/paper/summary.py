"""From rows of measurements to the numbers that are shown."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.paper.store import Row, Store

Chosen = Callable[[Row], bool]


@dataclass(frozen=True)
class Results:
    """All rows of an output folder; side rows that a resumed run wrote twice are here once."""

    measures: list[Row]
    exceptions: list[Row]
    certainty: list[Row]

    @classmethod
    def of(cls, store: Store) -> Results:
        return cls(
            store.measures.rows,
            _once(store.exceptions.rows, ("dataset", "run", "point")),
            _once(store.certainty.rows, ("dataset", "run", "rate", "bin")),
        )

    @property
    def datasets(self) -> list[str]:
        """The paper's datasets in the order they were measured."""
        return self.datasets_of("decision")

    def datasets_of(self, part: str) -> list[str]:
        """The datasets with measurements of a part, in the order they were measured."""
        return list(dict.fromkeys(row["dataset"] for row in self.some(part=part)))

    def some(self, **wanted: Any) -> list[Row]:
        """The measurements with these values in their columns."""
        texts = {name: str(value) for name, value in wanted.items()}
        return [row for row in self.measures if texts.items() <= row.items()]


def _once(rows: Iterable[Row], key: Sequence[str]) -> list[Row]:
    return list({tuple(row[column] for column in key): row for row in rows}.values())


def series(
    rows: Iterable[Row], x: str, y: str, *, middle: Callable[[list[float]], float]
) -> tuple[list[float], list[float], bool]:
    """The middle of ``y`` over the runs for every ``x``, and whether any of it is an estimate."""
    found: dict[float, list[float]] = {}
    estimated = False
    for row in rows:
        if row[y] != "":
            found.setdefault(float(row[x]), []).append(float(row[y]))
            estimated |= row["status"] == "estimated"
    xs = sorted(found)
    return xs, [middle(found[value]) for value in xs], estimated


def total(rows: Iterable[Row], column: str) -> int:
    """The sum of a column of whole numbers, empty cells aside."""
    return sum(int(row[column]) for row in rows if row[column] != "")


def middle_of(rows: Iterable[Row], column: str, *, mean: bool = False) -> float | None:
    """The median (or mean) of a column, None if nothing was measured."""
    values = [float(row[column]) for row in rows if row[column] != ""]
    if not values:
        return None
    return statistics.fmean(values) if mean else statistics.median(values)


Table = tuple[list[str], list[list[str]]]


def dataset_table(results: Results, shapes: dict[str, tuple[str, int, int, int]]) -> Table:
    """What was measured: origin, rows, columns with the label, labels, runs."""
    rows = []
    for name in results.datasets_of("agreement"):
        origin, n_rows, n_columns, n_labels = shapes[name]
        runs = len({row["run"] for row in results.some(dataset=name)})
        rows.append([name, origin, f"{n_rows:,}", str(n_columns), str(n_labels), str(runs)])
    return ["dataset", "origin", "rows", "columns", "labels", "runs"], rows


def decision_table(results: Results, part: str, algorithms: Sequence[str]) -> Table:
    """Median milliseconds of each algorithm for a part's most points at the base rate, and ratios."""
    most, base = most_points(results, part), base_rate(results)
    head = ["dataset", *(f"{name} (ms)" for name in algorithms), *_ratio_heads(algorithms)]
    rows = []
    for dataset in results.datasets:
        times = [
            middle_of(
                results.some(
                    part=part,
                    dataset=dataset,
                    algorithm=name,
                    holes="all",
                    rate=base,
                    n_points=most,
                ),
                "seconds",
            )
            for name in algorithms
        ]
        shown = ["left out" if t is None else f"{t * 1e3:,.2f}" for t in times]
        ours = times[-1]
        ratios = ["–" if t is None or not ours else f"{t / ours:,.1f}" for t in times[:-1]]
        rows.append([dataset, *shown, *ratios])
    return head, rows


def _ratio_heads(algorithms: Sequence[str]) -> list[str]:
    return [f"{name} ÷ {algorithms[-1]}" for name in algorithms[:-1]]


def most_points(results: Results, part: str) -> str:
    """The greatest number of points that a part was measured with."""
    return max((row["n_points"] for row in results.some(part=part)), key=int)


def base_rate(results: Results) -> str:
    """The rate at which the number of points varies."""
    fewest = min((row["n_points"] for row in results.some(part="decision")), key=int)
    return results.some(part="decision", n_points=fewest)[0]["rate"]


def sampling_table(results: Results) -> Table:
    """How often AD is wrong: it calls points certain that are not."""
    rates = sorted({row["rate"] for row in results.some(part="decision", holes="all")}, key=float)
    rows = []
    for rate in rates:
        mine = results.some(part="decision", algorithm="AD", holes="all", rate=rate)
        mine = [row for row in mine if row["status"] == "measured"]
        n_points, n_said = total(mine, "n_points"), total(mine, "n_certain")
        n_wrong = total(mine, "n_wrong")
        share = f"{n_wrong / n_said:.0%}" if n_said else "–"
        plain = results.some(part="decision", algorithm="Iterate+Index", holes="all", rate=rate)
        rows.append(
            [f"{float(rate):.1%}", f"{n_points:,}", f"{n_said - n_wrong:,}", f"{n_said:,}",
             f"{n_wrong:,}", share,
             f"{total(plain, 'n_wrong'):,} of {total(plain, 'n_points'):,}"]
        )  # fmt: skip
    head = ["missing", "points", "certain", "AD says certain", "of these wrong", "share wrong"]
    return [*head, "Algorithm 1 wrong"], rows


def poisoning_table(results: Results, part: str, algorithms: Sequence[str]) -> Table:
    """Mean cells, and times as multiples of ours, for the most points of a part."""
    most = most_points(results, part)
    head = ["dataset", *(f"{name} cells" for name in algorithms), "needed at least"]
    head += [f"time {text}" for text in _ratio_heads(algorithms)]
    rows = []
    for dataset in results.datasets:
        mine = {
            name: results.some(part=part, dataset=dataset, algorithm=name, n_points=most)
            for name in algorithms
        }
        cells = [middle_of(mine[name], "n_cells", mean=True) for name in algorithms]
        bound = middle_of(mine[algorithms[-1]], "lower_bound", mean=True)
        times = [middle_of(mine[name], "seconds") for name in algorithms]
        ratios = ["–" if t is None or not times[-1] else f"{t / times[-1]:,.1f}" for t in times]
        shown = ["–" if value is None else f"{value:,.0f}" for value in [*cells, bound]]
        rows.append([dataset, *shown, *ratios[:-1]])
    return head, rows


def greedy_table(results: Results) -> Table:
    """Where GS and the exact radius differ, dataset by dataset."""
    rows = []
    for dataset in results.datasets_of("agreement"):
        compared = total(results.some(part="agreement", dataset=dataset), "n_certain")
        mine = [row for row in results.exceptions if row["dataset"] == dataset]
        longer = [row for row in mine if int(row["greedy"]) > int(row["optimum"])]
        false = [row for row in mine if int(row["claimed"]) < int(row["optimum"])]
        worst = max((int(r["greedy"]) / int(r["optimum"]) for r in longer), default=1.0)
        unexplained = [row for row in longer if row["explained"] != "True"]
        rows.append(
            [dataset, f"{compared:,}", str(len(longer)), f"{worst:.2f}", str(len(false)),
             str(len(unexplained))]
        )  # fmt: skip
    head = ["dataset", "points", "GS not optimal (T6)", "worst GS ÷ optimum"]
    return [*head, "claims fewer than possible", "differences without saturation"], rows


def certainty_table(results: Results) -> Table:
    """The share of certain points by missing rate, and the law that the radius implies."""
    rates = sorted({row["rate"] for row in results.certainty}, key=float)
    rows = []
    for dataset in results.datasets:
        shown = []
        for rate in rates:
            mine = [r for r in results.certainty if (r["dataset"], r["rate"]) == (dataset, rate)]
            n_points = total(mine, "n_points")
            shown.append(f"{total(mine, 'n_certain') / n_points:.0%}" if n_points else "–")
        radii = [r for r in results.certainty if r["dataset"] == dataset and r["rate"] == rates[0]]
        weighted = [float(r["median_radius"]) for r in radii for _ in range(int(r["n_points"]))]
        middle = f"{statistics.median(weighted):,.0f}" if weighted else "–"
        broken = total(results.some(part="certainty", dataset=dataset), "n_wrong")
        rows.append([dataset, middle, *shown, str(broken)])
    head = ["dataset", "median radius, about", *(f"certain at {float(r):.1%}" for r in rates)]
    return [*head, "broken with fewer holes than radius"], rows
