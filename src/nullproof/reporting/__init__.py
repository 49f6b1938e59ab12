"""The report: a document of plain values, rendered as HTML and Markdown."""
