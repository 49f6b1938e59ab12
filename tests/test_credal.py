"""What the naive credal classifier decides is certain."""

from __future__ import annotations

from support.amounts import n_tables, seeded
from support.credal_oracle import compare

from nullproof import CountIndex, certify


def test_random_tables() -> None:
    """It decides some points of random tables, fewer than are certain, and each of them is certain."""
    random = seeded("credal")
    n_decided = n_certain = 0
    for _ in range(n_tables(150, least=20)):
        n_columns, n_labels = random.randint(1, 4), random.randint(2, 3)
        labels = [random.randrange(n_labels) for _ in range(random.randint(20, 60))]

        def cell(label: int) -> int | None:
            told = label if random.random() < 0.6 else random.randrange(3)
            return None if random.random() < 0.15 else told

        rows = [tuple(cell(label) for _ in range(n_columns)) for label in labels]
        names = [f"x{j}" for j in range(n_columns)]
        index = CountIndex.from_rows(rows, labels, features=names, keep=names, weights="equal")
        result = certify(index, rows[:12], alpha=0)
        n_decided += compare(result, rows, labels, rows[:12])
        n_certain += int(result.certain.sum())
    print(f"{n_decided} decided, {n_certain} certain")
    assert 0.05 * n_certain < n_decided < n_certain
