"""Databases made from a schema and hints: the shipped samples, and surrogates that hold no value of a source."""
