"""A diverse sample of the size asked for, under quotas.

Order of claims: (1) per database, the examples that a cover of its tables and columns needs; (2) for every
construct, a least number; (3) one of each template, the commonest first, with at most a share of the size;
(4) the rest by greedy k-center (Gonzalez 1985; core sets, 1708.00489) inside blocks of one database and one
hardness, cut along the constructs where a block is large. Databases share
the size evenly, and what one cannot fill goes to the others; within a database the hardness mix is fitted,
within a block the style mix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from agro_data.diversity.coverage import Radius, cover, coverage_radius
from agro_data.diversity.cutting import SHARES
from agro_data.diversity.embeddings import Embeddings, Vectors
from agro_data.diversity.quotas import Counts, fit_table, water_fill
from agro_data.diversity.rejection import in_order, seeded_order
from agro_data.focus import NO_CONSTRUCT
from agro_data.hashing import seed_of

HARDNESS_MIX = {"easy": 0.24, "medium": 0.38, "hard": 0.21, "extra": 0.17}  # near people's mix (Spider's train)
LARGEST_BLOCK = 20_000
TEMPLATE_SHARE = 0.15  # of the size that goes to templates which nothing else has brought in
_RADIUS_SAMPLE = 2_000

Rows = NDArray[np.int64]
Name = TypeVar("Name", str, tuple[str, str])


@dataclass(frozen=True)
class Quotas:
    """What a selection should look like.

    `hardness` and `styles` are relative weights (`styles` None: even). `construct_share` is the part of the
    size that every construct gets at least, where there are enough. `coverage` takes the cover of tables
    and columns first. `plausibility` (0 to 1) says how much the likeliness of a question counts beside its
    distance, and `constructs` and `columns` (weights of "db_id table.column") how much the row's own do, 1 where
    they are not named. Blocks of k-center have at most `block_rows` rows, which bounds time at rows * block_rows.
    """

    hardness: Mapping[str, float] = field(default_factory=lambda: dict(HARDNESS_MIX))
    styles: Mapping[str, float] | None = None
    construct_share: float = 0.005
    coverage: bool = True
    plausibility: float = 0.5
    block_rows: int = 2_000
    constructs: Mapping[str, float] = field(default_factory=dict)
    columns: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= self.block_rows <= LARGEST_BLOCK:
            raise ValueError(f"block_rows is {self.block_rows}: expected 1 to {LARGEST_BLOCK}")


@dataclass(frozen=True)
class Given:
    """One quota: how many were asked for, how many there were, how many were given."""

    kind: str  # "database", "split", "hardness", "construct", "style", "table", "column"
    name: str
    asked: int
    available: int
    given: int


@dataclass(frozen=True)
class SelectionReport:
    """`limiting` names in words what kept `given` below `asked`; empty when nothing did."""

    asked: int
    available: int
    given: int
    quotas: tuple[Given, ...]
    radius: Radius
    random_radius: Radius
    limiting: str = ""

    def of(self, kind: str) -> tuple[Given, ...]:
        return tuple(quota for quota in self.quotas if quota.kind == kind)


def select(
    frame: pl.DataFrame, embeddings: Embeddings, size: int, seed: int, quotas: Quotas | None = None
) -> tuple[pl.DataFrame, SelectionReport]:
    """min(`size`, rows) rows of `frame`, sorted by identity, and how they were shared out.

    `embeddings` has one row for each row of `frame`, in its order. Needs the columns candidate_id, db_id,
    hardness, constructs, tables, columns and plausibility, and style where questions have one.
    Rows that have a `split` already keep it, and every split gets its share of the size.
    """
    if size < 0:
        raise ValueError(f"size is {size}: expected 0 or more")
    if len(embeddings) != frame.height:
        raise ValueError(f"{len(embeddings)} embeddings for {frame.height} rows: give one for each row")
    quotas = quotas or Quotas()
    numbered = in_order(frame.with_row_index("_row"))
    vectors = embeddings.joined()[numbered["_row"].to_numpy().astype(np.int64)]
    pool = _Pool.of(numbered.drop("_row"), vectors, seed, quotas)
    shares = water_fill(size, pool.counts(pool.databases), pool.weights, order=pool.seeded_turn())
    chosen = np.zeros(len(pool), dtype=bool)
    if quotas.coverage:
        _take_cover(pool, shares, chosen)
    least = max(1, round(quotas.construct_share * size)) if size else 0
    _take_each(pool, shares, pool.constructs, chosen, least=least, most=size)
    _take_each(pool, shares, pool.templates, chosen, least=1, most=round(TEMPLATE_SHARE * size), common_first=True)
    _fill(pool, shares, quotas, chosen)
    rows = np.flatnonzero(chosen)
    given = (*_shares_given(pool, size, shares), *_mixes_given(pool, rows, size, quotas, least))
    limiting = _limiting(len(pool), size, given) if len(rows) < size else ""
    radius, at_random = _radii(pool, rows)
    report = SelectionReport(size, len(pool), len(rows), given, radius, at_random, limiting)
    return pool.frame[rows.tolist()], report


@dataclass(frozen=True, kw_only=True)
class _Pool:
    """Candidates in identity order, with their groups as whole numbers."""

    frame: pl.DataFrame
    vectors: Vectors
    seed: int
    homes: list[tuple[str, str]]  # (database, split), the groups that share the size; split "" before there is one
    databases: Rows  # place in `homes` of each row
    weights: NDArray[np.float64]  # of the homes
    style_names: list[str]
    styles: Rows
    constructs: list[list[str]]
    templates: list[list[str]]  # one for each row, none where it is not known
    plausibility: NDArray[np.float64]
    preference: list[float]  # plausibility, equal ones told apart by the seed
    needed: NDArray[np.float64]  # how much each row's constructs and columns are asked for, 1 without a focus

    @classmethod
    def of(cls, frame: pl.DataFrame, vectors: Vectors, seed: int, quotas: Quotas) -> _Pool:
        splits = frame["split"].to_list() if "split" in frame.columns else [""] * frame.height
        homes, databases = _codes(list(zip(frame["db_id"].to_list(), splits, strict=True)))
        weights = np.array([SHARES.get(split, 1.0) for _, split in homes])
        style = frame["style"].fill_null("").to_list() if "style" in frame.columns else [""] * frame.height
        style_names, styles = _codes(style)
        plausibility = frame["plausibility"].fill_null(0.0).to_numpy().astype(np.float64)
        jitter = seeded_order(frame, seed).to_numpy().astype(np.float64) / 2.0**63
        constructs = [list(dict.fromkeys(names or ())) for names in frame["constructs"].to_list()]
        template = frame["template"].to_list() if "template" in frame.columns else [None] * frame.height
        templates = [[text] if text else [] for text in template]
        return cls(
            frame=frame,
            vectors=vectors,
            seed=seed,
            homes=homes,
            databases=databases,
            weights=weights,
            style_names=style_names,
            styles=styles,
            constructs=constructs,
            templates=templates,
            plausibility=plausibility,
            preference=(plausibility + 1e-6 * jitter).tolist(),
            needed=_needed(frame, quotas),
        )

    def __len__(self) -> int:
        return self.frame.height

    def counts(self, codes: Rows, rows: Rows | None = None) -> Counts:
        picked = codes if rows is None else codes[rows]
        return np.bincount(picked, minlength=int(codes.max(initial=-1)) + 1).astype(np.int64)

    def seeded_turn(self) -> list[int]:
        """The homes in an order that the seed decides: whose turn it is when a fraction is rounded up."""
        return sorted(range(len(self.homes)), key=lambda place: seed_of(self.seed, "turn", *self.homes[place]))


def _needed(frame: pl.DataFrame, quotas: Quotas) -> NDArray[np.float64]:
    """The mean weight of a row's constructs, times the mean weight of its columns."""
    if not (quotas.constructs or quotas.columns):
        return np.ones(frame.height)

    def mean(weights: Mapping[str, float], names: Sequence[str]) -> float:
        return sum(weights.get(name, 1.0) for name in names) / len(names) if names else 1.0

    return np.array(
        [
            mean(quotas.constructs, constructs or (NO_CONSTRUCT,))
            * mean(quotas.columns, [f"{db_id} {column}" for column in columns or ()])
            for db_id, constructs, columns in frame.select("db_id", "constructs", "columns").iter_rows()
        ],
        dtype=np.float64,
    )


