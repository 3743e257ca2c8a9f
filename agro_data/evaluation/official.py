"""What the official scripts do to the text of a statement before they run it, faults included.

Spider: `evaluation.py` and `exec_eval.py` of the test-suite evaluation (arXiv 2010.02840), with their defaults.
BIRD: its evaluations give the text to sqlite3 as it is.
"""

from __future__ import annotations

import re

from agro_data.databases.quoting import unended

_TOKEN = re.compile(
    r"""
    (?P<kept> '(?:[^']|'')*' | "(?:[^"]|"")*" | `[^`]*` | --[^\n]* | /\*.*?\*/ )
    | (?P<word> [A-Za-z_]\w* )
    | (?P<end> ; )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_SPACED = (("> =", ">="), ("< =", "<="), ("! =", "!="))
_THIS_YEAR = re.compile(r"YEAR\s*\(\s*CURDATE\s*\(\s*\)\s*\)\s*", re.IGNORECASE)


def spider_prediction(sql: str) -> str:
    """A prediction as the script reads it: up to a tab, and with every `value` in it turned into `1`."""
    return sql.strip().split("\t")[0].replace("value", "1")


def spider_statement(sql: str) -> str:
    """A statement as the script runs it: without DISTINCT, only the first of several, operators without a gap."""
    for gap, joined in _SPACED:
        sql = sql.replace(gap, joined)
    return _THIS_YEAR.sub("2020", _first_without_distinct(sql))


def spider_ordered(gold: str) -> bool:
    """The script compares lists when "order by" stands anywhere in the gold."""
    return "order by" in gold.lower()


def bird_statement(sql: str) -> str:
    """A statement as sqlite3 judges it, which refuses `SELECT 1;;`: a comment at its end, of which sqlite3 takes no
    notice, keeps the sandbox from making it `SELECT 1`.
    """
    return f"{sql}\n--" if sql[len(unended(sql)) :].count(";") > 1 else sql


def _first_without_distinct(sql: str) -> str:
    parts: list[str] = []
    for match in _TOKEN.finditer(sql):
        if match["word"] is not None and match["word"].lower() == "distinct":
            continue
        parts.append(match.group())
        if match["end"] is not None:
            break
    return "".join(parts)
