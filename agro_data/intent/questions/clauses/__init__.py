"""What is said of things: conditions, expressions, values, orders."""
