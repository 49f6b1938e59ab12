"""Any table in, codes out: sources, files, types, missing cells, bins, domains, points and edits."""
