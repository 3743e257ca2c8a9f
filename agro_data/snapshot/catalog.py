"""A PostgreSQL server's catalog: columns, keys, checks and comments of the tables that the role may read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import psycopg

Kind = Literal["table", "view", "foreign table"]
_KINDS: dict[str, Kind] = {"r": "table", "p": "table", "v": "view", "m": "view", "f": "foreign table"}
_TABLES = """
SELECT c.oid, n.nspname, c.relname, c.relkind::text, row_security_active(c.oid),
       obj_description(c.oid, 'pg_class')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = ANY (%s) AND NOT c.relispartition
  AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
  AND NOT EXISTS (
    SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
ORDER BY n.nspname <> 'public', n.nspname, c.relname
"""  # neither partitions, whose rows their table gives, nor what belongs to an extension
_PARTS = """
SELECT inhrelid, min(inhparent::bigint) FROM pg_inherits
WHERE inhrelid = ANY (%s) AND inhparent = ANY (%s) AND NOT EXISTS (
  SELECT FROM pg_attribute a WHERE a.attrelid = inhrelid AND a.attnum > 0 AND NOT a.attisdropped AND a.attinhcount = 0)
GROUP BY inhrelid HAVING count(*) = 1
"""
_BELOW = """
WITH RECURSIVE below (domain, type, modifier) AS (
  SELECT oid, typbasetype, typtypmod FROM pg_type WHERE typtype = 'd'
  UNION ALL
  SELECT below.domain, t.typbasetype, t.typtypmod FROM below JOIN pg_type t ON t.oid = below.type WHERE t.typtype = 'd')
"""  # of each domain the types below it, the last of which is none
_COLUMNS = f"""
{_BELOW}
SELECT a.attrelid, a.attname, a.attnotnull,
       format_type(coalesce(below.type, a.atttypid), coalesce(below.modifier, a.atttypmod)),
       has_column_privilege(a.attrelid, a.attnum, 'SELECT'), col_description(a.attrelid, a.attnum)
FROM pg_attribute a
LEFT JOIN (below JOIN pg_type t ON t.oid = below.type AND t.typtype <> 'd') ON below.domain = a.atttypid
WHERE a.attrelid = ANY (%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attrelid, a.attnum
"""
_UNIQUE = """
SELECT i.indrelid, i.indisprimary, ARRAY(
         SELECT a.attname::text FROM unnest(i.indkey::int2[]) WITH ORDINALITY k(number, place)
         JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
         WHERE k.place <= i.indnkeyatts ORDER BY k.place)
FROM pg_index i
WHERE i.indrelid = ANY (%s) AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
ORDER BY i.indrelid, NOT i.indisprimary, i.indexrelid
"""
_FOREIGN = """
SELECT k.conrelid, k.confrelid, ARRAY(
         SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY c(number, place)
         JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = c.number ORDER BY c.place),
       ARRAY(
         SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY c(number, place)
         JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = c.number ORDER BY c.place)
FROM pg_constraint k
WHERE k.conrelid = ANY (%s) AND k.confrelid = ANY (%s) AND k.contype = 'f' AND k.convalidated
ORDER BY k.conrelid, k.conname
"""

_LABELS = f"""
{_BELOW}
SELECT a.attrelid, a.attname, array_agg(e.enumlabel::text ORDER BY e.enumsortorder)
FROM pg_attribute a LEFT JOIN below ON below.domain = a.atttypid
LEFT JOIN pg_type array_of ON array_of.oid IN (a.atttypid, below.type) AND array_of.typcategory = 'A'
JOIN pg_enum e ON e.enumtypid IN (a.atttypid, below.type, array_of.typelem)
WHERE a.attrelid = ANY (%s) AND a.attnum > 0 AND NOT a.attisdropped GROUP BY a.attrelid, a.attname
"""
_CHECKS = """
SELECT conrelid, pg_get_constraintdef(oid) FROM pg_constraint
WHERE conrelid = ANY (%s) AND contype = 'c' AND convalidated AND NOT connoinherit ORDER BY conrelid, conname
"""


@dataclass(frozen=True)
class Column:
    """`declared` is the type as PostgreSQL writes it; for a domain it is the type below all domains. `labels`: those of
    an enum, or of that of which it is an array, in its order."""

    name: str
    declared: str
    required: bool
    comment: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reference:
    """A foreign key; `table` is a place in the list of tables."""

    columns: tuple[str, ...]
    table: int
    ref_columns: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """`part_of`: place of the table from which it inherits all its columns, and which gives its rows as well.
    `filtered`: the role sees such rows as a policy lets it. `unreadable`: columns that it may not see. `checks`: its
    CHECK constraints as the server writes them. `alias`: its name in the file, where another table has its own."""

    schema: str
    name: str
    kind: Kind
    part_of: int | None
    filtered: bool
    comment: str
    columns: tuple[Column, ...]
    unreadable: tuple[str, ...]
    primary: tuple[str, ...]
    unique: tuple[tuple[str, ...], ...]
    references: tuple[Reference, ...]
    checks: tuple[str, ...] = ()
    alias: str = ""

    def __str__(self) -> str:
        return self.name if self.schema == "public" else f"{self.schema}.{self.name}"

    @property
    def kept(self) -> str:
        """Its name in the file, in which all tables are called without their schema."""
        return self.alias or self.name

    @property
    def names(self) -> frozenset[str]:
        """What a person may call it."""
        return frozenset((self.name, f"{self.schema}.{self.name}"))


def read_tables(connection: psycopg.Connection[Any]) -> list[Table]:
    """All tables and views but the system's, the schema `public` first."""
    found = connection.execute(_TABLES, [[*_KINDS]]).fetchall()
    oids = [oid for oid, *_ in found]
    place = {oid: number for number, oid in enumerate(oids)}
    parts = {oid: place[parent] for oid, parent in connection.execute(_PARTS, [oids, oids])}
    labels = {(oid, name): tuple(found) for oid, name, found in connection.execute(_LABELS, [oids])}
    columns: dict[int, list[Column]] = defaultdict(list)
    unreadable: dict[int, list[str]] = defaultdict(list)
    for oid, name, required, declared, readable, comment in connection.execute(_COLUMNS, [oids]):
        if readable:
            columns[oid].append(Column(name, declared, required, comment or "", labels.get((oid, name), ())))
        else:
            unreadable[oid].append(name)
    keys: dict[int, list[tuple[bool, tuple[str, ...]]]] = defaultdict(list)
    for oid, primary, names in connection.execute(_UNIQUE, [oids]):
        keys[oid].append((primary, tuple(names)))
    references: dict[int, list[Reference]] = defaultdict(list)
    for oid, parent, names, ref_names in connection.execute(_FOREIGN, [oids, oids]):
        references[oid].append(Reference(tuple(names), place[parent], tuple(ref_names)))
    checks: dict[int, list[str]] = defaultdict(list)
    for oid, definition in connection.execute(_CHECKS, [oids]):
        checks[oid].append(definition)
    return [
        Table(
            schema=schema,
            name=name,
            kind=_KINDS[kind],
            part_of=parts.get(oid),
            filtered=filtered,
            comment=comment or "",
            columns=tuple(columns[oid]),
            unreadable=tuple(unreadable[oid]),
            primary=next((names for primary, names in keys[oid] if primary), ()),
            unique=tuple(dict.fromkeys(names for primary, names in keys[oid] if not primary)),
            references=tuple(references[oid]),
            checks=tuple(checks[oid]),
        )
        for oid, schema, name, kind, filtered, comment in found
    ]
