"""Train, validation and test, so that nothing learnt from one is asked in another.

With three groups of unlike databases or more, whole groups go to one split (DESIGN section 5). With fewer,
and for the commonest case of one database, splits are made by skeleton and marked `same-database`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import polars as pl

from agro_data.config import SplitBy
from agro_data.diversity.cutting import SHARES, Row, cut
from agro_data.diversity.normal_forms import literals, normal_question
from agro_data.diversity.rejection import in_order, sift
from agro_data.diversity.similarity import Sketch, clusters, sketch
from agro_data.hashing import seed_of

__all__ = [
    "Sketch",
    "SplitReport",
    "Splitted",
    "assign_splits",
    "leaks",
    "sketch",
    "split_method",
    "traits",
]

SAME_DATABASE = "same-database"


@dataclass(frozen=True)
class SplitReport:
    """How the splits were made: `method` "database" or "skeleton", rows of each split, and what it cost.

    `mark` is "same-database" where databases stand in several splits. `clusters` lists the groups of alike
    databases. `dropped` counts rows that would have joined two splits. `note` says what a person should know.
    """

    method: str
    counts: dict[str, int]
    mark: str = ""
    clusters: tuple[tuple[str, ...], ...] = ()
    dropped: int = 0
    note: str = ""
    databases: dict[str, str] = field(default_factory=dict)  # database -> split, when by database

    def of(self, frame: pl.DataFrame) -> SplitReport:
        """This report with the counts of `frame`, a part of the rows it was made for."""
        return replace(self, counts=_counts(frame))


class Splitted(NamedTuple):
    """`kept` is the input, sorted by identity, with a column `split`; `rejected` has `records.REJECTED`."""

    kept: pl.DataFrame
    rejected: pl.DataFrame
    report: SplitReport


def assign_splits(frame: pl.DataFrame, databases: Sequence[Sketch], seed: int, split_by: SplitBy = "auto") -> Splitted:
    """Give every row of `frame` a split, 80/10/10 by rows.

    `databases` are sketches of the databases; one that has none is like no other. By skeleton, rows that
    would let a skeleton, question or tuple of literals into two splits are dropped: give some spare rows,
    or split before the selection. Needs candidate_id, db_id, sql, skeleton, question and hardness.
    """
    frame = in_order(frame.drop("split", strict=False))
    groups = _alike(frame, databases)
    if split_method(frame, databases, split_by) == "database":
        return _by_database(frame, groups, seed)
    return _by_skeleton(frame, groups, seed)


def split_method(
    frame: pl.DataFrame, databases: Sequence[Sketch], split_by: SplitBy
) -> Literal["database", "skeleton"]:
    """How `assign_splits` would split `frame`: auto is by database from three groups of alike databases on."""
    if split_by not in ("auto", "database", "skeleton"):
        raise ValueError(f"split_by is {split_by!r}: expected 'auto', 'database' or 'skeleton'")
    if split_by == "auto":
        return "database" if len(_alike(frame, databases)) >= 3 else "skeleton"
    return split_by


def leaks(frame: pl.DataFrame) -> pl.DataFrame:
    """Skeletons, questions and literal tuples of `frame` that stand in more than one split: kind, key,
    splits.

    Empty for every frame that `assign_splits` made by skeleton.
    """
    places: dict[tuple[str, str], set[str]] = defaultdict(set)
    for said, split in zip(traits(frame), frame["split"].to_list(), strict=True):
        for trait in said:
            places[trait].add(split)
    found = [(*key, sorted(splits)) for key, splits in sorted(places.items()) if len(splits) > 1]
    schema = pl.Schema({"kind": pl.String(), "key": pl.String(), "splits": pl.List(pl.String())})
    return pl.DataFrame(found, schema=schema, orient="row")


def traits(frame: pl.DataFrame) -> list[tuple[tuple[str, str], ...]]:
    """The traits of each row that may be in no other split, where splits are by skeleton: (kind, key) of its skeleton,
    its question and its literals.
    """
    return [tuple((str(kind), str(key)) for kind, key in (("skeleton", row.group), *row.keys)) for row in _rows(frame)]


def _alike(frame: pl.DataFrame, databases: Sequence[Sketch]) -> list[list[str]]:
    known = {one.db_id: one for one in databases}
    present = sorted(set(frame["db_id"].to_list()))
    return clusters([known.get(db_id, Sketch(db_id)) for db_id in present])


def _by_database(frame: pl.DataFrame, groups: list[list[str]], seed: int) -> Splitted:
    rows = Counter(frame["db_id"].to_list())
    sizes = [(sum(rows[db_id] for db_id in group), group) for group in groups]
    sizes.sort(key=lambda one: (-one[0], seed_of(seed, *one[1])))
    given: Counter[str] = Counter()
    home: dict[str, str] = {}
    for place, (size, group) in enumerate(sizes):
        empty = [split for split in SHARES if not given[split]]
        # The last groups go where nothing is yet; else the split that stays least filled takes the group.
        choices = empty if len(sizes) - place <= len(empty) else list(SHARES)
        split = min(choices, key=lambda name: (given[name] + size) / SHARES[name])
        given[split] += size
        home |= dict.fromkeys(group, split)
    note = ""
    if len(groups) < 3:
        note = f"{len(groups)} groups of unlike databases make no three splits: split by skeleton instead"
    kept = frame.with_columns(pl.col("db_id").replace_strict(home, return_dtype=pl.String).alias("split"))
    report = SplitReport(
        "database", _counts(kept), clusters=_tuples(groups), note=note, databases=dict(sorted(home.items()))
    )
    return Splitted(kept, sift(kept.head(0), [], []).rejected, report)


def _by_skeleton(frame: pl.DataFrame, groups: list[list[str]], seed: int) -> Splitted:
    labels = cut(_rows(frame), seed)
    lost = [label is None for label in labels]
    detail = "its question or its literals stand in another split"
    sifted = sift(
        frame.with_columns(pl.Series("split", labels, dtype=pl.String)),
        ["split_leak" if gone else None for gone in lost],
        [detail if gone else None for gone in lost],
    )
    counts = _counts(sifted.kept)
    empty = [split for split in SHARES if not counts[split]]
    note = f"no rows for {' and '.join(empty)}: too few skeletons, or all share their literals" if empty else ""
    report = SplitReport("skeleton", counts, SAME_DATABASE, _tuples(groups), sum(lost), note)
    return Splitted(sifted.kept, sifted.rejected, report)


def _rows(frame: pl.DataFrame) -> list[Row]:
    columns = (frame[name].to_list() for name in ("skeleton", "question", "sql", "hardness"))
    return [
        Row(skeleton, (("question", normal_question(question)), *_literal_keys(sql)), hardness or "")
        for skeleton, question, sql, hardness in zip(*columns, strict=True)
    ]


def _literal_keys(sql: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The values of the statement in sorted order, with the numbers of LIMIT and without; none is no key."""
    everything = tuple(sorted(value.lower() for value in literals(sql)))
    of_data = tuple(sorted(value.lower() for value in literals(sql, limits=False)))
    # Both say "same literals" to somebody, and a statement with a LIMIT must not meet its twin without.
    return tuple(("literals", values) for values in dict.fromkeys((everything, of_data)) if values)


def _counts(frame: pl.DataFrame) -> dict[str, int]:
    counts = Counter(frame["split"].to_list())
    return {split: counts[split] for split in SHARES}


def _tuples(groups: list[list[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(group) for group in groups)
