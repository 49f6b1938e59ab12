"""``python -m nullproof``."""

from nullproof.cli.run import main

main()
