"""Counts in, verdicts out: which predictions are the same in every world, and how far the others hold."""
