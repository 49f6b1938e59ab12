"""What tests stand on: the oracles, random tables, and helpers that several files of tests share."""
