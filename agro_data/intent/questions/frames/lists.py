"""Frames for answers with one row for each subject: lists, the best k, all that share an extreme."""

from __future__ import annotations

from collections.abc import Sequence

from agro_data.intent.questions.clauses.order import extreme, extreme_word, order_clause, superlative
from agro_data.intent.questions.clauses.phrases import atoms_on, quantity, subject, term
from agro_data.intent.questions.content import Content
from agro_data.intent.questions.frames.columns import Described, answer
from agro_data.intent.questions.frames.totals import verb_phrase
from agro_data.intent.questions.habits import DIRECT_LIST, NAMING
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.naming.nouns import Scene
from agro_data.intent.tree import (
    Aggregate,
    Column,
    Comparison,
    Expression,
    IsNull,
    OrderKey,
    Predicate,
    Query,
    Scalar,
    conjuncts,
    walk,
)


def listing(scene: Scene) -> Content:
    """Columns of each subject, perhaps sorted, perhaps only the first k."""
    query = scene.query
    base = scene.grain
    if query.limit is not None and query.order_by:
        return _best(scene, query, base)
    shared = _extreme(scene, query)
    if shared is not None:
        return shared
    one, many = subject(scene, base, False), subject(scene, base, True)
    content = answer(scene, query.select, Described(base, one, many, distinct=query.distinct))
    tail = order_clause(scene, query.order_by, base) or content.tail
    ask, then = _which(scene, query, base)
    return Content(content.np, content.lead, tail, ask or content.ask, then)


def _which(scene: Scene, query: Query, base: str) -> tuple[str, str]:
    """A direct question for the rows and a request for their columns: "which singers ...", "Give me their names."."""
    own = all(isinstance(o.expression, Column) and scene.bearer(o.expression) == base for o in query.select)
    if query.distinct or query.order_by or not own or not scene.voice.chance(DIRECT_LIST):
        return "", ""
    verb = verb_phrase(atoms_on(scene, base, set()))
    if not verb:
        return "", ""
    shown = query.select[0].expression
    if len(query.select) == 1 and isinstance(shown, Column) and scene.names(shown):
        # What rows are called by answers "which" itself.
        return f"which {scene.many(base)} {verb}", scene.voice.pick(
            "", f"{scene.voice.weigh(NAMING)} their {words.plural(scene.phrase(shown))}."
        )
    names = scene.voice.listed([words.plural(quantity(scene, o.expression, base)) for o in query.select])
    singular = scene.voice.listed([quantity(scene, o.expression, base) for o in query.select])
    give = scene.voice.weigh(NAMING)
    return (
        f"which {scene.many(base)} {verb}",
        f"{give} {scene.voice.pick(f'their {names}', f'the {names}', f'the {singular}')}.",
    )


def _best(scene: Scene, query: Query, base: str) -> Content:
    key, k = query.order_by[0], query.limit or 1
    drop = implied(query, [o.expression for o in query.order_by])
    plain = subject(scene, base, k > 1, drop=drop)
    bare = plain in (scene.one(base), scene.many(base))
    noun = superlative(scene, key, base, plain, k) if bare else _among(scene, key, base, k, drop)
    ties = ""
    if len(query.order_by) > 1:
        ties = f"with ties broken by {order_clause(scene, query.order_by[1:], base).split(' by ', 1)[-1]}"
    if k > 1:
        tail = ranked(scene, key)
        content = answer(scene, query.select, Described(base, noun, noun, "definite"))
        return Content(content.np, content.lead, ", ".join(t for t in (ties, tail) if t))
    content = answer(scene, query.select, Described(base, noun, noun, "single"))
    ask, then = _which_one(scene, query, base, noun) if bare else ("", "")
    return Content(content.np, content.lead, ties, ask, then)


