"""A corpus version on databases that have changed: which examples still hold, which can follow, which are broken."""
