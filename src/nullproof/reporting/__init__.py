"""The report: a document of plain values first, then HTML and Markdown of it."""
