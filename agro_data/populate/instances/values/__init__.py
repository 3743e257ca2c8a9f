"""Values of one column: near a literal, of a form, computed from, and drawn."""
