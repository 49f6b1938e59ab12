"""What the test of all ways in is made of: a plain counter, nasty tables, and the ways."""
