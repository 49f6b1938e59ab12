"""Codes in, counts out: counting, the index, its updates, its file, and engines that count where the data is."""
