"""`agro`: the data verbs, and later those that train, predict and ask."""

from __future__ import annotations

from agro_data.cli import data, run


def main() -> None:
    """Entry point of the distribution."""
    run(data)
