"""What a column holds and is for: statistics, forms, dates, roles, units, NULL."""
