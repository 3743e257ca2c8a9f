"""What the engine says of a gold statement: does it run, does its answer mean something, does chance decide it, and
does each of its parts matter on this data?
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Dialect, Result
from agro_data.pairs.execution.other_engines import with_our_sql
from agro_data.pairs.finding import Finding
from agro_data.pairs.mending import linked, renamed, settled
from agro_data.populate.instances import instance_schema
from agro_data.populate.schema import Schema as Keys
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.constructs import is_aggregate
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.resolution import Resolution, value_of
from agro_data.sql.names.scope import Schema, resolve
from agro_data.sql.parse import SqlRefused, parse_select
from agro_data.sql.walks import leftmost
from agro_data.verify.chance.judging import CUT
from agro_data.verify.check import StatementVerdict, verify_statements
from agro_data.verify.difference import first_difference
from agro_data.verify.edits import Change, edited, swap
from agro_data.verify.execution import execute, failure
from agro_data.verify.informative import Variant, drop_variants
from agro_data.verify.proofs import proved_equivalent
from agro_data.words import capital

_GATE = {
    "syntax": "syntax",
    "not_select": "not_a_query",
    "multiple_statements": "not_a_query",
    "forbidden_function": "not_a_query",
    "unknown_table": "unknown_name",
    "unknown_column": "unknown_name",
    "ambiguous_column": "unknown_name",
    "too_long": "over_limit",
    "not_deterministic_function": "reads_clock",
}
_RAN = {
    "execution_error": "does_not_run",
    "timeout": "over_limit",
    "too_large": "over_limit",
    "crashed": "over_limit",
    "empty": "empty",
    "null_only": "null_only",
    "unordered_limit": "unordered_limit",
    "unordered_window": "unordered_rows",
    "unordered_aggregate": "unordered_rows",
    "bare_column": "bare_column",
    "scalar_rows": "scalar_rows",
    "row_order": "row_order",
    "undecided": "not_analysed",
}
_SEVERAL = " If each is a right answer, give them as a list in place of the text (in CSV as JSON)."
_MISSING = re.compile(r"Required keyword: '\w+' missing for <class '[\w.]+'>")  # as sqlglot says it
UNTESTED = "untested_"  # and the part: idle on this data, not proved to be so on any
_PARTS = {"WHERE": "predicate", "HAVING": "predicate", "QUALIFY": "predicate", "ON": "predicate"}


def examine(
    database: Database,
    profile: DatabaseProfile,
    statements: Sequence[str],
    sandbox: Sandbox,
    shuffled: Database | None,
) -> tuple[dict[str, list[Finding]], dict[str, Result], dict[str, Resolution]]:
    """Findings, results and resolved names of each distinct statement; statements that do not run have no results."""
    schema = profile.schema
    verdicts = dict(
        zip(
            statements,
            verify_statements(database, schema, statements, sandbox, shuffled, informative=False),
            strict=True,
        )
    )
    results = _results(database, verdicts, sandbox)
    found: dict[str, list[Finding]] = {}
    names: dict[str, Resolution] = {}
    for sql, verdict in verdicts.items():
        if verdict.names is not None:
            names[sql] = verdict.names
        told = _findings(verdict, results[sql], names.get(sql))
        found[sql] = [_with_repair(one, sql, names.get(sql), schema, database.dialect) for one in told]
    keys = instance_schema(profile)
    for sql, resolved in names.items():
        apart = unlinked(resolved)
        found[sql] += [] if apart is None else [replace(apart, mended=linked(resolved, keys, database.dialect))]
    zeros = {sql for sql, findings in found.items() if any(one.kind == "zero" for one in findings)}
    for sql, more in _idle_parts(database, profile, names, results, keys, sandbox).items():
        # without any of its conditions a 0 may stay a 0: that is one fault, and it is told
        found[sql] += [one for one in more if sql not in zeros or not one.kind.startswith(UNTESTED)]
    _add_witnesses(database, shuffled, found, sandbox)
    found = with_our_sql(database, found, sandbox)
    found = {sql: list({(one.kind, one.says): one for one in findings}.values()) for sql, findings in found.items()}
    return found, {sql: result for sql, result in results.items() if result.ok}, names


def _with_repair(finding: Finding, sql: str, names: Resolution | None, schema: Schema, dialect: Dialect) -> Finding:
    """The finding with the statement as it should be, where ties or misspelt names are the fault."""
    if finding.kind in ("tie_at_limit", "tie_in_order") and names is not None:
        return replace(finding, mended=settled(names, dialect))
    if finding.kind == "unknown_name":
        try:
            found = resolve(parse_select(sql, dialect), dialect, schema)
        except SqlRefused:
            return finding
        return replace(finding, mended=renamed(found, schema, dialect))
    return finding


def _results(database: Database, verdicts: Mapping[str, StatementVerdict], sandbox: Sandbox) -> dict[str, Result]:
    """The result of every statement, also of those that were turned away before they ran."""
    waiting = [sql for sql, verdict in verdicts.items() if verdict.result is None]
    ran = dict(zip(waiting, execute([(database, sql) for sql in waiting], sandbox), strict=True))
    return {sql: ran[sql] if verdict.result is None else verdict.result for sql, verdict in verdicts.items()}


def _findings(verdict: StatementVerdict, result: Result, names: Resolution | None) -> Iterator[Finding]:
    reason, detail = verdict.reason, verdict.detail
    if reason in _GATE and reason != "not_deterministic_function":
        kind = _GATE[reason]
        if result.ok:  # the engine is the last judge
            yield Finding("not_analysed", f"The engine runs it, but the gate says: {detail}.")
        elif result.status == "error" or kind == "not_a_query":
            if kind == "not_a_query" and reason != "multiple_statements" and "syntax error" in result.error.lower():
                kind = "syntax"  # a form that this engine does not have: > ALL (SELECT ...)
            more = _SEVERAL if reason == "multiple_statements" else ""
            told = _MISSING.sub("something is missing", detail)
            yield Finding(kind, f"{capital(told).rstrip('.')}. The engine says: {result.error.rstrip('.')}.{more}")
        else:
            yield Finding(_RAN[failure(result)[0]], failure(result)[1])
        return
    if not result.ok:
        name, why = failure(result)
        yield Finding(_RAN[name], f"{capital(why).rstrip('.')}.")
        return
    if reason == "not_deterministic_function":
        yield Finding("reads_clock", f"{capital(detail)}.")
    elif reason == "tie":
        kind = "tie_at_limit" if CUT in detail else "tie_in_order"
        yield Finding(kind, f"{capital(detail)}.")
    elif reason == "bare_column" and names is not None and _has_one_extreme(names):
        yield Finding("bare_extreme", f"{capital(detail)}: SQLite takes the row of the MIN or MAX.")
    elif reason == "empty" and result.row_count:
        if names is not None and isinstance(leftmost(names.tree).expressions[0].unalias(), (exp.Count, exp.Sum)):
            yield Finding("zero", "The one value that comes out is 0.")
    elif reason:
        yield Finding(_RAN[reason], f"{capital(detail)}.")
    if reason not in ("empty", "null_only") and result.row_count == 0:
        yield Finding("empty", "No row comes out.")


def _has_one_extreme(names: Resolution) -> bool:
    """SQLite fills bare columns from the row of the extreme when MIN or MAX is a SELECT's one extreme."""
    calls = [node for node in names.tree.find_all(exp.Min, exp.Max) if is_aggregate(node)]
    return len(calls) == 1 and len(names.scopes) == 1 and calls[0].find_ancestor(exp.Having, exp.Order) is None


