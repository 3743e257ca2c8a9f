"""Sorting, and what comes first: order clauses and superlatives."""

from __future__ import annotations

from collections.abc import Sequence

from agro_data.intent.questions.clauses.comparing import counted, sort_of
from agro_data.intent.questions.clauses.phrases import figure, term
from agro_data.intent.questions.habits import LARGEST, LATEST, SMALLEST, SUPERLATIVE
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.naming.nouns import Scene
from agro_data.intent.tree import Aggregate, Column, DatePart, Expression, OrderKey, TextFunction

_ADJECTIVES = {
    "age": ("oldest", "youngest"),
    "price": ("most expensive", "cheapest"),
    "cost": ("most expensive", "cheapest"),
    "height": ("tallest", "shortest"),
    "weight": ("heaviest", "lightest"),
    "length": ("longest", "shortest"),
    "duration": ("longest", "shortest"),
    "population": ("most populous", "least populous"),
}
_PEOPLE_ONLY = frozenset({"age", "height", "weight"})


def key_phrase(scene: Scene, expression: Expression, base: str) -> str:
    """What rows are sorted by, with its article."""
    if isinstance(expression, Aggregate):
        if expression.where is not None:
            return f"the {figure(scene, expression)}"
        if expression.function == "count" and not expression.distinct and expression.argument is None:
            return f"the number of {scene.many(base)}"
        return f"the {figure(scene, expression, short=True)}"
    phrase = term(scene, expression, base)
    shown = [o.expression for o in scene.query.select if isinstance(o.expression, Column)]
    if isinstance(expression, Column) and any(
        scene.bearer(c) != scene.bearer(expression) and scene.phrase(c) == scene.phrase(expression) for c in shown
    ):
        return f"{scene.phrase(expression)} of the {scene.one(expression.source)}"
    return phrase


def sort_key(scene: Scene, expression: Expression) -> str:
    """number, year, date, text or boolean: how its order is said."""
    if isinstance(expression, Column):
        column = scene.column(expression)
        sort = sort_of(column)
        # An ENUM sorts as its type lists the values: small, medium, large.
        return "number" if sort == "text" and column and column.declared_type.upper().startswith("ENUM") else sort
    if isinstance(expression, DatePart):
        return "year"
    if isinstance(expression, TextFunction) and expression.function != "length":
        return "text"
    return "number"


def order_clause(scene: Scene, keys: Sequence[OrderKey], base: str) -> str:
    """ "sorted by age in descending order and then by name in alphabetical order"."""
    if not keys:
        return ""
    voice = scene.voice
    verb = (
        voice.pick("sorted", "sorted", "ordered", "ordered", "ordered", "listed")
        if len(keys) == 1
        else voice.pick("sorted", "ordered")
    )
    first = keys[0]
    sort, phrase = sort_key(scene, first.expression), key_phrase(scene, first.expression, base)
    bare = phrase.removeprefix("the ")
    way = "descending" if first.descending else "ascending"
    if len(keys) == 1:
        if sort == "text":
            forms = [f"in {'reverse ' if first.descending else ''}alphabetical order of {bare}",
                     f"{verb} by {bare} in {'reverse ' if first.descending else ''}alphabetical order",
                     *[f"{verb} by {phrase} in {way} order"] * 2, *[f"in {way} order of {phrase}"] * 2]  # fmt: skip
            if [o.expression for o in scene.query.select] == [first.expression]:
                # One column and its own order: nothing else could be meant.
                way = f"{'reverse ' if first.descending else ''}alphabetical order"
                return voice.pick(f"in {way}", f"{verb} in {way}", *forms)
            forms.append(
                f"{verb} {'in reverse alphabetical order' if first.descending else 'alphabetically'} by {bare}"
            )
        elif sort in ("date", "year"):
            ends = ("latest", "earliest") if first.descending else ("earliest", "latest")
            forms = [f"{verb} by {phrase} from {ends[0]} to {ends[1]}", f"in {way} order of {bare}",
                     f"{verb} by {phrase} in {way} order"]  # fmt: skip
        else:
            ends = ("highest", "lowest") if first.descending else ("lowest", "highest")
            forms = [f"in {way} order of {bare}", *[f"{verb} by {phrase} in {way} order"] * 3,
                     f"{verb} by {phrase} from {ends[0]} to {ends[1]}", f"{verb} in {way} order of {bare}"]  # fmt: skip
        if phrase.endswith((" from", " to")):
            forms = [form for form in forms if " from from " not in form and " to from " not in form]
        return voice.pick(*forms)
    rest = [f"{key_phrase(scene, k.expression, base)} in {_way(scene, k)} order" for k in keys]
    if len({k.descending for k in keys}) == 1 and len({_way(scene, k) for k in keys}) == 1:
        names = [key_phrase(scene, k.expression, base) for k in keys]
        return (
            f"{verb} by {', then by '.join(names)}, {'all' if len(keys) > 2 else 'both'} in {_way(scene, first)} order"
        )
    return f"{verb} by {' and then by '.join(rest)}"


