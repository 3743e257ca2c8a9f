"""Models compared with each other: how right their answers are, in figures, as a page."""
