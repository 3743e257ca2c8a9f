"""Words of a statement as Spider's parser gets them: by rules for English text, with quoted values kept whole.

The rules are the Treebank tokenizer's, as far as they matter for SQL. They are why the parser reads `a = b` and not
`a=b`: only brackets, `<`, `>`, `!`, `;`, `*` and commas before a non-digit stand apart by themselves.
"""

from __future__ import annotations

import re

from agro_data.databases.types import Limits

LONGEST = Limits().sql_length
_APART = (
    (re.compile(r"[«“‘„»”’]|`+"), r" \g<0> "),
    (re.compile(r"([:,])([^\d])"), r" \1 \2"),
    (re.compile(r"[:,]$"), r" \g<0> "),
    (re.compile(r"\.{2,}"), r" \g<0> "),
    (re.compile(r"[;@#$%&]"), r" \g<0> "),
    (re.compile(r"([^.])(\.)([\])}>]*)\s*$"), r"\1 \2 \3 "),
    (re.compile(r"[?!*]"), r" \g<0> "),
    (re.compile(r"[\][(){}<>]"), r" \g<0> "),
    (re.compile(r"--"), r" \g<0> "),
)


class NotRead(ValueError):
    """A statement that Spider's parser refuses."""


def words(sql: str) -> list[str]:
    """Lower-case words; a quoted text, single or double, is one word that keeps its case and gets double quotes.

    Raises `NotRead` when quotes do not pair up, and for a text that is longer than any that would be run.
    """
    if len(sql) > LONGEST:
        raise NotRead(f"{len(sql):,} characters, at most {LONGEST:,}")
    text = sql.replace("'", '"')
    quotes = [place for place, character in enumerate(text) if character == '"']
    if len(quotes) % 2:
        raise NotRead("a quotation mark without its partner")
    values: dict[str, str] = {}
    parts: list[str] = []
    after = 0
    for start, end in zip(quotes[::2], quotes[1::2], strict=True):
        name = f"__val_{start}_{end}__"
        values[name] = text[start : end + 1]
        parts += [text[after:start], name]
        after = end + 1
    text = "".join([*parts, text[after:]])
    for pattern, replacement in _APART:
        text = pattern.sub(replacement, text)
    found: list[str] = []
    for word in text.lower().split():
        if word.startswith("=__val_"):
            found += ["=", word[1:]]
        elif word == "=" and found and found[-1] in ("!", "<", ">"):
            found[-1] += "="
        else:
            found.append(word)
    return [values.get(word, word) for word in found]
