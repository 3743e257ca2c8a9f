"""The selected columns of each row as one noun phrase, in the order of the select."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agro_data.intent.questions.clauses.phrases import owner, quantity, subject, term
from agro_data.intent.questions.clauses.ties import is_part
from agro_data.intent.questions.content import Content
from agro_data.intent.questions.frames.totals import totals
from agro_data.intent.questions.habits import (
    BESIDE,
    COMPOUND,
    CORRESPONDING,
    DIFFERENT,
    EACH,
    ELSEWHERE,
    LISTED_ALL,
    LISTED_SOME,
    SINGULAR_LIST,
)
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.naming.nouns import Scene, compounded
from agro_data.intent.questions.naming.relatives import deed
from agro_data.intent.questions.voice import Voice
from agro_data.intent.tree import (
    Column,
    Expression,
    Output,
    TextFunction,
    conjuncts,
    is_figure,
)

_CLAUSE = re.compile(r" (?:who|that|whose) ")
_PART_OF_NAME = ("first", "middle", "last")
_LINKS = {"many": "of", "all": "of all", "all the": "of all the", "the": "of the", "singular": "of",
          "singular all": "of all", "singular the": "of the", "for": "for", "for all": "for all",
          "for the": "for the", "for all the": "for all the"}  # fmt: skip


@dataclass(frozen=True)
class Described:
    """Rows of the source `base` in words: a noun phrase for `one` of them, and for `many`.

    `extent`: "any" that the phrase fits ("singers from France"); a "single" one ("the oldest singer"); "definite" ones
    ("the three oldest singers"); or "every" one, where none may be left out. `distinct`: repeats are left out.
    """

    base: str
    one: str
    many: str
    extent: Literal["any", "single", "definite", "every"] = "any"
    distinct: bool = False


def answer(scene: Scene, select: Sequence[Output], rows: Described) -> Content:
    """The selected columns of the rows, in the order of the select."""
    expressions = [o.expression for o in select]
    if all(map(is_figure, expressions)):
        return totals(scene, expressions, rows.many)
    if all(_is_own(scene, e, rows.base) for e in expressions):
        return _own(scene, [quantity(scene, e, rows.base) for e in expressions], rows)
    turned = _in_other_case(scene, expressions, rows)
    if turned is not None:
        return turned
    segments = [_segment(scene, e, rows.base) for e in expressions]  # they draw, whether they are said or not
    if rows.distinct:
        return _different(scene, expressions, segments, rows)
    owners = [owner for owner, _ in _by_owner(scene, expressions, rows.base)]
    if rows.extent in ("single", "definite"):
        of = f"the {rows.one}" if rows.extent == "single" else f"each of the {rows.many}"
        if scene.query.where is not None or len(owners) > 1:
            return Content(led(scene, expressions, rows.base), lead=f"for {of}")
        return Content(joined(scene, expressions, rows.base, of))
    return _beside(scene, expressions, owners, rows)


def _is_own(scene: Scene, expression: Expression, base: str) -> bool:
    return isinstance(expression, Column) and scene.same(base, scene.bearer(expression))


def _own(scene: Scene, names: Sequence[str], rows: Described) -> Content:
    """Columns of the rows themselves, by these names."""
    voice = scene.voice
    several = [words.plural(n) for n in names]
    plain = rows.many == scene.many(rows.base)
    if rows.extent == "single":
        return Content(f"the {listed_names(voice, names)} of the {rows.one}")
    if rows.distinct:
        kind = voice.weigh(DIFFERENT)
        if len(names) > 1:
            return Content(f"the {kind} combinations of {listed_names(voice, names)} of {rows.many}")
        return Content(f"the {kind} {several[0]} of {voice.pick('all ', '') if plain else ''}{rows.many}")
    if rows.extent == "definite":
        return Content(f"the {listed_names(voice, several)} of the {rows.many}")
    if rows.extent == "every":
        of_all = f"the {listed_names(voice, several)} of all {rows.many}"
        return Content(voice.pick(of_all, f"the {listed_names(voice, names)} of each {rows.one}"))
    form = voice.weigh(LISTED_ALL if plain else LISTED_SOME)
    one_each = form.startswith(("singular", "each")) or (len(names) > 1 and voice.chance(SINGULAR_LIST))
    what = listed_names(voice, names if one_each else several)
    return Content(f"the {what} of each {rows.one}" if form == "each" else f"the {what} {_LINKS[form]} {rows.many}")


def _in_other_case(scene: Scene, expressions: Sequence[Expression], rows: Described) -> Content | None:
    """ "the names of all singers in upper case", where one column is asked for and in that way."""
    changed = expressions[0]
    if len(expressions) > 1 or not isinstance(changed, TextFunction) or changed.function not in ("upper", "lower"):
        return None
    inner = changed.arguments[0]
    if not isinstance(inner, Column) or not scene.same(rows.base, scene.bearer(inner)):
        return None
    if rows.distinct or rows.extent in ("single", "definite"):
        return None
    case = f"in {scene.voice.pick('upper case', 'uppercase letters')}".replace("upper", changed.function)
    return replace(_own(scene, [scene.phrase(inner)], rows), tail=case)


def _different(scene: Scene, expressions: Sequence[Expression], segments: Sequence[str], rows: Described) -> Content:
    """Different values of a column of another source, or of several expressions (said as `segments`) together."""
    column = expressions[0]
    if len(expressions) > 1 or not isinstance(column, Column):
        return Content(f"the different combinations of {scene.voice.listed(segments)} for {rows.many}")
    kind, values = scene.voice.weigh(DIFFERENT), words.plural(scene.phrase(column))
    whose = scene.bearer(column)
    held = _held_by(scene, whose, rows) or f"the {scene.many(whose)} of {rows.many}"
    return Content(f"the {kind} {values} of {held}")


def _held_by(scene: Scene, parent: str, rows: Described) -> str:
    """ "customers who have placed orders in 2010": of different values it does not count how often one is met.

    "" where the parents are further away, or play a role for the rows.
    """
    table, base = scene.table(parent), rows.base
    if table is None or scene.many(parent) != table.plural or not _is_near(scene, base, parent):
        return ""
    done = deed(scene.relation_of(parent))
    have = f"have {done}" if done else "have"
    join = next(join for other, join, _ in scene.neighbours(base) if other == parent)
    key = tuple(pair[0 if join.left == base else 1] for pair in join.columns)
    seen = Scene(scene.query, scene.profile, scene.voice, scene.outer, seen_from=table)
    narrowed = any(owner(scene, part) == parent for part in conjuncts(scene.query.where))
    parents = subject(scene, parent, True, skip={base}) if narrowed else scene.many(parent)
    apart = narrowed or seen.many(base) != scene.many(base)
    many = subject(seen, base, True, skip={parent}) if apart else rows.many
    who = f"{'and ' if _CLAUSE.search(parents) else ''}{scene.who(parent)}"
    return f"{parents} {who} {'are' if is_part(seen, base, key, table) else have} {many}"


def _beside(scene: Scene, expressions: Sequence[Expression], owners: Sequence[str], rows: Described) -> Content:
    """Columns of the rows and of what they belong to; `owners`: whose each run of them is, "" for that of the rows."""
    voice, base = scene.voice, rows.base
    form = _form_beside(scene, expressions, owners, base)
    if form == "together":
        return Content(_together(scene, expressions, base, rows.many))
    if form == "compound" and owners[0]:
        theirs = voice.listed([words.plural(compounded(scene.one(owners[0]), p)) for p in _phrases(scene, expressions)])
        return Content(f"the {theirs} {voice.pick('of', 'for')} {voice.pick('all ', 'the ')}{rows.many}")
    if form == "of each" and _is_short(scene, rows):
        return Content(joined(scene, expressions, base, f"each {rows.one}"))
    return Content(led(scene, expressions, base), lead=f"for {voice.weigh(EACH)} {rows.one}")


def _form_beside(scene: Scene, expressions: Sequence[Expression], owners: Sequence[str], base: str) -> str:
    if all(isinstance(e, Column) for e in expressions):
        if len(owners) == 2 and owners[0] == "" and _is_near(scene, base, owners[1]):
            return scene.voice.weigh(BESIDE)
        if len(owners) == 1:
            return scene.voice.weigh(ELSEWHERE)
    return scene.voice.pick("of each", "for each")


def _is_short(scene: Scene, rows: Described) -> bool:
    """Whether a row is said by its noun, with a name or an age at most, so that one hears what is "of" it."""
    behind = rows.one.removeprefix(scene.one(rows.base)).split(" ")
    return behind[1:2] in ([], ["named"], ["called"], ["titled"], ["older"])


def listed_names(voice: Voice, names: Sequence[str]) -> str:
    """The names as a list; "first name", "last name" in a row become "first and last name"."""
    merged: list[str] = []
    for name in names:
        before, _, noun = name.rpartition(" ")
        whose, _, part = before.rpartition(" ")
        last = merged[-1] if merged else ""
        of_last, _, last_part = last.rpartition(" ")[0].rpartition(" ")
        parts = part in _PART_OF_NAME and last_part in _PART_OF_NAME
        if parts and whose == of_last and last.endswith(f" {noun}"):
            merged[-1] = f"{last.rpartition(' ')[0]} and {part} {noun}"
        else:
            merged.append(f"the {name}" if merged and " minus " in name else name)
    return merged[0] if len(merged) == 1 else voice.listed(merged)


def _phrases(scene: Scene, expressions: Sequence[Expression]) -> list[str]:
    return [scene.phrase(e) for e in expressions if isinstance(e, Column)]


def _is_near(scene: Scene, base: str, alias: str) -> bool:
    return any(other == alias for other, _, _ in scene.neighbours(base))


def _segment(scene: Scene, expression: Expression, base: str) -> str:
    if isinstance(expression, Column) and not scene.same(base, scene.bearer(expression)):
        return compounded(scene.one(scene.bearer(expression)), scene.phrase(expression))
    return term(scene, expression, base)


def _together(scene: Scene, expressions: Sequence[Expression], base: str, many: str) -> str:
    """ "the titles of concerts and the names of their stadiums"."""
    (_, own), (parent, theirs) = _by_owner(scene, expressions, base)
    corresponding = scene.voice.weigh(CORRESPONDING)
    first = f"the {listed_names(scene.voice, [words.plural(n) for n in own])} of {scene.voice.pick('', 'all ')}{many}"
    comma = "," if many != scene.many(base) or len(own) > 1 else ""
    names = listed_names(scene.voice, [words.plural(n) for n in theirs])
    return f"{first}{comma} and the {names} of {corresponding} {scene.many(parent)}"


def led(scene: Scene, expressions: Sequence[Expression], base: str) -> str:
    """The expressions after "for each concert,": "the title and date, and the name of its stadium"."""
    said: list[str] = []
    groups = _by_owner(scene, expressions, base)
    for i, (whose, names) in enumerate(groups):
        # "Its name", where another's name follows.
        again = len(names) == 1 and any(names == others for _, others in groups[i + 1 :])
        if whose:
            said.append(_theirs(scene, base, whose, names))
            continue
        # Behind "the name of its customer", "the id" may be the customer's.
        alone = len(groups) > 1 and [name.lower() for name in names] == ["id"]
        shown = [compounded(scene.one(base), name) for name in names] if alone else names
        said.append(f"{scene.its(base) if again else 'the'} {listed_names(scene.voice, shown)}")
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"


def _theirs(scene: Scene, base: str, owner: str, names: Sequence[str]) -> str:
    """Columns of what a row of `base` belongs to: "the stadium name", or "the name of its stadium"."""
    short = [compounded(scene.one(owner), name) for name in names]
    table = scene.table(base)
    taken = {c.phrase.lower() for c in table.columns} if table is not None else set()
    plain = all(len(text.split(" ")) < 4 and text.lower() not in taken for text in short)
    if plain and _is_near(scene, base, owner) and scene.voice.chance(COMPOUND):
        return f"the {listed_names(scene.voice, short)}"
    return f"the {listed_names(scene.voice, names)} of {scene.tie(base, owner)}"


def _by_owner(scene: Scene, expressions: Sequence[Expression], base: str) -> list[tuple[str, list[str]]]:
    """Runs of expressions of one source: (alias or "" for the base itself, their phrases)."""
    groups: list[tuple[str, list[str]]] = []
    for e in expressions:
        whose = scene.bearer(e) if isinstance(e, Column) else base
        key = "" if scene.same(base, whose) else whose
        name = scene.phrase(e) if isinstance(e, Column) and key else quantity(scene, e, base)
        if groups and groups[-1][0] == key:
            groups[-1][1].append(name)
        else:
            groups.append((key, [name]))
    return groups


def joined(scene: Scene, expressions: Sequence[Expression], base: str, of: str) -> str:
    """ "the name of each concert and the name of its stadium"; `of` is how a row of the base is said first."""
    said: list[str] = []
    for key, names in _by_owner(scene, expressions, base):
        if key and said:
            said.append(_theirs(scene, base, key, names))
            continue
        whose = f"the {scene.one(key)} of {of}" if key else f"the {scene.one(base)}" if said else of
        said.append(f"the {listed_names(scene.voice, names)} of {whose}")
    return scene.voice.listed(said) if len(said) < 3 else f"{', '.join(said[:-1])} and {said[-1]}"
