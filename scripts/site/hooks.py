"""What mkdocs calls while it builds the site: pages from outside ``docs/``, and links to them."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

from commands import described
from gallery import with_pictures
from mkdocs.structure.files import File
from notebooks import page_of
from schemas import tables

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\[([^\[\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
COMMANDS = "<!-- every command -->"
SCHEMAS = "<!-- every schema -->"
# Search finds what a user means first: pages to start with before lists and tables of numbers.
BOOSTS = {
    "start.md": 4,
    "index.md": 2,
    "guides/": 2,
    "results/": 0.2,
    "changelog.md": 0.1,
    "licences.md": 0.1,
}


def borrowed() -> dict[str, Path]:
    """Files of other folders by their place on the site."""
    found = {
        "changelog.md": ROOT / "CHANGELOG.md",
        "contributing.md": ROOT / "CONTRIBUTING.md",
        "conduct.md": ROOT / "CODE_OF_CONDUCT.md",
        "security.md": ROOT / "SECURITY.md",
    }
    results, data = ROOT / "experiments/results", ROOT / "src/nullproof/demo"
    found |= {f"results/{path.name}": path for path in sorted(results.glob("*.md"))}
    return found | {f"data/{path.name}": path for path in sorted(data.glob("*.csv"))}


def notebooks() -> dict[str, Path]:
    """Notebooks by the page that shows them."""
    found = sorted((ROOT / "examples").glob("*.ipynb"))
    return {f"gallery/{path.stem}.md": path for path in found}


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are kept elsewhere, and those that are made of notebooks."""
    for place, path in borrowed().items():
        files.append(File.generated(config, place, abs_src_path=str(path)))
    for place, path in notebooks().items():
        download = f"gallery/{path.name}"
        files.append(File.generated(config, place, content=page_of(path)))
        files.append(File.generated(config, download, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in what is made, and let links lead to where files lie on the site."""
    if COMMANDS in markdown:
        markdown = markdown.replace(COMMANDS, described())
    if SCHEMAS in markdown:
        markdown = markdown.replace(SCHEMAS, tables(ROOT / "docs/schemas"))
    markdown = with_pictures(markdown, ROOT / "examples")
    place = page.file.src_uri
    boost = next((size for start, size in BOOSTS.items() if place.startswith(start)), None)
    if boost is not None:
        page.meta["search"] = {"boost": boost}
    kept = borrowed().get(place, ROOT / "docs" / place)
    return LINK.sub(lambda match: moved(match, kept, place), markdown)


def moved(link: re.Match[str], kept: Path, place: str) -> str:
    """A link of a file as it must be written on the site; its words alone if that does not have it."""
    words, name, heading = link[1], link[2], link[3] or ""
    if "://" in name:
        return link[0]
    target = Path(os.path.normpath(kept.parent / name))
    for other, path in (borrowed() | notebooks()).items():
        if path == target:
            return f"[{words}]({relative(other, place)}{heading})"
    if target.is_relative_to(ROOT / "docs"):
        other = target.relative_to(ROOT / "docs").as_posix()
        return f"[{words}]({relative(other, place)}{heading})"
    return words if target.exists() else link[0]


def relative(target: str, place: str) -> str:
    """The way from one place on the site to another."""
    return PurePosixPath(os.path.relpath(target, PurePosixPath(place).parent)).as_posix()