def _codes(values: list[Name]) -> tuple[list[Name], Rows]:
    names = sorted(set(values))
    place = {name: code for code, name in enumerate(names)}
    return names, np.array([place[value] for value in values], dtype=np.int64)


def _take_cover(pool: _Pool, shares: Counts, chosen: NDArray[np.bool_]) -> None:
    """Mark, database by database, the rows that cover its tables and columns, within the database's share."""
    tables, columns = pool.frame["tables"].to_list(), pool.frame["columns"].to_list()
    held = [
        tuple(dict.fromkeys([f"table {name}" for name in t or ()] + [f"column {name}" for name in c or ()]))
        for t, c in zip(tables, columns, strict=True)
    ]
    for code, rows in enumerate(_members(pool.databases, len(shares))):
        cover_rows = cover([held[r] for r in rows], [pool.preference[r] for r in rows], int(shares[code]))
        chosen[rows[cover_rows]] = True


def _take_each(
    pool: _Pool,
    shares: Counts,
    held: Sequence[Sequence[str]],
    chosen: NDArray[np.bool_],
    *,
    least: int,
    most: int,
    common_first: bool = False,
) -> None:
    """Mark rows until every name that rows hold has `least`, within the databases' shares and `most` rows in all.

    The rarest name comes first, unless `common_first`.
    """
    holders: dict[str, list[int]] = {}
    for row, names in enumerate(held):
        for name in names:
            holders.setdefault(name, []).append(row)
    used = pool.counts(pool.databases, np.flatnonzero(chosen))
    used = np.pad(used, (0, len(shares) - len(used)))
    sign = -1 if common_first else 1
    for name in sorted(holders, key=lambda name: (sign * len(holders[name]), name)):
        rows = holders[name]
        missing = min(least, len(rows)) - int(chosen[rows].sum())
        # The likeliest of each database first, then the second of each: no database serves a construct alone.
        turns: dict[int, int] = {}
        ranked: list[tuple[int, float, int]] = []
        for row in sorted((r for r in rows if not chosen[r]), key=lambda r: -pool.preference[r]):
            code = int(pool.databases[row])
            ranked.append((turns.get(code, 0), -pool.preference[row], row))
            turns[code] = turns.get(code, 0) + 1
        for _, _, row in sorted(ranked):
            if missing <= 0 or most <= 0:
                break
            if used[pool.databases[row]] < shares[pool.databases[row]]:
                chosen[row] = True
                used[pool.databases[row]] += 1
                missing -= 1
                most -= 1


