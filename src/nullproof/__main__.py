"""``python -m nullproof``."""

from nullproof.cli import main

main()
