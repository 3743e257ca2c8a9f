"""Prompts: a file each, with the type of what fills it and a parser that has an answer to every reply."""
