"""Certificates: instances made for golds, on which each mutant is killed, proved equivalent, or survives."""
