"""Spider's exact set match: the official grammar, and the comparison of its components."""
