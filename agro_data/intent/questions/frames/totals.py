"""Frames for one row over all subjects: counts, aggregates, percentages."""

from __future__ import annotations

from collections.abc import Sequence

from agro_data.intent.questions.clauses.functions import function_words, metric
from agro_data.intent.questions.clauses.modifiers import Atom
from agro_data.intent.questions.clauses.phrases import (
    atom,
    atoms_on,
    computed,
    figure,
    kind_of,
    quantity,
    subject,
    term,
    versioned,
)
from agro_data.intent.questions.content import Content
from agro_data.intent.questions.habits import COUNTED_VERB, TOTAL_NUMBER
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.naming.nouns import Scene
from agro_data.intent.questions.naming.relatives import deed
from agro_data.intent.tree import (
    Aggregate,
    Arithmetic,
    Column,
    Expression,
    MetricCall,
    Share,
)


def totals(scene: Scene, expressions: Sequence[Expression], many: str) -> Content:
    """Aggregates over all rows that `many` describes."""
    voice = scene.voice
    if any(under_condition(e) or isinstance(e, Arithmetic) for e in expressions):
        plain = scene.many(scene.grain)
        if many == plain:
            return Content(figures(scene, expressions, many))
        return Content(short_figures(scene, expressions, plain), lead=f"among {many}")
    if len(expressions) == 1 and isinstance(expressions[0], Aggregate) and expressions[0].function == "count":
        return _how_many(scene, expressions[0], many)
    if len(expressions) == 1 and isinstance(expressions[0], Share):
        said = percentage(scene, expressions[0], many)
        if many == scene.many(scene.grain):
            return said
        # A chain of "that have ... that have" is hard to follow: the rows come first.
        return Content(said.np.replace(f" of {many} ", " ", 1), lead=f"among {many}")
    if len(expressions) == 1 and isinstance(expressions[0], MetricCall):
        every = "all " if many == scene.many(scene.grain) else ""
        return Content(f"the {metric(scene, expressions[0])} of {every}{many}")
    if len(expressions) > 1 and many != scene.many(scene.grain) and _count_first(expressions):
        # Not "sales that have a quantity above 4 and their largest amount".
        return Content(short_figures(scene, expressions, scene.many(scene.grain)), lead=f"among {many}")
    np = figures(scene, expressions, many)
    ask = ""
    first = expressions[0]
    if len(expressions) == 1 and isinstance(first, Aggregate) and first.function == "sum" and voice.chance(0.15):
        ask = ""
    return Content(np, ask=ask)


def _count_first(expressions: Sequence[Expression]) -> bool:
    aggregates = [e for e in expressions if isinstance(e, Aggregate) and e.where is None]
    return len(aggregates) == len(expressions) and aggregates[0].function == "count"


def figures(scene: Scene, expressions: Sequence[Expression], many: str) -> str:
    """ "the minimum and maximum age of singers from France and the number of them"."""
    aggregates = [e for e in expressions if isinstance(e, Aggregate)]
    base = scene.grain
    if len(aggregates) == len(expressions) > 1:
        arguments = {a.argument for a in aggregates}
        plain = all(a.where is None and a.function != "count" for a in aggregates)
        words_ = [function_words(scene, a) for a in aggregates] if plain else []
        if len(arguments) == 1 and plain and len({straight for _, straight in words_}) == 1:
            argument = aggregates[0].argument
            assert argument is not None, "only COUNT may lack an argument"
            of = "" if words_[0][1] else "of the "
            return f"the {scene.voice.listed([w for w, _ in words_])} {of}{quantity(scene, argument, base)} of {many}"
        if any(map(under_condition, aggregates)):
            # Worded alike, so that their difference stands out. For each group "all orders" may be those of any.
            every = many if scene.query.group_by else f"all {many}"
            likes = [Scene(scene.query, scene.profile, scene.voice.twin(), scene.outer) for _ in aggregates]
            return scene.voice.listed(
                [
                    f"the {figure(s, a, many if under_condition(a) else every)}"
                    for s, a in zip(likes, aggregates, strict=True)
                ]
            )
        if plain:  # not "the price of orders with a known date and their quantity"
            return f"{scene.voice.listed([f'the {figure(scene, a, short=True)}' for a in aggregates])} of {many}"
        first = f"the {figure(scene, aggregates[0], many)}"
        others = [_further(scene, a) for a in aggregates[1:]]
        comma = "," if " and " in many and len(others) == 1 else ""
        return f"{first}{comma} and {others[0]}" if len(others) == 1 else scene.voice.listed([first, *others])
    theirs = many if scene.query.group_by and many != scene.many(base) else ""  # "its orders", of each group

    def told(e: Expression) -> str:
        if isinstance(e, Aggregate):
            return figure(scene, e, many)
        return computed(scene, e, base, theirs) if isinstance(e, Arithmetic) else term(scene, e, base)

    return scene.voice.listed([f"the {told(e)}" for e in expressions])


