"""Values that a query compares, against those that the data hold: their forms, sizes, and NULL."""
