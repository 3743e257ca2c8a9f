"""What a query means: a typed tree, sampled from a profile, rendered as SQL, as steps and as questions."""
