"""Present answers as a table, a file, JSON, a repr, notebook output, or a picture."""

from nullproof.results.cells import CellWords, cell_words, value_words
from nullproof.results.table import Column, Result, chosen, label_sets, reasons_of, tell_of

__all__ = [
    "CellWords",
    "Column",
    "Result",
    "cell_words",
    "chosen",
    "label_sets",
    "reasons_of",
    "tell_of",
    "value_words",
]
