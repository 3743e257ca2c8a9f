"""SQL that can be written in several ways, and in several engines' words, in the one that the rest reads."""
