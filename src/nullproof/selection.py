"""Which points of a result are meant: see `nullproof.results`, where rooms will import it from."""

from nullproof.results import chosen

__all__ = ["chosen"]
