"""Parts of a schema to ask about: tables that can be joined, and a window of their columns (SING-SQL, 2509.25672).

Every part has a column whose turn it is: the one that had the fewest turns, and of these the one that was shown least.
So every table and column of a database gets asked about before any is asked about again (the balancing of SING-SQL).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from agro_data.intent.sampling.atlas import Atlas
from agro_data.profiling.profile import DatabaseProfile

TABLES = ((1, 0.3), (2, 0.4), (3, 0.2), (4, 0.1))  # how many tables a part has, and how often
WINDOW = 5  # columns of a table in a part, beside its keys


@dataclass(frozen=True)
class SubSchema:
    """`target` is the (table, column) whose turn it is; `profile` knows the part and nothing else."""

    target: tuple[str, str]
    profile: DatabaseProfile

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(table.name for table in self.profile.tables)


def subschemas(atlas: Atlas, seed: int) -> Iterator[SubSchema]:
    """Parts of the database without end, the same for the same arguments; nothing where no table has rows."""
    rng = Random(seed)
    uses: Counter[tuple[str, str]] = Counter()  # how often a column was shown
    turns: Counter[tuple[str, str]] = Counter()

    def behind(target: tuple[str, str]) -> tuple[int, int]:
        return turns[target], uses[target]

    while atlas.targets:
        least = min(map(behind, atlas.targets))
        target = rng.choice([target for target in atlas.targets if behind(target) == least])
        turns[target] += 1
        size = rng.choices([count for count, _ in TABLES], [weight for _, weight in TABLES])[0]
        part = SubSchema(target, _cut(atlas, _joinable(atlas, target[0], size, rng), target, uses))
        uses.update((table.name, column.name) for table in part.profile.tables for column in table.columns)
        yield part


def _joinable(atlas: Atlas, start: str, size: int, rng: Random) -> list[str]:
    """Up to `size` tables that hang together by foreign keys."""
    chosen = [start]
    while len(chosen) < size:
        near = sorted(
            {edge.parent for name in chosen for edge in atlas.up[name]}
            | {edge.child for name in chosen for edge in atlas.down[name]}
        )
        further = [name for name in near if name not in chosen]
        if not further:
            break
        chosen.append(rng.choice(further))
    return chosen


def _cut(atlas: Atlas, names: list[str], target: tuple[str, str], uses: Counter[tuple[str, str]]) -> DatabaseProfile:
    """The profile of these tables with their keys, the target, and the columns that were shown least."""
    profile = atlas.profile
    keys = tuple(key for key in profile.foreign_keys if key.table in names and key.ref_table in names)
    needed = {(key.table, column) for key in keys for column in key.columns}
    needed |= {(key.ref_table, column) for key in keys for column in key.ref_columns} | {target}
    tables = []
    for table in profile.tables:
        if table.name not in names:
            continue
        kept = {name for owner, name in needed if owner == table.name} | set(table.primary_key)
        rest = sorted(
            (uses[table.name, column.name], place, column.name)
            for place, column in enumerate(table.columns)
            if column.name not in kept
        )
        kept |= {name for _, _, name in rest[:WINDOW]}
        columns = tuple(column for column in table.columns if column.name in kept)
        tables.append(replace(table, columns=columns, sample_rows=()))
    return replace(profile, tables=tuple(tables), foreign_keys=keys, metrics=())
