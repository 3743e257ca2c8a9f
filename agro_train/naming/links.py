"""Links of a thought, `singer( Name, Age), concert( Year)`: tables and columns that it says before the query.

A model that was taught to say them (`trajectories.schema_links`) writes the query that they promise. Let it promise a
table that is not there, and its query goes round where that name is refused.
"""

from __future__ import annotations

import re

from agro_data.databases.quoting import folded
from agro_train.naming.levels import Names
from agro_train.naming.words import inside

_SENTENCE = re.compile(r"[.:;?!]\s+")
_NAME = re.compile(r'[^\W\d][\w$]*|"(?:[^"]|"")*"(?!")')


def may_link(thought: str, names: Names) -> bool:
    """Whether a thought so far can stand: its last sentence links nothing that the schema lacks.

    A link stands at the beginning of a sentence or behind another link, its bracket right behind its name. All else is
    prose, and so is a function, or a table without a bracket, which could be any word, unless there is `_` in it.
    """
    ends = [found.end() for found in _SENTENCE.finditer(thought)]
    text = thought[ends[-1] if ends else 0 :].lstrip()
    while found := _NAME.match(text):
        table, text = _said(found[0]), text[found.end() :]
        if text.startswith("("):
            if table not in names.tables:
                return table in names.functions
            rest = _columns(text[1:], names.tables[table])
            if rest is None:
                return False
            text = rest
        elif table not in names.tables:
            return "_" not in table or (not text and any(one.startswith(table) for one in names.tables))
        if not text.startswith(","):
            return True
        text = text[1:].lstrip()
    return True


def _columns(text: str, columns: frozenset[str]) -> str | None:
    """What stands behind the bracket that lists columns, "" if it is still open; None where it lists what is none."""
    while True:
        text = text.lstrip()
        found = _NAME.match(text)
        if found is None or found.end() == len(text):  # not whole, or it may go on
            begun = text[1:].replace('""', '"').rstrip('"') if text.startswith('"') else folded(text)
            return "" if any(column.startswith(folded(begun)) for column in columns) else None
        if _said(found[0]) not in columns:
            return None
        behind, text = text[found.end()], text[found.end() + 1 :]
        if behind != ",":
            return text if behind == ")" else None


def _said(name: str) -> str:
    return inside(name[:-1]) if name.startswith('"') else folded(name)
