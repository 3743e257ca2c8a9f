"""A schema as text for a prompt, under a token budget.

Styles: `ddl` is CREATE TABLE statements with comments; `compact` one line a table; `mschema` the M-Schema of
XiYan-SQL (2411.08599): columns with type, description and example values. When the budget is too small, examples go
first, then descriptions, then columns, then whole tables, each loss said in the text: those that a question's `Links`
want least; without links those that are no keys.

A model reads the texts it was trained on. `serialiser` names style and version for the manifests of corpora and
models, `check_serialiser` refuses another. Raise a style's version when the same profile gives another text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, get_args

from agro_data.databases.quoting import quoted, quoted_list
from agro_data.errors import InWords
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, ForeignKey, TableProfile
from agro_data.profiling.serialising.linking import Links, Name
from agro_data.sql.identifiers import spelled

Style = Literal["ddl", "compact", "mschema"]

STYLE: Style = "mschema"
VERSIONS: Mapping[Style, int] = {"ddl": 2, "compact": 4, "mschema": 2}
BUDGET = 4_000  # tokens

_EXAMPLES = 3
_LONG_EXAMPLE = 40
_LONGEST_TOKEN = 16  # characters: no schema's tokens are as long on the average, so that a longer text is not counted


class SerialiserMismatch(InWords, ValueError):
    """A text of another serialiser than the one that a corpus or a model was made with."""


@dataclass(frozen=True)
class SchemaText:
    """`columns` are those that stand in `text`, as (table, column)."""

    text: str
    columns: frozenset[Name]


@dataclass(frozen=True)
class _Detail:
    """The text for a column: for every column, or only for those of `only`."""

    examples: bool
    descriptions: bool
    only: Collection[Name] | None = None

    def of(self, name: Name) -> tuple[bool, bool]:
        said = self.only is None or name in self.only
        return self.examples and said, self.descriptions and said

    def table(self, table: TableProfile) -> str:
        """The text for a table."""
        said = self.descriptions and (self.only is None or any(name == table.name for name, _ in self.only))
        return _flat(table.description) if said else ""


def estimate_tokens(text: str) -> int:
    """Tokens of a schema text when no tokenizer is at hand: a third of its characters.

    Byte-pair vocabularies of 30,000 to 150,000 make three to four characters a token of identifiers and types.
    """
    return -(-len(text) // 3)


def serialiser(style: Style = STYLE) -> dict[str, str | int]:
    """What a manifest says of the serialiser."""
    return {"name": style, "version": VERSIONS[style]}


def check_serialiser(stored: object, style: Style | None = None, *, where: str) -> None:
    """Raise `SerialiserMismatch` unless `stored` (of a manifest) is what this code writes in `style`; without one, in
    the style that it names.

    `where` names the corpus or the model in the message.
    """
    named = stored.get("name") if isinstance(stored, Mapping) else None
    own: Style = next((known for known in VERSIONS if known == named), STYLE)
    wanted = own if style is None else style
    if stored != serialiser(wanted):
        said = f"{named} {stored.get('version')}" if isinstance(stored, Mapping) else "none"
        raise SerialiserMismatch(
            f"{where}: made with schema serialiser {said}, this is {wanted} {VERSIONS[wanted]}: a model reads only "
            "schemas written as it was trained. Use the version of agro-sql that made it, or make it again"
        )


def fit_schema(
    profile: DatabaseProfile,
    *,
    style: Style = STYLE,
    budget: int = BUDGET,
    tables: Sequence[str] | None = None,
    links: Links | None = None,
    count_tokens: Callable[[str], int] = estimate_tokens,
) -> SchemaText:
    """The schema of `tables` (all when None) in at most `budget` tokens, and the columns that it shows.

    With `links` (`linking.SchemaIndex.link`) what a question wants least is left out first, and examples of the
    columns it names are kept longest; keys that join the tables shown are always shown.
    Raises `ValueError` when there is no table, when not even one fits, or when `tables` names one that does not exist.
    """
    if style not in get_args(Style):
        raise ValueError(f"there is no schema style {style!r}; use {', '.join(get_args(Style))}")
    if profile.closed:
        raise ValueError(profile.closed)
    unknown = [name for name in tables or () if name not in profile.by_name]
    if unknown:
        raise ValueError(f"{profile.db_id}: there is no table {unknown[0]!r}")
    chosen = [table for table in profile.tables if tables is None or table.name in tables]
    details = _details(links)
    steps = _steps(profile, chosen, links)

    def first(count: int, detail: _Detail = details[-1]) -> SchemaText:
        """What the first `count` steps name, and the tables that have a part in it."""
        names = frozenset[Name]().union(*steps[:count])
        shown = {table for table, _ in names}
        left = [table for table in chosen if table.name in shown]
        return _render(profile, left, names, style, detail, omitted=len(chosen) - len(left))

    def fits(count: int) -> bool:
        text = first(count).text
        return len(text) <= _LONGEST_TOKEN * budget and count_tokens(text) <= budget

    fitting = _most(len(steps), fits)
    if not fitting:
        raise ValueError(f"{profile.db_id}: no table fits into {budget} tokens; give a larger budget")
    if fitting == len(steps):
        for detail in details[:-1]:
            found = first(fitting, detail)
            if count_tokens(found.text) <= budget:
                return found
    return first(fitting)


def _steps(profile: DatabaseProfile, chosen: Sequence[TableProfile], links: Links | None) -> list[frozenset[Name]]:
    """Columns in the order in which they are taken: by `links`, else the keys of the best linked tables, then the rest.

    A table without columns of its own would have nothing to show, so keys come first.
    """
    every = {(table.name, column.name) for table in chosen for column in table.columns}
    if links is not None:
        return [frozenset([name]) for name in links.ranked if name in every]
    order = sorted(chosen, key=lambda table: (-_links(profile, table.name), table.name))
    keys = [frozenset((table.name, name) for name in _key_of(table)) for table in order]
    return [*keys, frozenset(every)]


def _most(count: int, fits: Callable[[int], bool]) -> int:
    """`count` if all fits, else the largest number that does, 0 if not even 1 does; small ones first: they are cheap.

    All is tried by itself, since a part says what it leaves out and may take more.
    """
    if count and fits(count):
        return count
    low, high = 0, 1
    while high < count and fits(high):
        low, high = high, min(count, 4 * high)
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low


def _details(links: Links | None) -> tuple[_Detail, ...]:
    whole = (_Detail(examples=True, descriptions=True), _Detail(examples=False, descriptions=True))
    if links is None:
        return (*whole, _Detail(examples=False, descriptions=False))
    return (*whole, _Detail(examples=True, descriptions=True, only=links.matched))


def _links(profile: DatabaseProfile, table: str) -> int:
    return sum(table in (key.table, key.ref_table) for key in profile.foreign_keys)


def _key_of(table: TableProfile) -> tuple[str, ...]:
    return table.primary_key or tuple(column.name for column in table.columns[:1])


def _render(
    profile: DatabaseProfile,
    tables: Sequence[TableProfile],
    wanted: Collection[Name],
    style: Style,
    detail: _Detail,
    omitted: int = 0,
) -> SchemaText:
    """`tables` with the columns that are wanted, and the keys between them."""
    names = {table.name for table in tables}
    keys = [key for key in profile.foreign_keys if key.table in names and key.ref_table in names]
    linked = {(key.table, column) for key in keys for column in key.columns}
    linked |= {(key.ref_table, column) for key in keys for column in key.ref_columns}
    linked |= {(table.name, column) for table in tables for column in table.primary_key}
    render = {"ddl": _ddl, "compact": _compact, "mschema": _mschema}[style]
    parts: list[str] = [f"[DB_ID] {profile.db_id}"] if style == "mschema" else []
    shown: list[Name] = []
    for table in tables:
        columns = [c for c in table.columns if (table.name, c.name) in wanted or (table.name, c.name) in linked]
        shown += [(table.name, column.name) for column in columns]
        missing = len(table.columns) - len(columns)
        parts.append(render(profile, table, columns, [key for key in keys if key.table == table.name], missing, detail))
    apart = [key for key in keys if style == "mschema" or (style == "compact" and len(key.columns) > 1)]
    if apart:
        parts.append("\n".join(["[Foreign keys]", *map(_key_line, apart)]))
    if omitted:
        parts.append(f"-- {omitted} more tables are not shown")
    return SchemaText(("\n" if style == "compact" else "\n\n").join(parts) + "\n", frozenset(shown))


def _ddl(
    _profile: DatabaseProfile,
    table: TableProfile,
    columns: Sequence[ColumnProfile],
    keys: Sequence[ForeignKey],
    missing: int,
    detail: _Detail,
) -> str:
    entries = [
        (f"{quoted(column.name)} {column.declared_type}".rstrip(), _note(table, column, detail)) for column in columns
    ]
    if table.primary_key:
        entries.append((f"PRIMARY KEY ({quoted_list(table.primary_key)})", ""))
    entries += [
        (
            f"FOREIGN KEY ({quoted_list(key.columns)}) "
            f"REFERENCES {quoted(key.ref_table)} ({quoted_list(key.ref_columns)})",
            "" if key.declared else "inferred",
        )
        for key in keys
    ]
    lines = [
        f"  {text}{',' if place < len(entries) else ''}{f'  -- {note}' if note else ''}"
        for place, (text, note) in enumerate(entries, start=1)
    ]
    head = [f"-- {said}"] if (said := detail.table(table)) else []
    more = [f"  -- {missing} more columns are not shown"] if missing else []
    kind = "VIEW" if table.is_view else "TABLE"
    return "\n".join([*head, f"CREATE {kind} {quoted(table.name)} (", *lines, *more, ");"])


def _compact(
    profile: DatabaseProfile,
    table: TableProfile,
    columns: Sequence[ColumnProfile],
    keys: Sequence[ForeignKey],
    missing: int,
    _detail: _Detail,
) -> str:
    """` visit( id*, pet_id> pet, cost)`: a star marks the primary key, `>` what a column refers to: a table's primary
    key, unless another column is named.

    A space stands before every name, as one does where it is written again: tokenizers write `stadium` in other tokens
    behind a space than behind a bracket or a line break, and a small model copies tokens (docs/experiments.md, E11).
    """
    refers = {key.columns[0]: key for key in reversed(keys) if len(key.columns) == 1}
    named = [
        spelled(column.name)
        + ("*" if column.name in table.primary_key else "")
        + (_target(profile, key) if (key := refers.get(column.name)) else "")
        for column in columns
    ]
    return f" {spelled(table.name)}( {', '.join([*named, *([f'... {missing} more'] if missing else [])])})"


def _target(profile: DatabaseProfile, key: ForeignKey) -> str:
    whole = profile.table(key.ref_table).primary_key == key.ref_columns
    return f"> {spelled(key.ref_table)}" + ("" if whole else f".{spelled(key.ref_columns[0])}")


def _mschema(
    _profile: DatabaseProfile,
    table: TableProfile,
    columns: Sequence[ColumnProfile],
    _keys: Sequence[ForeignKey],
    missing: int,
    detail: _Detail,
) -> str:
    head = f"# Table: {table.name}" + (f", {said}" if (said := detail.table(table)) else "")
    lines = [
        ", ".join(
            part
            for part in (
                f"({column.name}:{column.declared_type.upper() or 'ANY'}",
                "Primary Key" if column.name in table.primary_key else "",
                _note(table, column, detail),
            )
            if part
        )
        + ")"
        for column in columns
    ]
    more = [f"... {missing} more columns"] if missing else []
    return "\n".join([head, "[", ",\n".join([*lines, *more]), "]"])


def _note(table: TableProfile, column: ColumnProfile, detail: _Detail) -> str:
    examples, descriptions = detail.of((table.name, column.name))
    parts = [_flat(column.description)] if descriptions and column.description else []
    if descriptions and column.codes:
        parts.append("; ".join(f"{value} = {_flat(meaning)}" for value, meaning in column.codes))
    if examples:
        short = (_flat(str(value)) for value, _ in column.common if len(str(value)) <= _LONG_EXAMPLE)
        if shown := list(islice(short, _EXAMPLES)):
            parts.append(f"Examples: [{', '.join(shown)}]")
    return ", ".join(parts)


def _key_line(key: ForeignKey) -> str:
    pairs = zip(key.columns, key.ref_columns, strict=True)
    return " AND ".join(f"{key.table}.{child}={key.ref_table}.{parent}" for child, parent in pairs)


def _flat(text: str) -> str:
    """One line, whatever the text holds: a line break would end a comment."""
    return " ".join(text.split())
