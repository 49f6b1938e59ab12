"""How likely each label is, how many worlds predict it, what a random world looks like."""
