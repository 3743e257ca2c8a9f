"""Rows of a table that refer to others of it, the wrong way round: "the manager of Di" as a row whose manager is Di.

Only where the question says which of the two is meant: "the manager of Di", "Di's manager", "who reports to Di", "each
employee and their manager". Each finding is demonstrated: with the join turned the answer is another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from agro_data.evaluation.loaded import Pair
from agro_data.pairs.demonstrating import Offer
from agro_data.pairs.finding import Finding
from agro_data.pairs.mending import rewritten
from agro_data.pairs.rows.row_keys import only_table
from agro_data.profiling.names.words import split_identifier
from agro_data.profiling.profile import DatabaseProfile, ForeignKey
from agro_data.sql.conditions import conditions, links, parts_of, parts_of_where
from agro_data.sql.names.resolution import Resolution, Scope, Source, value_of
from agro_data.sql.said import plain

_SAYING_NOTHING = frozenset({"id", "ids", "no", "nr", "number", "num", "code", "key", "ref", "fk", "pk"})
_THEIRS = r"(?:and|with|beside)(?: (?:the|also|names?|full|first|last|ids?|of|that))* (?:their|its|his|her|his or her)"


@dataclass(frozen=True)
class _Pairing:
    """A join of a table with itself along a key: the rows that refer (`lower`) and those they refer to (`upper`)."""

    scope: Scope
    key: ForeignKey
    link: exp.Expr
    lower: Source
    upper: Source

    def turned(self) -> exp.Expr:
        """The link with each row in the place of the other."""
        own, other = self.link.this.copy(), self.link.expression.copy()
        one, two = own.args.get("table"), other.args.get("table")
        own.set("table", two)
        other.set("table", one)
        return exp.EQ(this=own, expression=other)


def offer_turned(pair: Pair, found: Resolution, profile: DatabaseProfile) -> Iterator[Offer]:
    """What is offered for one pair: its join turned."""
    pairings = [one for scope in found.scopes for one in _pairings(scope, found, profile)]
    if len(pairings) != 1 or pairings[0].scope.select is not found.tree:
        return
    one, question = pairings[0], plain(pair.question)
    said = _said_of_value(question, one, found) or _said_of_each(question, one, found)
    if said:
        column = one.key.columns[0]
        says = f"The question says {said!r}, the SQL gives it the other way round: {column} is of the other row."
        other = rewritten(found, [(one.link, one.turned())], profile.dialect)
        yield Offer(Finding("reference_reversed", says), pair.sql, other, found.ordered)


def _pairings(scope: Scope, found: Resolution, profile: DatabaseProfile) -> Iterator[_Pairing]:
    keys = [key for key in profile.foreign_keys if key.table == key.ref_table and len(key.columns) == 1]
    for _, _, _, condition in conditions(scope):
        for part in parts_of(condition):
            link = part.unnest()
            if not links(found, part, scope):
                continue
            for lower, upper in ((link.this, link.expression), (link.expression, link.this)):
                one, two = found.binding(lower), found.binding(upper)
                if one is None or two is None or one.source is None or two.source is None:
                    continue
                for key in keys:
                    places = (key.table, key.columns[0]), (key.table, key.ref_columns[0])
                    if (one.place, two.place) == places and lower.args.get("table") and upper.args.get("table"):
                        yield _Pairing(scope, key, link, one.source, two.source)


def _roles(key: ForeignKey) -> tuple[str, str]:
    """What the upper row is called, as "manager", and how the lower one refers to it, as "reports to"; "" for none."""
    words = [word for word in map(str.lower, split_identifier(key.columns[0])) if word not in _SAYING_NOTHING]
    if not words or not all(map(str.isalnum, words)):
        return "", ""
    if words[-1] in ("to", "by"):
        return "", " ".join(words) if len(words) > 1 else ""
    return words[-1], ""


def _said_of_value(question: str, one: _Pairing, found: Resolution) -> str:
    """The words by which rows related to one that is named are asked for, where the SQL gives those on its other side;
    "" where it does not.
    """
    shown = only_table(one.scope.select.expressions, found)
    named = [
        (source, plain(value.name))
        for part in parts_of_where(one.scope.select)
        if isinstance(part, exp.EQ) and (value := value_of(part.expression, found)) is not None
        if (source := only_table([part.this], found)) is not None and plain(value.name)
    ]
    if shown is None or not named or any(source is not named[0][0] for source, _ in named):
        return ""
    values = "|".join(re.escape(value) for _, value in named)
    role, refers = _roles(one.key)
    given = (shown is one.upper, named[0][0] is one.upper)
    if given == (False, True):  # the SQL gives those below
        return _first(_upwards(role, values), question)
    return _first(_downwards(role, refers, values), question) if given == (True, False) else ""


def _upwards(role: str, values: str) -> Sequence[str]:
    return (
        [rf"(?<!whose )\b{role}s? of (?:\w+ ){{0,2}}?(?:{values})\b", rf"\b(?:{values}) s {role}s?\b"] if role else []
    )


def _downwards(role: str, refers: str, values: str) -> Sequence[str]:
    verb = role.removesuffix("er").removesuffix("or") if role.endswith(("er", "or")) else ""
    patterns = [rf"\breport(?:s|ed|ing)? to (?:\w+ ){{0,2}}?(?:{values})\b"] if role or refers else []
    if role:
        patterns.append(rf"\bwhose {role} is (?:\w+ ){{0,2}}?(?:{values})\b")
    if verb:
        patterns += [rf"\b{verb}e?d by (?:{values})\b", rf"\b(?:does|did) (?:{values}) {verb}e?\b"]
    if refers:
        verb, *_, end = refers.split()
        patterns.append(rf"\b{verb.removesuffix('s')}(?:s|ed|ing)? {end} (?:{values})\b")
    return patterns


def _said_of_each(question: str, one: _Pairing, found: Resolution) -> str:
    """The words by which rows are asked for with those that they refer to, where the SQL gives those first."""
    role, _ = _roles(one.key)
    shown = [only_table([item], found) for item in one.scope.select.expressions]
    order = [source for place, source in enumerate(shown) if place == 0 or source is not shown[place - 1]]
    given = len(order) == 2 and order[0] is one.upper and order[1] is one.lower
    return _first([rf"\b{_THEIRS} {role}s?\b"], question) if role and given else ""


def _first(patterns: Sequence[str], question: str) -> str:
    return next((match[0] for pattern in patterns if (match := re.search(pattern, question)) is not None), "")
