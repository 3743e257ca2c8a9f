"""Decoding that is held to the names of a schema: what a query in the making may still name."""
