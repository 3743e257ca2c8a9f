"""Does the question say what the SQL does? Independent solvers, a judge where they diverge, and what is made anew."""
