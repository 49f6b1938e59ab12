"""Draw docs/figures/intervals.svg: a certain prediction of the demo beside an open one."""

from __future__ import annotations

from pathlib import Path

from nullproof import CountIndex, certify
from nullproof.cli.demo import load
from nullproof.model.certify import Certificate
from nullproof.results.pictures import WIDTH, intervals

GAP, TOP, MARGIN = 60, 64, 16
FIGURE = Path(__file__).parent.parent / "docs/figures/intervals.svg"
# A file that is shown by <img> has no colour to inherit, so it brings its own for both themes.
STYLE = "svg { color: #1f2328; } @media (prefers-color-scheme: dark) { svg { color: #e6edf3; } }"


def figure() -> str:
    """The two pictures, side by side."""
    train, new = load()
    index = CountIndex.from_table(train, "churn", ignore=["customer"])
    result = certify(index, new)
    width, height = 2 * WIDTH + GAP + 2 * MARGIN, 160
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="Support intervals of two predictions" '
        'font-family="system-ui, sans-serif" fill="currentColor">',
        f"<style>{STYLE}</style>",
        placed(0, "Certain", "one bar lies clear of all others", result[0]),
        placed(1, "Open", "the bars overlap: the missing cells decide", result[2]),
        "</svg>\n",
    ]
    return "".join(parts)


def placed(column: int, title: str, why: str, one: Certificate) -> str:
    """One picture with its title, at its place."""
    order = sorted(one.max_log_support, key=lambda label: -one.max_log_support[label])
    drawn = intervals(
        (label, one.min_log_support[label], one.max_log_support[label], label in one.possible)
        for label in order
    )
    x = MARGIN + column * (WIDTH + GAP)
    drawn = drawn.replace("<svg ", f'<svg x="{x}" y="{TOP}" ', 1)
    return (
        f'<text x="{x}" y="26" font-size="18" font-weight="700">{title}</text>'
        f'<text x="{x}" y="46" font-size="13" fill-opacity="0.75">{why}</text>{drawn}'
    )


if __name__ == "__main__":
    FIGURE.write_text(figure(), "utf-8")
