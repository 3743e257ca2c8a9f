"""Whether SQL and its answer can be trusted: gate, execution, determinism, information, equivalence of results."""
