"""Results as people read them: on a terminal and in files."""
