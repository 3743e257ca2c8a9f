"""What an engine tells of tables: columns, constraints, collations, formulas."""
