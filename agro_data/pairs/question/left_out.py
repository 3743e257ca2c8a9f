"""What the question says and the SQL has in no form: an extreme, a negation, a second value of a column.

Each asks for a look: a column may hold what the word says ("the highest degree"), and is then called so.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from sqlglot import exp

from agro_data.pairs.finding import Finding
from agro_data.pairs.values.literals import uses_of
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.names.resolution import Resolution, value_of
from agro_data.sql.said import plain, words_of

_SHORT = 4  # letters of a value, below which it may be a word like any other

_EXTREME = re.compile(
    r"\b(?:highest|largest|biggest|greatest|maximum|longest|tallest|heaviest|fewest|lowest|smallest|minimum|shortest|"
    r"lightest|cheapest|youngest|oldest|earliest|latest|"
    r"(?:most|least) (?:expensive|recent|popular|common|commonly|frequent|frequently))\b",
    re.IGNORECASE,
)
_ENDS = (exp.Max, exp.Min, exp.Order, exp.Limit, exp.Window, exp.ArgMax, exp.ArgMin, exp.All)
_HIGH = frozenset({"max", "maximum", "high", "higher", "highest", "top", "peak"})
_LOW = frozenset({"min", "minimum", "low", "lower", "lowest", "least"})

_NEGATION = re.compile(r"\b(?:not|never|without|neither|nor|nobody|except)\b|n't\b", re.IGNORECASE)
# What a join leaves out needs no negation, nor what DISTINCT does, and a group for each of two says of both.
_AFFIRMED = re.compile(
    r"\bnot only\b|\bwhether or not\b|\bif not\b|\b(?:ignor|exclud|omit|skip|disregard)\w*"
    r"|\bwithout (?:any )?(?:repe(?:at|tition)|duplicat)\w*",
    re.IGNORECASE,
)
_NEGATIVE = (exp.Group, exp.Not, exp.NEQ, exp.Except, exp.Is, exp.LT, exp.GT, exp.LTE, exp.GTE, exp.Boolean, exp.Case)
_NO = re.compile(r"(?:0|-1|n|f|false|(?:no|un|in|dis|without).*)\Z", re.IGNORECASE | re.DOTALL)


def check_left_out(question: str, sql: str, found: Resolution, profile: DatabaseProfile) -> Iterator[Finding]:
    """Findings of one pair."""
    yield from _extreme(question, sql, found)
    yield from _negation(question, sql, found)
    yield from _other_values(question, sql, found, profile)


def _extreme(question: str, sql: str, found: Resolution) -> Iterator[Finding]:
    said, words = _EXTREME.search(question), set(words_of(sql))
    if said is None or found.tree.find(*_ENDS) is not None:
        return
    of = words_of(" ".join(question[said.end() :].split()[:1]))
    if said[0].lower() in ("maximum", "minimum") and not words.isdisjoint(of):
        return  # a column holds it: "the maximum range", `range_miles`
    named = set(words_of(said[0]))
    alike = next((some for some in (_HIGH, _LOW) if named & some), frozenset[str]())
    if words.isdisjoint(named | alike):
        yield Finding("extreme_missing", f"The question says {said[0]!r}; the SQL neither sorts nor takes an extreme.")


def _negation(question: str, sql: str, found: Resolution) -> Iterator[Finding]:
    said = _NEGATION.search(question)
    if said is None or _AFFIRMED.search(question) or said[0].lower() in words_of(sql):
        return
    values = (value_of(node, found) for node in found.tree.walk())
    negated = any(value is not None and _NO.match(value.name) for value in values)
    outer = any(join.side for join in found.tree.find_all(exp.Join))
    if not negated and not outer and found.tree.find(*_NEGATIVE) is None:
        yield Finding("negation_missing", f"The question says {said[0]!r}; nothing in the SQL is negated.")


def _other_values(question: str, sql: str, found: Resolution, profile: DatabaseProfile) -> Iterator[Finding]:
    """A column's values that the question says beside those that the SQL asks for, all of which it says, too. A value
    that begins or ends with one of those ("first", "first class") is no other one.
    """
    asked: dict[tuple[str, str], set[str]] = defaultdict(set)
    for use, literals in uses_of(found, profile.dialect).items():
        if use.text and any(isinstance(literal.parent, (exp.EQ, exp.In)) for literal in literals):
            asked[use.table, use.column].add(use.value)
    said, written = f" {plain(question)} ", plain(sql)
    for (table, column), texts in asked.items():
        if not all(f" {plain(text)} " in said for text in texts):
            continue
        for value, _ in profile.table(table).column(column).common:
            other = plain(value) if isinstance(value, str) else ""
            same = other in written or any(plain(text) in other for text in texts)
            if len(other) >= _SHORT and f" {other} " in said and not same:
                says = (
                    f"The question says {value!r} of {table}.{column} beside {' and '.join(map(repr, sorted(texts)))}"
                )
                yield Finding("value_left_out", f"{says}; the SQL does not.")
