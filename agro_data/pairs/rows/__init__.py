"""Which rows an answer is made of: joins that repeat or lose them, DISTINCT, groups that are counted."""
