"""Codes in, counts out: counting, the index, its updates and its file, and engines."""
