"""Facts read from SQL text with sqlglot: what it names, what it is built of, and its canonical forms."""
