"""What a statement may not name: the engine's own state, which is not the data.

Catalogs, settings and logs tell a machine's paths and one instance of a database from another; some functions act
(`checkpoint()`, `write_log()`), sleep, or run a text as SQL that nobody has looked at. Access to files is closed
elsewhere (`opening`); here it gets a second lock.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, takewhile

DENIED_SQLITE_FUNCTIONS = frozenset((
    *("load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "sqlite_log"),
    *("sqlite_source_id", "sqlite_compileoption_get", "sqlite_compileoption_used", "optimize", "rtreecheck"),
))  # fmt: skip

# Names of DuckDB that are no names of data, wherever they stand.
_DUCKDB_STATE = re.compile(
    r"(duckdb|pragma)_\w+|sqlite_(temp_)?(master|schema)|information_schema|pg_catalog"
    r"|pg_(am|attrdef|attribute|class|collation|constraint|database|depend|description|enum|index|indexes|namespace"
    r"|prepared_statements|proc|sequence|sequences|settings|tables|tablespace|type|views)"
    r"|current_(catalog|database|query|query_id|role|schema|schemas|setting|user)|session_user",
    re.IGNORECASE,
)
# Functions that may have the name of a column: denied where a parenthesis follows.
_DUCKDB_FUNCTIONS = re.compile(
    r"query|query_table|json_execute_serialized_sql|getvariable|getenv|write_log|parse_duckdb_log_message|user|version"
    r"|(force_)?checkpoint|truncate_duckdb_logs|(enable|disable)_\w+|pg_sleep|sleep_ms|which_secret|has_\w+_privilege"
    r"|glob|sniff_csv|(read|parquet|pandas|python|arrow|seq|sqlite|postgres|mysql|delta|iceberg)_\w+"
    r"|\w*external_resource\w*|icu_calendar_names|pg_timezone_names|pg_read_file|pg_\w+_is_visible|nextval|currval"
    r"|setseed|setval|stats|vector_type|in_search_path|get_block_size|json_serialize_plan|current_\w+_id|txid_current"
    r"|pg_(postmaster_start|conf_load)_time|histogram_values",
    re.IGNORECASE,
)
_DUCKDB_COMMANDS = frozenset(("show", "describe", "desc", "summarize"))
_SET_OPERATIONS = frozenset(("union", "except", "intersect"))
# DuckDB takes a text for a table's name nearly anywhere one may stand (FROM a: 'pg_settings', UNPIVOT 'pg_settings'),
# but not where it is compared with something.
_COMPARISONS = frozenset(("=", "==", "<>", "!=", "<", "<=", ">", ">=", "like", "ilike", "glob"))
# What WITH names by the name before it. `query('...') AS materialized(a)` is a call with an alias.
_QUERY_FOLLOWS = re.compile(r"as ((not )?materialized )?\( (select|with|from|\() ")
_PART = re.compile(r'"(?:[^"]|"")*"|\w+')
# DuckDB parses spaces such as U+00A0 and U+200B as spaces, and its tokeniser takes them for letters of a name.
_FOREIGN_SPACE = re.compile(r"[^\w\x00-\x7f]")


def is_sqlite_state(table: str) -> bool:
    """Whether a table of SQLite tells of the file rather than of the data: schema, statistics, pages, statements."""
    name = table.lower()
    return name.startswith("sqlite_") or name == "dbstat"


@lru_cache(16)  # a statement is run on many instances, one after the other
def duckdb_state_named(sql: str) -> str:
    """The first name in a DuckDB statement that reaches the engine's state, or "".

    Judged on DuckDB's own tokens: a comment names nothing, and a text only where it may stand for a table.
    """
    import duckdb  # noqa: PLC0415

    spaced = _FOREIGN_SPACE.sub(" ", sql)
    raw = spaced.encode()
    found = duckdb.tokenize(spaced)
    ends = [*(start for start, _ in found[1:]), len(raw)]
    tokens = [
        (raw[start:end].decode(errors="replace").strip(), kind)
        for (start, kind), end in zip(found, ends, strict=True)
        if kind != duckdb.token_type.comment
    ]
    texts = [text.lower() for text, _ in tokens]
    for place, (text, kind) in enumerate(tokens):
        before = ("", "", "", *texts[max(0, place - 3) : place])[-3:]
        if kind in (duckdb.token_type.identifier, duckdb.token_type.keyword) and before[-1] != "as":  # then it is given
            name = _plain(text)
            denied = _DUCKDB_STATE.fullmatch(name) or (_DUCKDB_FUNCTIONS.fullmatch(name) and _is_call(texts, place))
            denied = denied or (name.lower() == "histogram" and _is_call(texts, place) and _is_of_two(texts, place))
            command = name.lower() in _DUCKDB_COMMANDS and text != f'"{name}"' and _may_start(before)
            if denied or command:
                return name
        elif kind == duckdb.token_type.string_const and before[-1] not in _COMPARISONS:
            name = text.strip("'")
            if _DUCKDB_STATE.fullmatch(name):
                return name
    return ""


def _is_call(texts: Sequence[str], place: int) -> bool:
    """Whether the name at `place` is called: brackets follow, and are not the columns of a query that WITH names."""
    if texts[place + 1 : place + 2] != ["("] or texts[place - 1 : place] in (["with"], ["recursive"]):
        return False
    depths = accumulate((text == "(") - (text == ")") for text in texts[place + 1 :])
    end = next((at for at, depth in enumerate(depths, place + 1) if not depth), len(texts))
    return not _QUERY_FOLLOWS.match(" ".join([*texts[end + 1 : end + 6], ""]))


def _is_of_two(texts: Sequence[str], place: int) -> bool:
    """Whether what is called at `place` is given more than one thing: histogram(a) is an aggregate of a column, and
    histogram('t', a) may be the macro that reads the table whose name it is given as a text."""
    depths = accumulate((text in ("(", "[", "{")) - (text in (")", "]", "}")) for text in texts[place + 1 :])
    inside = takewhile(operator.itemgetter(1), zip(texts[place + 1 :], depths, strict=True))
    return any(text == "," and depth == 1 for text, depth in inside)


def _may_start(before: Sequence[str]) -> bool:
    """Whether a statement may begin after these three tokens: first, in brackets, or as part of a set operation."""
    *_, third, second, first = before
    if (second, first) == ("by", "name"):  # UNION BY NAME, and not ORDER BY name DESC
        return third in _SET_OPERATIONS or third == "all"
    return first in ("", "(") or first in _SET_OPERATIONS or (first == "all" and second in _SET_OPERATIONS)


def _plain(identifier: str) -> str:
    """An identifier without its quotes, and without what the tokeniser leaves behind it."""
    match = _PART.match(identifier)
    if match is None:
        return identifier
    part = match.group()
    return part[1:-1].replace('""', '"') if part.startswith('"') else part
