"""How far the search for instances goes that tell golds from their mutants."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agro_data.verify.certificates.pool import BYTES, FILES, PER_GOLD, room


@dataclass(frozen=True)
class Budget:
    """How far a batch of golds may go. Counts, not seconds: the same golds get the same certificates everywhere.

    With `own`, each gold has up to so many instances that it shares with none, and nothing bounds the files of all.
    """

    own: int = 0
    tries: int = 3  # own instances proposed for each that is wanted: some will not be valid
    files: int = FILES
    bytes: int = BYTES
    homes: int = 4  # files that carry a gold's witness rows from the start
    group: int = 24  # golds whose witness rows share a file
    crowd: int = 150  # the same, at most, where golds are many: each file has a row for each of them in many tables
    few: int = 6  # the same for golds that a directed search is for
    rounds: int = 3  # of directed search
    searched: int = 4  # survivors of a gold that a round directs rows at
    apart: tuple[int, ...] = (0, 1, 2, 5)  # further rounds: which of the instances proposed for a gold and a survivor
    noise: int = 4  # rows of a table that no gold uses
    candidates: int = 16  # instances on which a gold is looked at closely
    enough: int = 3  # valid instances; a gold that has fewer of its own is also tried on other golds' instances

    def part(self, share: float) -> Budget:
        """One of `share` of the files and bytes."""
        return replace(self, files=max(int(self.files * share), 1), bytes=int(self.bytes * share))


def budget_of(tables: int) -> Budget:
    """What all golds of a database with so many tables have."""
    return Budget(bytes=room(tables))


DEDICATED = Budget(own=PER_GOLD)
