"""Broken inputs for everything that reads: valid files, ways to break them, and what may come of it."""
