"""Fewest cells that break many points at once: a search for attacks and a proof of how good they are."""
