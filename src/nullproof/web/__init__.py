"""The page: a local server that shows reports and answers questions; it computes nothing itself."""