# --- parts that change nothing -----------------------------------------------------------------------------------


def _idle_parts(
    database: Database,
    profile: DatabaseProfile,
    names: Mapping[str, Resolution],
    results: Mapping[str, Result],
    keys: Keys,
    sandbox: Sandbox,
) -> dict[str, list[Finding]]:
    """Conditions, joins and DISTINCTs without which the answer is the same on this data, or provably on any."""
    whole = {sql: _whole_names(found, profile, database.dialect) for sql, found in names.items()}
    telling = [sql for sql in names if results[sql].ok and results[sql].row_count and not results[sql].all_null]
    variants = [
        (sql, kind, variant)
        for sql in telling
        for kind, variant in _variants(names[sql], database.dialect)
        if kind is not None
    ]
    without = execute([(database, variant.sql) for _, _, variant in variants], sandbox)
    found: dict[str, list[Finding]] = {}
    for (sql, kind, variant), result in zip(variants, without, strict=True):
        if result.ok and result.digest == results[sql].digest:
            rule = proved_equivalent(sql, variant.sql, database.dialect, keys)
            if not rule and variant.name in whole[sql]:
                continue
            if rule:
                says = f"Wherever the keys hold, the answer is the same without {variant.name} (proved: {rule})."
            else:
                says = f"The answer on this data is the same without {variant.name}."
            name = f"useless_{kind}" if rule else f"{UNTESTED}{kind}"
            mended = variant.sql if rule else ""
            found.setdefault(sql, []).append(Finding(name, says, variant.sql, mended))
    return found