def _fill(pool: _Pool, shares: Counts, quotas: Quotas, chosen: NDArray[np.bool_]) -> None:
    """Mark the rest, block by block, until every database has its share."""
    levels, hardness = _codes(pool.frame["hardness"].fill_null("").to_list())
    weight = np.array([quotas.hardness.get(level, 0.0) for level in levels])
    if weight.sum() <= 0:
        weight = np.ones(len(levels))
    cells = pool.databases * max(1, len(levels)) + hardness
    shape = (len(shares), len(levels))
    available = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape).astype(np.int64)
    taken = np.bincount(cells[chosen], minlength=shape[0] * shape[1]).reshape(shape).astype(np.int64)
    wanted = fit_table(shares, weight, taken, available).reshape(-1)
    for code, rows in enumerate(_members(cells, shape[0] * shape[1])):
        if wanted[code] <= chosen[rows].sum():
            continue
        blocks = _blocks(pool, rows, quotas.block_rows)
        sizes = np.array([len(block) for block in blocks], dtype=np.int64)
        floors = np.array([int(chosen[block].sum()) for block in blocks], dtype=np.int64)
        needed = np.array([float(pool.needed[block].sum()) for block in blocks])
        for block, k in zip(blocks, water_fill(int(wanted[code]), sizes, needed, floors), strict=True):
            _k_center(pool, block, int(k), quotas, chosen)


def _blocks(pool: _Pool, rows: Rows, at_most: int) -> list[Rows]:
    """`rows` in blocks of at most `at_most`; rows of the same constructs and template stand together."""
    if len(rows) <= at_most:
        return [rows]
    templates = pool.frame["template"].to_list() if "template" in pool.frame.columns else [""] * len(pool)
    alike = sorted(rows.tolist(), key=lambda row: (sorted(pool.constructs[row]), templates[row] or "", row))
    pieces = np.array_split(np.array(alike, dtype=np.int64), -(-len(alike) // at_most))
    return [np.sort(piece) for piece in pieces]


def _k_center(pool: _Pool, block: Rows, k: int, quotas: Quotas, chosen: NDArray[np.bool_]) -> None:
    """Mark rows of `block`, each the farthest from all chosen, until `k` of it are, styles in the mix."""
    taken = chosen[block].copy()
    if k <= taken.sum():
        return
    styles = pool.styles[block]
    kinds = len(pool.style_names)
    weight = None
    if quotas.styles is not None:
        weight = np.array([quotas.styles.get(name, 0.0) for name in pool.style_names])
    turn = np.array(
        [seed_of(pool.seed, "style", int(block[0]), name) for name in pool.style_names], dtype=np.int64
    ).argsort()
    have = np.bincount(styles[taken], minlength=kinds).astype(np.int64)
    room = water_fill(k, np.bincount(styles, minlength=kinds).astype(np.int64), weight, have, turn.tolist()) - have
    whole = pool.vectors[block].astype(np.float32)
    length = np.sqrt(np.einsum("ij,ij->i", whole, whole, dtype=np.float64))
    liking = 1.0 - quotas.plausibility + quotas.plausibility * np.clip(pool.plausibility[block], 0.0, 1.0)
    liking = liking * pool.needed[block]
    # Cosine distance to the nearest chosen row. Products are whole numbers, so this is the same on every
    # machine.
    distance = np.full(len(block), 2.0)
    newest = np.flatnonzero(taken)
    open_rows = ~taken & (room[styles] > 0)
    left = k - int(taken.sum())
    while True:
        if len(newest):
            product = (whole @ whole[newest].T).astype(np.float64)
            cosine = product / np.maximum(length[:, None] * length[newest], 1e-9)
            np.minimum(distance, 1.0 - cosine.max(axis=1), out=distance)
        if left == 0:
            break
        worth = np.where(open_rows, np.maximum(distance, 0.0) * liking, -1.0)
        pick = int(np.argmax(worth))
        chosen[block[pick]] = True
        open_rows[pick] = False
        room[styles[pick]] -= 1
        if room[styles[pick]] == 0:
            open_rows &= styles != styles[pick]
        newest = np.array([pick])
        left -= 1


def _members(codes: Rows, groups: int) -> list[Rows]:
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=groups))[:-1]) if groups else []


