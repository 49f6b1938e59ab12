"""The report of 100,000 points: how long it takes to make, how large it is, how fast it opens."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from nullproof import CountIndex, report
from nullproof.words import per_cent

TITLE = "The report of many points"
# Rows, features, values, labels and share of holes of tables that are wide or have many labels.
WIDE = (
    (3_000, 60, 5, 3, 0.01),
    (3_000, 60, 5, 3, 0.2),
    (3_000, 12, 5, 30, 0.01),
    (3_000, 12, 5, 30, 0.2),
)
SHAPES = ((10, 5, 2, 0.001), (30, 5, 5, 0.001), (60, 20, 12, 0.0005))
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
RUNS = 7
PAINTED = (
    "() => Math.max(performance.timing.loadEventEnd - performance.timing.navigationStart, "
    "...performance.getEntriesByType('paint').map(entry => entry.startTime))"
)


def run(*, quick: bool = False) -> list[str]:
    n_points = 5_000 if quick else 100_000
    lines = [
        f"{n_points:,} points, all of them rows of a generated table with holes. Opening: from the "
        f"disk, in a fresh page of Chromium, until it is loaded and painted ({RUNS} runs).",
        "",
        "| features | values | labels | certain | seconds to make | page | to open |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for shape in SHAPES:
        index, points = generated(n_points, *shape)
        start = time.perf_counter()
        made = report(index, points)
        page = made.html()
        seconds = time.perf_counter() - start
        share = made.document["certain"]["share"]
        n_features, n_values, n_labels, _ = shape
        lines.append(
            f"| {n_features} | {n_values} | {n_labels} | {per_cent(share)} | {seconds:.1f} | "
            f"{len(page.encode()) / 1e6:.2f} MB | {opening(page)} |"
        )
    lines += [
        "",
        "Wide tables and many labels, all rows as points:",
        "",
        "| rows | features | labels | missing | certain | with odds | seconds to make |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for wide in WIDE[:1] if quick else WIDE:
        index, points = generated(*wide)
        start = time.perf_counter()
        made = report(index, points)
        made.html()
        seconds = time.perf_counter() - start
        n_rows, n_features, _, n_labels, holes = wide
        told, open_ones = made.document["certain"], made.document["open"]
        lines.append(
            f"| {n_rows:,} | {n_features} | {n_labels} | {per_cent(holes)} | {per_cent(told['share'])} | "
            f"{open_ones['n_odds']} of {len(open_ones['shown'])} | {seconds:.1f} |"
        )
    return lines


def generated(
    n_rows: int, n_features: int, n_values: int, n_labels: int, holes: float
) -> tuple[CountIndex, Any]:
    """Labels that shift their values a little, with some cells missing."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_labels, n_rows)
    noise = rng.integers(0, n_values, (n_rows, n_features))
    is_own = rng.random((n_rows, n_features)) < 0.25
    codes = np.where(is_own, labels[:, None] % n_values, noise).astype(np.int32)
    points = codes.copy()
    codes[rng.random(codes.shape) < holes] = -1
    names = np.array([f"label {i}" for i in range(n_labels)])
    return CountIndex.from_codes(
        codes, names[labels], n_values=[n_values] * n_features, weights="equal"
    ), points


def opening(page: str) -> str:
    """Milliseconds until the page is there; nothing where there is no browser."""
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if browser is None:
        return "no Chromium"
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        path = Path(folder) / "report.html"
        path.write_text(page, "utf-8")
        launched = started.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        seen = []
        for _ in range(RUNS):
            tab = launched.new_page()
            tab.goto(path.as_uri())
            seen.append(float(tab.evaluate(PAINTED)))
            tab.close()
        launched.close()
    return f"{statistics.median(seen):,.0f} ms ({min(seen):,.0f} to {max(seen):,.0f})"
