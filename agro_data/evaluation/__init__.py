"""Questions, gold SQL and predictions that others made: loaded, scored, reported."""