def short_figures(scene: Scene, expressions: Sequence[Expression], row_noun: str) -> str:
    """Figures of rows that have been described: "the total price", "the number of orders"."""
    said = []
    for e in expressions:
        if isinstance(e, Aggregate):
            whole = (e.function == "count" and not e.distinct) or under_condition(e)
            said.append(f"the {figure(scene, e, row_noun, short=not whole)}")
        else:
            said.append(f"the {term(scene, e, scene.grain)}")
    return scene.voice.listed(said)


def under_condition(expression: Expression) -> bool:
    """Whether a figure is only of the rows that meet a condition of its own."""
    return isinstance(expression, Aggregate) and expression.where is not None


def _further(scene: Scene, aggregate: Aggregate) -> str:
    """A later aggregate over rows that have been named."""
    if aggregate.function == "count" and not aggregate.distinct:
        return f"the number of {scene.many(scene.grain)}"
    return f"their {figure(scene, aggregate, short=True)}"


def _how_many(scene: Scene, count: Aggregate, many: str) -> Content:
    base, voice = scene.grain, scene.voice
    np = f"the {'total ' if voice.chance(TOTAL_NUMBER) else ''}{figure(scene, count, many)}"
    if count.distinct and count.argument is not None:
        parents = _parents(scene, count.argument)
        if parents:
            return Content(f"the number of {parents[0]} {parents[1]}", ask=f"how many {' '.join(parents[::2])}")
        kinds = words.plural(kind_of(scene, count.argument, base))
        different = voice.pick("different", "distinct")
        plain = many == scene.many(base) and not versioned(scene, count.argument)
        where = f"do {many} have" if plain else f"are there among {many}"
        where = "are there" if kinds == many else where
        ask = f"how many {different} {kinds} {where}"
        return Content(np, ask=ask)
    if scene.query.having is None and not scene.query.group_by:
        atoms = atoms_on(scene, base, set())
        verb = verb_phrase(atoms)
        clause = f" {scene.who(base)} " in many
        if verb and (clause or voice.chance(COUNTED_VERB if verb.startswith("have ") else 0.9)):
            return Content(np, ask=f"how many {scene.many(base)} {verb}")
    long = len(many.split(" ")) > 8 or "whose" in many or f" {scene.who(base)} " in many
    return Content(np, ask="" if long else f"how many {many} are there")


def _parents(scene: Scene, key: Expression) -> tuple[str, str, str] | None:
    """Different values of a key as the rows that it leads to: ("customers", "who have placed at least one order",
    "have placed ..."); None where these play a role of their own, as home teams do.
    """
    base, found = scene.grain, scene.referred(key)
    if found is None or not isinstance(key, Column) or found[1] is not None:
        return None
    if any(up and key.name in dict(join.columns) for _, join, up in scene.neighbours(base)):
        return None  # more is said of that parent than that it has a row
    parent, columns = found[0], [(key.name, name) for name in found[0].primary_key]
    done = deed(scene.verb(scene.table(base), parent, columns))
    held = f"{f'have {done}' if done else 'have'} at least one {subject(scene, base, False)}"
    who = "who" if scene.are_people(parent.singular) else "that"
    return parent.plural, f"{who} {held}", held


def verb_phrase(atoms: Sequence[Atom]) -> str:
    """The conditions as one verb phrase, or "" where they do not make one."""
    if not atoms or len(atoms) > 2 or any(a.heavy for a in atoms[:-1]):
        return ""
    said = []
    for one in atoms:
        adjective = one.after.startswith(
            ("older ", "younger ", "taller ", "shorter ", "heavier ", "lighter ", "in ", "from ", "aged ")
        )
        said.append(f"are {one.after}" if adjective else one.predicate(True))
    return " and ".join(said) if all(said) else ""


def percentage(scene: Scene, share: Share, many: str) -> Content:
    """ "what percentage of singers are from France"."""
    base = scene.grain
    made = atom(scene, share.where, base)
    verb = verb_phrase([made])
    if not verb:
        verb = f"are ones whose {made.whose}"
    who = scene.who(base)
    return Content(f"the percentage of {many} {who} {verb}", ask=f"what percentage of {many} {verb}")
