"""The question's words against the SQL: numbers, bounds, extremes, what is left out."""
