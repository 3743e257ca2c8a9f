"""A causal language model: loaded, given tokens, read with its prompt shared, and whether training moved it."""