def _which_one(scene: Scene, query: Query, base: str, noun: str) -> tuple[str, str]:
    """ "which singer has the highest age", and a request for its columns where they are not what it is called by."""
    one = scene.one(base)
    if not all(isinstance(o.expression, Column) and scene.bearer(o.expression) == base for o in query.select):
        return "", ""
    names = [scene.phrase(o.expression) for o in query.select if isinstance(o.expression, Column)]
    rest = noun.removeprefix(one).strip().removeprefix(f"{scene.who(base)} has").removeprefix("with").strip()
    asked = f"which {one} {f'has {rest}' if noun.startswith(one) else f'is the {noun.removesuffix(one).strip()}'}"
    shown = query.select[0].expression
    if len(names) == 1 and isinstance(shown, Column) and scene.names(shown):
        return asked, ""
    return asked, f"{scene.voice.weigh(NAMING)} {scene.voice.pick(scene.its(base), 'the')} {scene.voice.listed(names)}."


def _among(scene: Scene, key: OrderKey, base: str, k: int, drop: tuple[Predicate, ...]) -> str:
    """ "of the singers from France, the oldest one" said so that the condition cannot attach elsewhere."""
    best = f"the {extreme(scene, key, base, k)}"
    many = subject(scene, base, True, drop=drop)
    noun = scene.many(base) if k > 1 else scene.one(base)
    count = f"{k} " if k > 1 else ""
    return scene.voice.pick(
        f"{count}{noun} with {best} among {many}",
        f"{count}{noun} {scene.who(base)} {'have' if k > 1 else 'has'} {best} of all {many}",
    )


def ranked(scene: Scene, key: OrderKey) -> str:
    """The order of a top list."""
    if not scene.voice.chance(0.75):
        way = "descending" if key.descending else "ascending"
        short = isinstance(key.expression, Aggregate)
        return (
            f"in {way} order of that number"
            if short
            else f"in {way} order of {term(scene, key.expression, scene.grain)}"
        )
    return f"starting with the {extreme_word(scene, key.expression, key.descending)}"


def implied(query: Query, expressions: Sequence[Expression]) -> tuple[Predicate, ...]:
    """NOT NULL conditions on the very keys of a superlative: what has no value cannot be highest."""
    columns = {n for e in expressions for n in walk(e) if isinstance(n, Column)}
    return tuple(p for p in conjuncts(query.where) if isinstance(p, IsNull) and p.negated and p.argument in columns)


def _extreme(scene: Scene, query: Query) -> Content | None:
    """`column = (SELECT MAX(column))` alone: all that share the highest value."""
    parts = conjuncts(query.where)
    if len(parts) != 1 or not isinstance(parts[0], Comparison) or parts[0].operator != "=":
        return None
    test = parts[0]
    if not isinstance(test.right, Scalar) or not isinstance(test.left, Column) or test.right.query.where is not None:
        return None
    output = test.right.query.select[0].expression
    if not isinstance(output, Aggregate) or output.function not in ("min", "max"):
        return None
    base, voice = scene.grain, scene.voice
    key = OrderKey(test.left, output.function == "max")
    best = extreme(scene, key, base)
    who, many, one = scene.who(base), scene.many(base), scene.one(base)
    form = voice.index("abc")
    has = (
        f"{who} have the {best}",
        f"with the {best}",
        f"that share the {best}" if not best.startswith(("most ", "fewest ")) else f"with the {best}",
    )
    if len(query.select) == 1 and isinstance(query.select[0].expression, Aggregate):
        return Content(f"the number of {many} {has[form]}", ask=f"how many {many} have the {best}")
    single = has[form].replace(f"{who} have", f"{who} has").replace("that share", "with")
    rows = Described(base, f"{one} {single}", f"{many} {has[form]}", "every", query.distinct)
    content = answer(scene, query.select, rows)
    # "all" with a plural asks for every one of them; where no plural is said, the tie must be.
    every = content.np.endswith(f"of all {many} {has[form]}")
    ask = f"which {many} have the {best}"
    own = all(isinstance(o.expression, Column) and scene.bearer(o.expression) == base for o in query.select)
    names = voice.listed([words.plural(quantity(scene, o.expression, base)) for o in query.select])
    tie = "" if every else voice.pick("including ties", "including any ties")
    return Content(content.np, content.lead, tie, *((ask, f"{voice.weigh(NAMING)} all their {names}.") if own else ()))
