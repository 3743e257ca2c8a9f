"""Verbs of `agro`, a file each: it parses, calls the library, prints, and ends with 0, 1 or 2."""
