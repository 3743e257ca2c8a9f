"""The base of errors that speak to a person. Imports nothing: every worker of the sandbox loads it."""

from __future__ import annotations


class InWords(Exception):
    """An error whose text is for a person: what is wrong, and what to do. A program that meets it says no more."""
