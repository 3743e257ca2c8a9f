"""Foreign keys: declared ones made whole, undeclared ones inferred from names, types and values.

Names alone propose, values dispose: small integers are contained in every other id column, so containment
without a matching name proves nothing. Where a table declares no key, as no file of CSV or Parquet does, a column that
tells its rows apart may be referred to by columns of its name whose values it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agro_data.profiling.columns.statistics import rounded
from agro_data.profiling.names.words import singular_word, starts_with
from agro_data.profiling.profile import ForeignKey

_GENERIC = frozenset(
    {("id",), ("name",), ("code",), ("number",), ("key",), ("title",), ("type",), ("year",), ("date",)}
)
_KEYED = frozenset({"id", "code", "number", "key", "ssn"})
_SELF = frozenset(
    {
        "manager",
        "parent",
        "supervisor",
        "boss",
        "reports",
        "mentor",
        "previous",
        "next",
        "super",
        "leader",
        "advisor",
    }
)
_NO_VALUES = 0.7  # factor on a name's score when there are no values to confirm it
_LEAST = 0.6  # confidence below which nothing is inferred
_ORPHANS = 0.05  # largest share of orphans an inferred key may have
_SOME_ORPHANS = 0.2  # the same where many texts are found, which is no chance: planes that no register lists
_MANY = 50  # texts
_ALIKE = 0.85  # confidence where columns have one name and one holds the other's values
_FEWEST = 3  # distinct values that are then to be found


@dataclass(frozen=True)
class KeyTable:
    """What key inference needs of a table: its words, columns as words, and its keys of one column."""

    name: str
    words: list[str]  # singular noun: ["order", "item"]
    columns: Mapping[str, list[str]]  # expanded words of each column, as spelled in the database
    primary_key: tuple[str, ...]
    unique: tuple[str, ...]  # columns that are a key alone, the primary key first
    texts: frozenset[str] = frozenset()  # columns declared as text
    keyless: bool = False  # a table that declares no key: any column may be one


@dataclass(frozen=True)
class Proposal:
    """A possible reference, `score` in (0, 1] from names alone, or what `by_values` would make of it."""

    table: str
    column: str
    ref_table: str
    ref_column: str
    score: float
    by_values: bool = False


@dataclass(frozen=True)
class Containment:
    """How well a parent column holds a child's values: distinct ones compared, share of rows without a parent."""

    distinct: int
    orphan_share: float
    found: int = 0  # of the distinct ones


def propose(tables: list[KeyTable], taken: frozenset[tuple[str, str]]) -> list[Proposal]:
    """References that names suggest, best first; `taken` holds (table, column) pairs that already refer."""
    called: dict[tuple[str, ...], list[tuple[int, str]]] = {}  # by the end of what refers to them
    for place, parent in enumerate(tables):
        for key in parent.unique:
            for tail in {_tail(words) for words in _references(parent, key)}:
                called.setdefault(tail, []).append((place, key))
    proposals = [
        Proposal(child.name, column, tables[parent].name, key, score)
        for place, child in enumerate(tables)
        for column, words in child.columns.items()
        if (child.name, column) not in taken
        for parent, key in {
            *called.get(_tail(words), ()),
            *called.get(_tail(words[-1:]), ()),
            *((place, key) for key in child.unique),
        }
        if (parent, key) != (place, column) and (score := name_score(child, column, words, tables[parent], key)) > 0
    ]
    return sorted(proposals, key=lambda p: (-p.score, p.table, p.column, p.ref_table, p.ref_column))


def propose_by_values(tables: list[KeyTable], taken: frozenset[tuple[str, str]]) -> list[Proposal]:
    """References to columns that may be keys of tables that declare none, for values to confirm.

    Both columns have one name, and the parent's has two of three: it stands first, is named as keys are, both hold
    texts.
    """
    children: dict[tuple[str, ...], list[tuple[KeyTable, str]]] = {}
    for table in tables:
        for column, words in table.columns.items():
            if (table.name, column) not in taken and tuple(words) not in _GENERIC:
                children.setdefault(tuple(words), []).append((table, column))
    return [
        Proposal(child.name, column, parent.name, key, _ALIKE, by_values=True)
        for parent in tables
        if parent.keyless
        for place, (key, words) in enumerate(parent.columns.items())
        if (more := 2 - (place == 0) - (words[-1] in _KEYED)) <= (key in parent.texts)  # else no child is looked at
        for child, column in children.get(tuple(words), ())
        if child is not parent and (more <= 0 or column in child.texts)
    ]


