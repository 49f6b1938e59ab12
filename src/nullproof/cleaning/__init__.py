"""Which missing cells to look up first, and when to stop."""
