"""What the names of a query mean: the tables, columns and outputs that they stand for, by the engines' own rules."""
