"""Whether SQL and its answer can be trusted: gate, execution, chance, information, equivalence of results."""
