"""What the terminal views of all results share."""

from __future__ import annotations

from rich.console import Console

SHOWN = 20


def tell_of_more(console: Console, n_points: int) -> None:
    """Say how many points the table above leaves out, and how to get them."""
    if n_points > SHOWN:
        console.print(
            f"… and {n_points - SHOWN:,} more points: --json or -o FILE gives them all", style="dim"
        )