def name_score(child: KeyTable, column: str, words: list[str], parent: KeyTable, key: str) -> float:
    """How strongly the names say that `child.column` refers to `parent.key`; 0 when they do not."""
    target = parent.columns[key]
    primary = parent.primary_key == (key,)
    own_key = child.primary_key == (column,)
    if child is parent:
        marked = bool(_SELF & set(words))
        return 0.7 if marked and primary and not own_key and _ends(words, target[-1:]) else 0.0
    if own_key and not (starts_with(words, parent.words) and not starts_with(words, child.words)):
        return 0.0  # a table's own key refers only when it is named after the other table
    full, short = _after(parent.words, target), _after(parent.words[-1:], target)
    same = words == target and tuple(target) not in _GENERIC
    named = target[-1] in _KEYED
    forms = (  # of a reference to "order item" by "id"; how sure it is where that is the primary key, and where not
        (words == full, 0.95, 0.8),  # "order item id"
        (same and target == short, 0.9, 0.6),  # "item id", as the key itself is called
        (same, 0.65, 0.6),  # any other name that the key has, too
        (words == short and named, 0.8, 0.65),  # "item id", of a key that is called "id" alone
        (_ends(words, full) and named, 0.85, 0.65),  # "first order item id"
        (words == parent.words, 0.75, 0.0),  # the singular, "order item": "order items" would count them
        (words == target[:-1] and named, 0.75, 0.0),  # the same where the key says more: "item" of "item number"
        (_ends(words, target) and named and tuple(target) not in _GENERIC, 0.75, 0.0),  # "first", before the key's name
        (len(words) > 1 and words[1:] == parent.words, 0.65, 0.0),  # "first order item"
    )
    return next((sure if primary else less for fits, sure, less in forms if fits), 0.0)


def _references(parent: KeyTable, key: str) -> list[list[str]]:
    """What columns that refer to `parent.key` are called, or what stands at the end of their names, to `name_score`."""
    target = parent.columns[key]
    own = [] if tuple(target) in _GENERIC else [target]
    return [_after(parent.words, target), _after(parent.words[-1:], target), *own, target[:-1], parent.words]


def _tail(words: list[str]) -> tuple[str, ...]:
    return tuple(map(singular_word, words[-2:]))


def _after(noun: list[str], key: list[str]) -> list[str]:
    """A key's name with the noun of its table before it, once."""
    return key if starts_with(key, noun) else [*noun, *key]


def infer(
    proposals: list[Proposal],
    kinds: Mapping[tuple[str, str], str],
    contain: Callable[[Proposal], Containment],
) -> list[ForeignKey]:
    """At most one reference for each child column: the best that types allow and values confirm."""
    found: dict[tuple[str, str], ForeignKey] = {}
    for proposal in proposals:
        child, parent = (proposal.table, proposal.column), (proposal.ref_table, proposal.ref_column)
        known = found.get(child)
        if known is not None and known.confidence >= proposal.score:
            continue
        if kinds[child] != kinds[parent] or kinds[child] in ("blob", "other", "boolean", "real"):
            continue
        values = contain(proposal)
        telling = kinds[child] == "text" and values.found >= _MANY
        if values.distinct and values.orphan_share > (_SOME_ORPHANS if telling else _ORPHANS):
            continue
        if proposal.by_values and values.found < _FEWEST:
            continue
        confidence = proposal.score * (1 if proposal.by_values else 1 - values.orphan_share)
        confidence *= 1 if values.distinct else _NO_VALUES
        if confidence >= _LEAST and (known is None or confidence > known.confidence):
            found[child] = ForeignKey(
                table=proposal.table,
                columns=(proposal.column,),
                ref_table=proposal.ref_table,
                ref_columns=(proposal.ref_column,),
                declared=False,
                confidence=round(min(confidence, 0.99), 3),
                orphan_share=rounded(values.orphan_share),
            )
    return _without_circles(sorted(found.values(), key=lambda key: (key.table, key.columns)))


def _without_circles(keys: list[ForeignKey]) -> list[ForeignKey]:
    """If two inferred keys point at each other's columns, only the surer one."""
    by_ends = {(key.table, key.columns, key.ref_table, key.ref_columns): key for key in keys}
    return [
        key
        for key in keys
        if (back := by_ends.get((key.ref_table, key.ref_columns, key.table, key.columns))) is None
        or (key.confidence, back.table) > (back.confidence, key.table)
    ]


def _ends(words: list[str], suffix: list[str]) -> bool:
    return len(words) > len(suffix) > 0 and starts_with(words[len(words) - len(suffix) :], suffix)
