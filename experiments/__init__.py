"""Measurements: every speed claim of the project, as ratios within one run."""
