"""One HTML page with all figures and numbers; it needs no other file."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path

from experiments.paper.summary import Table

_STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem }
img { width: 100%; background: white }
figure { margin: 2rem 0 }
figcaption { margin-top: .3rem }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px }
th, td { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid #8884 }
th:first-child, td:first-child { text-align: left }
"""


def write_page(
    path: Path,
    figures: Mapping[str, str],
    tables: Mapping[str, Table],
    notes: Iterable[str],
    machine: str,
) -> None:
    """Write the page beside its figures, which are copied into it."""
    listed = "".join(f"<li>{escape(note)}</li>" for note in notes)
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>The paper’s experiments</title><style>{_STYLE}</style></head><body>",
        "<h1>The paper’s experiments, with its baselines and with nullproof</h1>",
        f"<p>{escape(machine)} Read times as ratios.</p>",
        f"<h2>Data</h2><ul>{listed}</ul>" if listed else "<h2>Data</h2>",
    ]
    data, *others = tables
    parts.append(_table(tables[data]))
    parts += [_figure(path.parent / f"{name}.svg", text) for name, text in figures.items()]
    parts += [f"<h2>{escape(title)}</h2>{_table(tables[title])}" for title in others]
    path.write_text("\n".join([*parts, "</body></html>"]), "utf-8")


def text_table(table: Table) -> list[str]:
    """A table as Markdown lines."""
    head, rows = table
    rule = [":---"] + ["---:"] * (len(head) - 1)
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]


def _figure(path: Path, caption: str) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    image = f"<img alt='{escape(caption)}' src='data:image/svg+xml;base64,{data}'>"
    return f"<figure>{image}<figcaption>{escape(caption)}</figcaption></figure>"


def _table(table: Table) -> str:
    head, rows = table
    top = "".join(f"<th scope='col'>{escape(cell)}</th>" for cell in head)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return (
        f"<div class='wide'><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )
