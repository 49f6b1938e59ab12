"""From coded columns to counts: in memory, in a database, kept on disk, revised."""
