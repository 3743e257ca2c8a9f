"""How rows refer to each other: declared and inferred keys, trees, versions of a thing."""
