"""`semantics.yml`: what a person who knows a database writes beside it.

    domain: retail
    tables:
      orders:
        name: order                     # what one row is called; `plural` where the rules get it wrong
        description: An order of a customer.
        synonyms: [purchase]
        label: [order_number]           # columns that a person calls a row by
        kind: event                     # entity, event, bridge or lookup
        columns:
          status: {name: status, description: Where the order is, codes: {P: paid, S: shipped}}
          weight: {unit: kg, role: measure, synonyms: [mass]}
          margin: {hidden: true}        # never used, never shown; a table can be hidden too
    metrics:
      revenue: {table: items, sql: SUM(quantity * unit_price), definition: Revenue is quantity times unit price.}
    joins:
      - {from: orders.customer_id, to: customers.id, verb: placed by}
      - {from: [a.x, a.y], to: [b.x, b.y]}
      - {from: orders.ref, to: parts.ref, avoid: true}
    prior: {count: 2, window: 0}        # counts twice as often, no windows

What does not exist, or has the wrong type, becomes a problem that names file and key; the rest is used.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

import sqlglot
import yaml
from sqlglot import exp

from agro_data.databases.quoting import quoted
from agro_data.databases.types import Dialect
from agro_data.profiling.hidden.concealing import asked_about
from agro_data.profiling.hidden.private import private_columns
from agro_data.profiling.profile import DatabaseProfile, Metric, Role, TableProfile
from agro_data.profiling.side_files.imports import Schema, Speller
from agro_data.profiling.side_files.knowledge import (
    ColumnSemantics,
    JoinSemantics,
    Semantics,
    TableKind,
    TableSemantics,
)

SHAPES = (
    "list", "count", "aggregate", "group", "having", "superlative", "superlative_group", "extreme", "compare_average",
    "related_exists", "related_none", "set_operation", "top_per_group", "window", "self_join", "buckets",
    "arithmetic", "date_group", "compare_groups", "share", "text_function", "metric",
)  # fmt: skip
"""The shapes of `agro_data.intent.tree`, which stands above this package and is therefore not imported."""


def read_semantics_file(path: Path, schema: Schema, dialect: Dialect) -> Semantics:
    """The file as `Semantics`, with a problem for each thing in it that cannot be used. Never raises for content."""
    try:
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except (OSError, UnicodeDecodeError) as error:
        return Semantics(problems=(f"{path.name}: cannot be read: {error}; it is unused",))
    except (yaml.YAMLError, RecursionError) as error:
        reason = " ".join(str(error).split())
        return Semantics(problems=(f"{path.name}: is not valid YAML: {reason}; it is unused",))
    return _Reader(path.name, schema, dialect).semantics({} if document is None else document)


class _Loader(yaml.SafeLoader):
    """Leaves dates the texts that they are: a code may be `0000-00-00`, which is no day."""


def _as_written(loader: _Loader, node: yaml.ScalarNode) -> str:
    return str(loader.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _as_written)


class _Reader:
    """Walks the document, collecting problems by the key at which they stand."""

    def __init__(self, file: str, schema: Schema, dialect: Dialect) -> None:
        self._file, self._schema, self._dialect = file, schema, dialect
        self._speller = Speller(schema)
        self._problems: list[str] = []

    def semantics(self, document: Any) -> Semantics:
        top = self._mapping("", document, ("domain", "tables", "metrics", "joins", "prior"))
        tables = self._tables(top.get("tables"))
        hidden = {
            (table, column)
            for table, known in tables.items()
            for column in self._schema[table]
            if known.hidden or known.columns.get(column, ColumnSemantics()).hidden
        }
        return Semantics(
            domain=self._text("domain", top.get("domain")),
            tables=tables,
            metrics=self._metrics(top.get("metrics"), hidden),
            joins=self._joins(top.get("joins"), hidden),
            prior=self._prior(top.get("prior")),
            problems=tuple(self._problems),
        )

    # --- sections ---

    def _tables(self, raw: Any) -> dict[str, TableSemantics]:
        tables: dict[str, TableSemantics] = {}
        for name, body in self._mapping("tables", raw).items():
            table = self._speller.table(str(name))
            if table is None:
                self._unknown(f"tables.{name}", f"there is no table {name!r}", str(name), self._schema)
            else:
                tables[table] = self._table(table, body)
        return tables

    def _table(self, table: str, raw: Any) -> TableSemantics:
        at = f"tables.{table}"
        allowed = ("name", "plural", "description", "synonyms", "label", "kind", "hidden", "columns")
        body = self._mapping(at, raw, allowed)
        columns: dict[str, ColumnSemantics] = {}
        for name, column in self._mapping(f"{at}.columns", body.get("columns")).items():
            spelled = self._column(f"{at}.columns.{name}", table, str(name))
            if spelled is not None:
                columns[spelled] = self._column_semantics(f"{at}.columns.{spelled}", column)
        label = [self._column(f"{at}.label", table, name) for name in self._texts(f"{at}.label", body.get("label"))]
        kind: TableKind | None = self._choice(f"{at}.kind", body.get("kind"), get_args(TableKind))
        return TableSemantics(
            name=self._text(f"{at}.name", body.get("name")),
            plural=self._text(f"{at}.plural", body.get("plural")),
            description=self._text(f"{at}.description", body.get("description")),
            synonyms=self._texts(f"{at}.synonyms", body.get("synonyms")),
            label=tuple(name for name in label if name is not None),
            kind=kind,
            hidden=self._flag(f"{at}.hidden", body.get("hidden")),
            described=True,
            columns=columns,
        )

    def _column_semantics(self, at: str, raw: Any) -> ColumnSemantics:
        allowed = ("name", "description", "synonyms", "codes", "unit", "role", "hidden")
        body = self._mapping(at, raw, allowed)
        codes = self._mapping(f"{at}.codes", body.get("codes"))
        role: Role | None = self._choice(f"{at}.role", body.get("role"), get_args(Role))
        return ColumnSemantics(
            name=self._text(f"{at}.name", body.get("name")),
            description=self._text(f"{at}.description", body.get("description")),
            synonyms=self._texts(f"{at}.synonyms", body.get("synonyms")),
            codes=tuple((_yaml_text(value), _yaml_text(meaning)) for value, meaning in codes.items()),
            unit=self._text(f"{at}.unit", body.get("unit")),
            role=role,
            hidden=None if body.get("hidden") is None else self._flag(f"{at}.hidden", body.get("hidden")),
        )

    def _metrics(self, raw: Any, hidden: set[tuple[str, str]]) -> tuple[Metric, ...]:
        metrics: list[Metric] = []
        for name, spec in self._mapping("metrics", raw).items():
            at = f"metrics.{name}"
            body = self._mapping(at, spec, ("table", "sql", "definition", "synonyms"))
            given = self._text(f"{at}.table", body.get("table"))
            table = self._speller.table(given)
            if table is None:
                self._unknown(f"{at}.table", f"there is no table {given!r}", given, self._schema)
                continue
            sql = self._text(f"{at}.sql", body.get("sql"))
            fault = self._metric_fault(sql, table, hidden)
            if fault:
                self._problem(f"{at}.sql", f"{fault}; the metric is left out")
                continue
            definition = self._text(f"{at}.definition", body.get("definition"))
            synonyms = self._texts(f"{at}.synonyms", body.get("synonyms"))
            metrics.append(Metric(str(name), table, sql, definition, synonyms))
        return tuple(metrics)

    def _metric_fault(self, sql: str, table: str, hidden: set[tuple[str, str]]) -> str:
        """Why `sql` is no aggregate over visible columns of `table`, or ""."""
        try:
            tree = sqlglot.parse_one(f"SELECT {sql}", read=self._dialect)
        except (sqlglot.errors.SqlglotError, RecursionError) as error:
            return f"is not SQL: {str(error).splitlines()[0]}"
        if not isinstance(tree, exp.Select) or len(tree.expressions) != 1 or tree.find(exp.From, exp.Subquery):
            return "must be one expression without FROM, such as SUM(quantity * unit_price)"
        if tree.find(exp.AggFunc) is None:
            return "must aggregate, such as SUM(quantity * unit_price)"
        for column in tree.find_all(exp.Column):
            spelled = self._speller.column(table, column.name)
            if spelled is None or (column.table and column.table.casefold() != table.casefold()):
                return f"there is no column {column.sql()!r} in {table}{_close(column.name, self._schema[table])}"
            if (table, spelled) in hidden:
                return f"uses {table}.{spelled}, which is hidden"
        return ""

    def _joins(self, raw: Any, hidden: set[tuple[str, str]]) -> tuple[JoinSemantics, ...]:
        joins: list[JoinSemantics] = []
        if raw is not None and not isinstance(raw, list):
            self._problem("joins", "must be a list of {from: table.column, to: table.column}")
            return ()
        for number, spec in enumerate(raw or []):
            at = f"joins[{number}]"
            body = self._mapping(at, spec, ("from", "to", "verb", "avoid"))
            child, parent = self._ends(f"{at}.from", body.get("from")), self._ends(f"{at}.to", body.get("to"))
            if child is None or parent is None:
                continue
            if len(child[1]) != len(parent[1]):
                self._problem(at, "`from` and `to` must name equally many columns")
                continue
            verb, avoid = (
                self._text(f"{at}.verb", body.get("verb")),
                self._flag(f"{at}.avoid", body.get("avoid")),
            )
            taken = [one for end in (child, parent) for name in end[1] if (one := (end[0], name)) in hidden]
            if taken and not avoid:
                self._problem(at, f"uses {'.'.join(taken[0])}, which is hidden; the join is unused")
                continue
            joins.append(JoinSemantics(*child, *parent, verb=verb, avoid=avoid))
        return tuple(joins)

    def _ends(self, at: str, raw: Any) -> tuple[str, tuple[str, ...]] | None:
        """Table and columns of `table.column` or of a list of them; names may hold dots."""
        found: list[tuple[str, str]] = []
        for text in self._texts(at, raw):
            splits = [(text[:place], text[place + 1 :]) for place, sign in enumerate(text) if sign == "."]
            named = [
                (table, column)
                for left, right in splits
                if (table := self._speller.table(left)) and (column := self._speller.column(table, right))
            ]
            if not named:
                self._problem(at, f"there is no table.column {text!r}")
                return None
            found.append(named[0])
        if not found or len({table for table, _ in found}) != 1:
            self._problem(at, "must name one or more columns of one table, as table.column")
            return None
        return found[0][0], tuple(column for _, column in found)

    def _prior(self, raw: Any) -> tuple[tuple[str, float], ...]:
        weights: list[tuple[str, float]] = []
        for name, weight in self._mapping("prior", raw).items():
            if name not in SHAPES:
                self._unknown(f"prior.{name}", f"there is no shape {name!r}", str(name), SHAPES)
            elif isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < float("inf"):
                self._problem(f"prior.{name}", f"must be a number of 0 or more, not {weight!r}")
            else:
                weights.append((str(name), float(weight)))
        return tuple(weights)

    # --- values ---

    def _mapping(self, at: str, raw: Any, allowed: Iterable[str] | None = None) -> Mapping[Any, Any]:
        if raw is None:
            return {}
        if not isinstance(raw, dict):
            self._problem(at or "the document", f"must be a mapping of names, not {type(raw).__name__}")
            return {}
        if allowed is None:
            return raw
        names = list(allowed)
        for key in raw:
            if key not in names:
                self._unknown(f"{at}.{key}".lstrip("."), "unknown key", str(key), names)
        return {key: value for key, value in raw.items() if key in names}

    def _column(self, at: str, table: str, name: str) -> str | None:
        spelled = self._speller.column(table, name)
        if spelled is None:
            self._unknown(at, f"there is no column {name!r} in {table}", name, self._schema[table])
        return spelled

    def _text(self, at: str, raw: Any) -> str:
        if raw is None:
            return ""
        if isinstance(raw, dict | list):
            self._problem(at, f"must be text, not {type(raw).__name__}")
            return ""
        return _yaml_text(raw).strip()

    def _texts(self, at: str, raw: Any) -> tuple[str, ...]:
        items = raw if isinstance(raw, list) else [] if raw is None else [raw]
        return tuple(text for item in items if (text := self._text(at, item)))

    def _flag(self, at: str, raw: Any) -> bool:
        if raw is None or isinstance(raw, bool):
            return bool(raw)
        self._problem(at, f"must be true or false, not {raw!r}")
        return at.endswith("hidden")  # in doubt, what somebody meant to hide stays hidden

    def _choice(self, at: str, raw: Any, options: tuple[str, ...]) -> Any:
        if raw is None or raw in options:
            return raw
        self._problem(at, f"must be one of {', '.join(options)}, not {raw!r}")
        return None

    def _problem(self, at: str, reason: str) -> None:
        self._problems.append(f"{self._file}: {at}: {reason}")

    def _unknown(self, at: str, reason: str, name: str, known: Iterable[str]) -> None:
        self._problem(at, reason + _close(name, known))


def _yaml_text(value: Any) -> str:
    """A scalar as the database would write it: YAML reads `Y` and `no` as booleans only when unquoted."""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _close(name: str, known: Iterable[str]) -> str:
    options = {other.casefold(): other for other in known}
    near = difflib.get_close_matches(name.casefold(), options, n=1)
    return f"; did you mean {options[near[0]]!r}?" if near else ""


# --- a first file --------------------------------------------------------------------------------------------------


Guard = tuple[str, str]  # what the draft states of a column, and why
_HIDDEN = ", hidden: true"
_NOTHING: Mapping[tuple[str, str], bool] = {}


def draft_semantics(profile: DatabaseProfile, hiding: Mapping[tuple[str, str], bool] = _NOTHING) -> str:
    """A first `semantics.yml` for this database, commented, to be read and corrected by a person.

    It loads as it stands and changes nothing but what it states: names as they would be said, codes whose meaning is
    to be filled in, inferred joins to confirm, and private columns hidden. `hiding` is what a person says already of
    columns (table and name) and tables (""): whether they are hidden. That stays so.
    """
    guards = _draft_guards(profile, hiding)
    lines = [
        f"# What the schema of {_one_line(profile.db_id)} cannot say. Correct what is wrong, uncomment what is useful,",
        "# delete the rest. Names are as questions would say them now.",
        f"domain: {_quote(profile.domain)}  # for example retail, health care, logistics",
        "tables:",
    ]
    asked = asked_about(profile)
    for table in asked.tables:
        lines += _draft_table(table, guards)
        lines += [f"      {_quote(name)}: {{hidden: true}}" for name in _hidden_columns(table.name, hiding)]
    for name in dict.fromkeys(table for table, _ in hiding if table not in profile.by_name):
        columns = ", ".join(f"{_quote(column)}: {{hidden: true}}" for column in _hidden_columns(name, hiding))
        lines.append(f"  {_quote(name)}: {{{'hidden: true' if (name, '') in hiding else f'columns: {{{columns}}}'}}}")
    if aside := [_quote(table.name) for table in profile.tables if table.name not in asked.by_name]:
        lines.append(
            f"  # Views and a framework's own tables are asked about where they stand here: {', '.join(aside)}"
        )
    inferred = [key for key in profile.foreign_keys if not key.declared]
    lines.append("joins:  # `avoid: true` drops one that is wrong; `verb` says the relation, such as 'placed by'")
    for key in inferred:
        child = ", ".join(_quote(f"{key.table}.{column}") for column in key.columns)
        parent = ", ".join(_quote(f"{key.ref_table}.{column}") for column in key.ref_columns)
        lines.append(f"  # inferred from names and values, confidence {key.confidence:.2f}; uncomment to confirm")
        lines.append(f"  # - {{from: [{child}], to: [{parent}]}}")
    lines += [
        "metrics:  # named quantities; the definition becomes the evidence of a question",
        *_draft_metric(profile, guards),
        f"# prior: {{count: 2, window: 0}}  # twice as often, never; any of {', '.join(SHAPES)}",
    ]
    return "\n".join(lines) + "\n"


def _hidden_columns(table: str, hiding: Mapping[tuple[str, str], bool]) -> list[str]:
    return [name for (of, name), hidden in hiding.items() if of == table and name and hidden]


def _draft_guards(profile: DatabaseProfile, hiding: Mapping[tuple[str, str], bool]) -> dict[tuple[str, str], Guard]:
    """What is stated of columns that are private or let somebody in, and a remark that says why.

    What is shown by mistake cannot be taken back, and what is hidden by mistake costs a word: private columns are
    hidden, unless keys need them.
    """
    keys = {(key.table, name) for key in profile.foreign_keys for name in key.columns}
    keys |= {(key.ref_table, name) for key in profile.foreign_keys for name in key.ref_columns}
    keys |= {(table.name, name) for table in profile.tables for name in table.primary_key}
    guards = {
        (table.name, column.name): ("", "passwords, keys or the like: never asked for, unless hidden: false")
        for table in profile.tables
        for column in table.columns
        if column.hidden
    }
    for name, holds in private_columns(profile).items():
        if name in keys:
            guards[name] = ("", f"{holds}, and a key: hidden: true hides them, and the joins by them")
        else:
            guards[name] = (_HIDDEN, f"{holds}: hidden: false if questions may ask for them")
    meant = [place for place, hidden in hiding.items() if not hidden]
    return guards | dict.fromkeys(meant, (", hidden: false", "meant to be asked for"))


def _draft_table(table: TableProfile, guards: Mapping[tuple[str, str], Guard]) -> list[str]:
    lines = [
        f"  {_quote(table.name)}:",
        f"    name: {_quote(table.singular)}",
        f"    plural: {_quote(table.plural)}",
        f"    kind: {table.kind}  # entity, event, bridge or lookup",
        f"    description: {_quote(table.description)}",
        "    # hidden: true",
    ]
    shown = {column.name for column in table.columns if guards.get((table.name, column.name), ("",))[0] != _HIDDEN}
    if label := [_quote(name) for name in table.label_columns if name in shown]:
        lines.append(f"    label: [{', '.join(label)}]")
    lines.append("    columns:")
    for column in table.columns:
        stated, why = guards.get((table.name, column.name), ("", ""))
        said = f"name: {_quote(column.phrase)}, role: {column.role}{stated}"
        lines.append(f"      {_quote(column.name)}: {{{said}}}" + (f"  # {why}" if why else ""))
        coded = column.role in ("category", "boolean") and column.name in shown
        if coded and 0 < len(column.common) <= 12 and not column.codes:
            short = [value for value, _ in column.common if len(str(value)) <= 3]
            if len(short) == len(column.common):
                stubs = ", ".join(f"{_quote(str(value))}: ''" for value in sorted(map(str, short)))
                lines.append(f"        # codes: {{{stubs}}}")
    return lines


def _draft_metric(profile: DatabaseProfile, guards: Mapping[tuple[str, str], Guard]) -> list[str]:
    for table in profile.tables:
        for column in table.columns:
            if column.role == "measure" and (table.name, column.name) not in guards:
                name = f"total {column.phrase}"
                sql = f"SUM({quoted(column.name)})"
                return [f"  # {_quote(name)}: {{table: {_quote(table.name)}, sql: {_quote(sql)}, definition: ''}}"]
    return []


def _quote(text: str) -> str:
    """`text` as a double-quoted YAML scalar, which is also JSON."""
    return json.dumps(text, ensure_ascii=False)


def _one_line(text: str) -> str:
    return " ".join(text.split())
