"""Corpus versions: written whole, read back, described, drawn and explained."""
