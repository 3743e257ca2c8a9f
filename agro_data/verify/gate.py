"""The statement gate: one read-only SELECT, on known tables and columns, whose answer the data alone decides."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from agro_data.databases.types import Dialect
from agro_data.sql.names.lists import is_list
from agro_data.sql.names.resolution import Resolution, value_of
from agro_data.sql.names.scope import Schema, resolve
from agro_data.sql.parse import SqlRefused, parse_select
from agro_data.verify.clocks import CLOCKS, is_date_function, is_of_data, reached

# Reach the host, the engine's state, or memory. The sandbox stops them too: here they get a name.
_FORBIDDEN = frozenset({
    "load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "zeroblob", "randomblob", "sqlite_source_id",
    "getenv", "current_setting", "glob", "query", "query_table", "getvariable", "pg_read_file", "parse_path",
    "read_csv", "read_csv_auto", "read_parquet", "read_json", "read_json_auto", "read_text", "read_blob",
    "system", "shell", "eval", "sqlite_log", "write_log", "sleep_ms", "which_secret", "json_execute_serialized_sql",
    "checkpoint", "force_checkpoint", "truncate_duckdb_logs", "enable_logging", "disable_logging", "enable_profiling",
    "current_query", "current_schemas", "current_role", "session_user", "fsdir", "zipfile", "current_catalog",
    "readcsv", "readparquet", "readjson", "parquet_scan", "sqlite_scan", "sniff_csv", "duckdb_settings",
    "get_block_size", "stats", "vector_type", "in_search_path", "json_serialize_plan", "current_query_id", "setval",
    "fts5_source_id", "current_connection_id", "current_transaction_id",
})  # fmt: skip
_CHANCE = frozenset({
    "random", "rand", "randn", "uuid", "uuidv4", "uuidv7", "gen_random_uuid", "setseed", "ago", "reservoir_quantile",
    "now", "today", "get_current_time",
    "get_current_timestamp", "transaction_timestamp", "current_date", "current_time", "current_timestamp",
    "current_localtime", "current_localtimestamp", "localtime", "localtimestamp", "nextval", "currval",
    "txid_current", "last_insert_rowid", "changes", "total_changes", "sqlite_version", "version",
    "current_user", "current_schema", "current_database", "current_version",
})  # fmt: skip
_NO_LIST = "UNNEST in SELECT needs what is known to be a list, since a struct becomes columns; in FROM it takes any"
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
# 'subsec' alone is the time now to SQLite 3.42 and later.
_MOMENTS = frozenset({"now", "today", "yesterday", "tomorrow", "subsec", "subsecond"})
_ZONES = frozenset({"localtime", "utc"})  # modifiers of SQLite's date functions


@dataclass(frozen=True)
class Gate:
    """`reason` is "" or one of `syntax`, `not_select`, `multiple_statements`, `unknown_table`, `unknown_column`,
    `ambiguous_column`, `forbidden_function`, `not_deterministic_function`, `too_long`; `detail` says it in words.
    """

    ok: bool
    reason: str = ""
    detail: str = ""
    tree: exp.Query | None = None
    names: Resolution | None = None  # set when the statement parses


def check_statement(sql: str, dialect: Dialect, schema: Schema) -> Gate:
    """Judge one statement against `schema` without running it.

    In SQLite a double-quoted token that names nothing is a string. Functions that no engine knows pass: the
    engine's own prepare step is the last judge.
    """
    if _UNWRITABLE.search(sql):
        return Gate(False, "syntax", "holds a character that no query has: NUL, or half of a character")
    try:
        tree = parse_select(sql, dialect)
    except SqlRefused as refusal:
        return Gate(False, refusal.reason, refusal.detail)
    try:
        names = resolve(tree, dialect, schema)
        reason, detail = _function_problem(tree, dialect, names)
        if not reason and names.problems:
            reason, detail = names.problems[0]
        if not reason and any(not is_list(node.this, names, schema) for node in tree.find_all(exp.Explode)):
            reason, detail = "forbidden_function", _NO_LIST
        # What `resolve` did not come by was not looked at.
        if not reason and len(names.scopes) != sum(1 for _ in tree.find_all(exp.Select)):
            reason, detail = "syntax", "a SELECT stands where none can"
    except Exception as error:  # one odd statement stops nobody: what cannot be followed is not let through
        return Gate(False, "syntax", f"its names cannot be followed ({type(error).__name__}: {error})")
    return Gate(not reason, reason, detail, tree, names)


def _function_problem(tree: exp.Query, dialect: Dialect, names: Resolution) -> tuple[str, str]:
    # What is cast comes first: it is what reads the clock, if something does.
    for node in sorted(tree.find_all(exp.Func, exp.Cast), key=lambda node: isinstance(node, exp.Cast)):
        name = _function_name(node)
        if name in _FORBIDDEN or name.startswith(("pragma_", "sqlite_", "duckdb_", "pg_")):
            return "forbidden_function", f"function {name} reaches outside the data"
        if name in _CHANCE or isinstance(node, (exp.Rand, exp.Uuid, exp.CurrentTimestamp, exp.CurrentDate)):
            return "not_deterministic_function", f"function {_called(node, dialect)}: its value is another at every run"
        if _reads_clock(node, name, dialect, names):
            return "not_deterministic_function", f"function {_called(node, dialect)} reads the clock"
        if dialect == "sqlite" and any(_says(argument, _ZONES, names) for argument in _arguments(node, name)):
            return "not_deterministic_function", f"function {_called(node, dialect)} reads the time zone of the machine"
        if dialect == "sqlite" and not all(is_of_data(argument, names) for argument in _arguments(node, name)):
            why = "what it is given is neither of a table nor written out as it is"
            return "not_deterministic_function", f"function {_called(node, dialect)} may read the clock: {why}"
    return "", ""


def _function_name(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else "cast"


def _called(node: exp.Expr, dialect: Dialect) -> str:
    """A function as the engine calls it."""
    return node.sql(dialect=dialect).partition("(")[0].lower()


def _reads_clock(node: exp.Expr, name: str, dialect: Dialect, names: Resolution) -> bool:
    """A moment such as 'now' in an argument, or (SQLite) a date function without one."""
    arguments = [child for child in node.iter_expressions() if not isinstance(child, exp.DataType)]
    if not isinstance(node, (exp.Anonymous, exp.Cast)) and not is_date_function(node):
        return False
    if dialect == "sqlite" and name in CLOCKS and len(arguments) <= (name == "strftime"):
        return True
    if dialect == "duckdb" and name == "age" and len(arguments) == 1:
        return True
    temporal = dialect == "sqlite" or not isinstance(node, exp.Cast) or node.to.is_type(*exp.DataType.TEMPORAL_TYPES)
    return temporal and any(_says(argument, _MOMENTS, names) for argument in arguments)


def _arguments(node: exp.Expr, name: str) -> list[exp.Expr]:
    """What a date function of SQLite is given; nothing of other functions."""
    return list(node.iter_expressions()) if name in CLOCKS or is_date_function(node) else []


def _says(node: exp.Expr, words: frozenset[str], names: Resolution) -> bool:
    """Whether a text in an expression, or in what its names are made of, is one of the words; in SQLite also one in
    double quotes that names nothing."""
    for inner in reached(node, names):
        value = value_of(inner, names)
        if isinstance(value, exp.Literal) and value.is_string and value.name.strip().lower() in words:
            return True
    return False
