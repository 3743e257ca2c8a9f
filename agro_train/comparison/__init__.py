"""Models held against each other: what their answers are worth, in figures, as a page."""