def _whole_names(found: Resolution, profile: DatabaseProfile, dialect: Dialect) -> set[str]:
    """Conditions that say one name in several columns (first and last name), as `Variant.name` has them.

    That a part of the name would do on this data is no fault: the whole name is what was asked for.
    """
    said: dict[int, dict[str, set[str]]] = {}  # by source and column
    for node in found.tree.find_all(exp.EQ):
        binding = found.binding(node.this) if isinstance(node.this, exp.Column) else None
        if binding is None or binding.kind != "column" or binding.source is None or not binding.source.table:
            continue
        column = binding.source.columns[binding.name]
        alternative = not isinstance(node.find_ancestor(exp.Or, exp.Not, exp.Where), exp.Where)
        if alternative or value_of(node.expression, found) is None:
            continue
        if column in profile.table(binding.source.table).label_columns:
            parts = said.setdefault(id(binding.source), {})
            parts.setdefault(column, set()).add(f"WHERE {sql_text(node, dialect)}")
    return {one for parts in said.values() if len(parts) > 1 for some in parts.values() for one in some}


def _variants(found: Resolution, dialect: Dialect) -> Iterator[tuple[str | None, Variant]]:
    for variant in drop_variants(found, dialect):
        words = variant.name.split()
        yield "join" if "JOIN" in words[:2] else _PARTS.get(words[0]), variant
    for select in list(found.tree.find_all(exp.Select)):
        distinct = select.args.get("distinct")
        if distinct is not None:
            yield "distinct", Variant("DISTINCT", edited(found.tree, [Change(select, "distinct", None)], dialect))
    for call in list(found.tree.find_all(exp.AggFunc)):
        inner = call.this
        if isinstance(inner, exp.Distinct) and len(inner.expressions) == 1:
            name = f"DISTINCT in {sql_text(call, dialect)}"
            yield "distinct", Variant(name, edited(found.tree, [swap(inner, inner.expressions[0].copy())], dialect))


# --- joins -------------------------------------------------------------------------------------------------------


def unlinked(found: Resolution) -> Finding | None:
    """Two tables of one FROM with no condition between them: every row of one meets every row of the other."""
    for scope in found.scopes:
        tables = [source for source in scope.sources if source.table]
        joins = scope.select.args.get("joins") or ()
        if len(tables) < 2 or any(join.args.get("using") or join.method for join in joins):
            continue
        group = {id(source): number for number, source in enumerate(scope.sources)}
        for node in scope.select.find_all(exp.Predicate):
            bound = [found.binding(column) for column in node.find_all(exp.Column)]
            met = dict.fromkeys(group[id(b.source)] for b in bound if b is not None and id(b.source) in group)
            group = {key: min(met) if number in met else number for key, number in group.items()}
        apart = [source for source in tables if group[id(source)] != group[id(tables[0])]]
        if apart:
            return Finding("unlinked_join", f"No condition links {apart[0].table} with {tables[0].table}.")
    return None


# --- witnesses ---------------------------------------------------------------------------------------------------


def _add_witnesses(
    database: Database, shuffled: Database | None, found: dict[str, list[Finding]], sandbox: Sandbox
) -> None:
    """Where the order of stored rows decides: the first row that differs."""
    if shuffled is None:
        return
    waiting = [sql for sql, findings in found.items() if any(one.kind == "row_order" for one in findings)]
    results = iter(execute([(place, sql) for sql in waiting for place in (database, shuffled)], sandbox, "rows"))
    for sql in waiting:
        first, second = next(results), next(results)
        witness = f"With the rows stored in another order: {first_difference(first.rows, second.rows, ordered=True)}"
        found[sql] = [Finding(one.kind, one.says, witness) if one.kind == "row_order" else one for one in found[sql]]