def _way(scene: Scene, key: OrderKey) -> str:
    if sort_key(scene, key.expression) == "text":
        return "reverse alphabetical" if key.descending else "alphabetical"
    return "descending" if key.descending else "ascending"


def extreme_word(scene: Scene, expression: Expression, descending: bool, k: int = 1) -> str:
    """ "highest", "earliest", "longest": the superlative that fits the key.

    With several rows only one need have the maximum, while the k highest need not be equal.
    """
    sort = sort_key(scene, expression)
    if sort in ("date", "year"):
        return scene.voice.weigh(LATEST) if descending else "earliest"
    if sort == "text":
        return "alphabetically last" if descending else "alphabetically first"
    if isinstance(expression, TextFunction):
        return "greatest" if descending else "smallest"
    ways = LARGEST if descending else SMALLEST
    return scene.voice.weigh({w: share for w, share in ways.items() if k == 1 or w not in ("maximum", "minimum")})


def superlative(scene: Scene, key: OrderKey, base: str, noun: str, k: int) -> str:
    """Noun of the best k rows: "oldest singer", "3 singers with the highest age". `noun` holds the conditions."""
    phrase = term(scene, key.expression, base)
    plain = scene.many(base) if k > 1 else scene.one(base)
    count = f"{k} " if k > 1 else ""
    adjective = superlative_adjective(scene, key, base, phrase)
    if adjective and scene.voice.chance(0.6):
        return f"{count}{adjective} {noun}"
    return _with(scene, f"{count}{noun}", plain, f"the {extreme(scene, key, base, k)}", several=k > 1)


def extreme(scene: Scene, key: OrderKey, base: str, k: int = 1) -> str:
    """ "highest age", "longest name", "most followers", of the best k rows."""
    if isinstance(key.expression, TextFunction):
        inner = term(scene, key.expression.arguments[0], base)
        return f"{'longest' if key.descending else 'shortest'} {inner}"
    phrase = term(scene, key.expression, base)
    most = "most" if key.descending else "fewest"
    if phrase.startswith("number of ") and scene.voice.chance(0.7):
        return f"{most} {phrase[10:]}"
    if counted(phrase) == phrase and _countable(scene, key):
        return f"{most} {phrase}"
    return f"{extreme_word(scene, key.expression, key.descending, k)} {phrase}"


def _with(scene: Scene, noun: str, plain: str, best: str, several: bool) -> str:
    """The superlative straight after a bare noun; after a noun with conditions it would attach to the last of them."""
    if noun.endswith(plain):
        return f"{noun} {holding(scene, plain, several)} {best}"
    return f"{noun}, the one with {best}"


def holding(scene: Scene, noun: str, several: bool = False) -> str:
    """ "with", or "that has", "who have" after the noun, which need not show that it is of `several`: "aircraft"."""
    if scene.voice.weigh(SUPERLATIVE) == "with":
        return "with"
    return f"{'who' if scene.are_people(noun) else 'that'} {'have' if several or words.is_plural(noun) else 'has'}"


def _countable(scene: Scene, key: OrderKey) -> bool:
    profile = scene.column(key.expression) if isinstance(key.expression, Column) else None
    return profile is not None and profile.integral


def superlative_adjective(scene: Scene, key: OrderKey, base: str, phrase: str) -> str:
    """ "oldest" for the highest age of a person; "" where no adjective says the key."""
    pair = _ADJECTIVES.get(phrase)
    if pair is None or not isinstance(key.expression, Column) or key.expression.source != base:
        return ""
    if phrase in _PEOPLE_ONLY and not scene.is_person(base):
        return ""
    if phrase == "population" and scene.one(base) not in ("city", "country", "state", "town", "county", "region"):
        return ""
    return pair[0] if key.descending else pair[1]