def _shares_given(pool: _Pool, size: int, shares: Counts) -> list[Given]:
    """Quotas of databases and, where there are any, of splits. Asked is the share if every home had enough."""
    plenty = [size] * len(shares)
    columns = (water_fill(size, plenty, pool.weights, order=pool.seeded_turn()), pool.counts(pool.databases), shares)
    given: list[Given] = []
    for kind, part in (("database", 0), ("split", 1)):
        names = [home[part] for home in pool.homes]
        for name in sorted(set(names) - {""}):
            places = [place for place, own in enumerate(names) if own == name]
            given.append(Given(kind, name, *(int(column[places].sum()) for column in columns)))
    return given


def _mixes_given(pool: _Pool, rows: Rows, size: int, quotas: Quotas, least: int) -> list[Given]:
    frame, selected = pool.frame, pool.frame[rows.tolist()]
    given: list[Given] = []
    mix = sum(quotas.hardness.values()) or 1.0
    hardness = dict(_tally(frame, selected, "hardness"))
    for name in sorted({*hardness, *quotas.hardness}):
        asked = round(size * quotas.hardness.get(name, 0.0) / mix)
        given.append(Given("hardness", name, asked, *hardness.get(name, (0, 0))))
    given += [Given("construct", name, least, *pair) for name, pair in _tally(frame, selected, "constructs")]
    if "style" in frame.columns:
        styles = _tally(frame, selected, "style")
        weights = quotas.styles or {name: 1.0 for name, _ in styles}
        scale = sum(weights.get(name, 0.0) for name, _ in styles) or 1.0
        for name, pair in styles:
            given.append(Given("style", name, round(size * weights.get(name, 0.0) / scale), *pair))
    for kind, column in (("table", "tables"), ("column", "columns")):
        everything = frame.select("db_id", column).explode(column).drop_nulls().unique().height
        used = selected.select("db_id", column).explode(column).drop_nulls().unique().height
        given.append(Given(kind, f"all {column} of the candidates", everything, everything, used))
    return given


def _limiting(available: int, size: int, given: tuple[Given, ...]) -> str:
    short = [quota for quota in given if quota.kind == "database" and quota.available < quota.asked]
    names = ", ".join(f"{quota.name} ({quota.available} of {quota.asked})" for quota in short[:10])
    more = f" and {len(short) - 10} more" if len(short) > 10 else ""
    return f"{available} candidates for {size} asked; databases with fewer than their share: {names}{more}"


def _radii(pool: _Pool, rows: Rows) -> tuple[Radius, Radius]:
    """Coverage radius of `rows` and of as many rows at random, over the same seeded sample."""
    generator = np.random.default_rng(seed_of(pool.seed, "radius"))
    sample = pool.vectors[np.sort(generator.permutation(len(pool))[:_RADIUS_SAMPLE])]
    at_random = pool.vectors[np.sort(generator.permutation(len(pool))[: len(rows)])]
    return coverage_radius(sample, pool.vectors[rows]), coverage_radius(sample, at_random)


def _tally(frame: pl.DataFrame, selected: pl.DataFrame, column: str) -> list[tuple[str, tuple[int, int]]]:
    """(name, (available, given)) for each value of `column`, by name; a list counts once for each value."""
    counts: list[dict[str, int]] = []
    for part in (frame, selected):
        values = part.select(column)
        if isinstance(part.schema[column], pl.List):
            values = part.select(pl.col(column).list.unique()).explode(column)
        tally = values.drop_nulls().group_by(column).len()
        counts.append(dict(tally.iter_rows()))
    return [(name, (counts[0][name], counts[1].get(name, 0))) for name in sorted(counts[0])]
