"""Frames for answers with one row for each subject, and for one row over all subjects."""

from __future__ import annotations

from collections.abc import Sequence

from agro_data.intent.questions import words
from agro_data.intent.questions.content import Content
from agro_data.intent.questions.modifiers import Atom
from agro_data.intent.questions.nouns import Scene
from agro_data.intent.questions.order import extreme_word, order_clause, superlative
from agro_data.intent.questions.phrases import (
    atoms_on,
    figure,
    function_words,
    parts_of,
    subject,
    term,
)
from agro_data.intent.questions.values import say_number
from agro_data.intent.tree import (
    Aggregate,
    Case,
    Column,
    Comparison,
    Expression,
    IsNull,
    OrderKey,
    Output,
    Predicate,
    Query,
    Scalar,
    Share,
    Value,
    walk,
)


def listing(scene: Scene) -> Content:
    """Columns of each subject, perhaps sorted, perhaps only the first k."""
    query = scene.query
    base = scene.grain
    if query.limit is not None and query.order_by:
        return _best(scene, query, base)
    extreme = _extreme(scene, query)
    if extreme is not None:
        return extreme
    one, many = subject(scene, base, False), subject(scene, base, True)
    tail = order_clause(scene, query.order_by, base)
    content = answer(scene, query.select, base, one, many, query.distinct)
    ask, then = _which(scene, query, base)
    return Content(content.np, content.lead, tail, ask or content.ask, then)


def _which(scene: Scene, query: Query, base: str) -> tuple[str, str]:
    """A direct question for the rows and a request for their columns: "which singers ...", "Give me their names."."""
    own = all(isinstance(o.expression, Column) and o.expression.source == base for o in query.select)
    if query.distinct or query.order_by or not own or not scene.voice.chance(0.4):
        return "", ""
    verb = _verb(atoms_on(scene, base, set()))
    if not verb:
        return "", ""
    names = scene.voice.listed([words.plural(term(scene, o.expression, base)) for o in query.select])
    give = scene.voice.pick("Give me", "Give", "List", "Show", "Return", "Give me", "Find")
    return f"which {scene.many(base)} {verb}", f"{give} their {names}."


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
        content = answer(scene, query.select, base, noun, noun, False, definite=True)
        return Content(content.np, content.lead, ", ".join(t for t in (ties, tail) if t))
    content = answer(scene, query.select, base, noun, noun, False, single=True)
    return Content(content.np, content.lead, ties)


def _among(scene: Scene, key: OrderKey, base: str, k: int, drop: tuple[Predicate, ...]) -> str:
    """ "of the singers from France, the oldest one" said so that the condition cannot attach elsewhere."""
    phrase = term(scene, key.expression, base)
    extreme = f"the {extreme_word(scene, key.expression, key.descending)} {phrase}"
    many = subject(scene, base, True, drop=drop)
    noun = scene.many(base) if k > 1 else scene.one(base)
    count = f"{k} " if k > 1 else ""
    return scene.voice.pick(
        f"{count}{noun} with {extreme} among {many}",
        f"{count}{noun} that {'have' if k > 1 else 'has'} {extreme} of all {many}",
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
    return tuple(p for p in parts_of(query.where) if isinstance(p, IsNull) and p.negated and p.argument in columns)


def _extreme(scene: Scene, query: Query) -> Content | None:
    """`column = (SELECT MAX(column))` alone: all that share the highest value."""
    parts = parts_of(query.where)
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
    extreme = f"{extreme_word(scene, test.left, key.descending)} {term(scene, test.left, base)}"
    phrase, who = term(scene, test.left, base), scene.who(base)
    many, one = scene.many(base), scene.one(base)
    form = voice.index("abc")
    has = (
        f"{who} have the {extreme}",
        f"with the {extreme}",
        f"whose {phrase} {words.be(phrase)} the {extreme.split(' ' + phrase, maxsplit=1)[0]}",
    )
    if len(query.select) == 1 and isinstance(query.select[0].expression, Aggregate):
        return Content(f"the number of {many} {has[form]}", ask=f"how many {many} have the {extreme}")
    single = has[form].replace(f"{who} have", f"{who} has")
    content = answer(scene, query.select, base, f"{one} {single}", f"{many} {has[form]}", query.distinct, every=True)
    tie = voice.pick("including any ties", "including ties", "ties included", "including all that tie")
    return Content(content.np, content.lead, tie)


# --- answers -----------------------------------------------------------------------------------------------------


def answer(
    scene: Scene, select: Sequence[Output], base: str, one: str, many: str, distinct: bool,
    single: bool = False, definite: bool = False, every: bool = False,
) -> Content:  # fmt: skip
    """The selected columns of the rows that `one` and `many` describe, in the order of the select."""
    expressions = [o.expression for o in select]
    if all(isinstance(e, Aggregate | Share) for e in expressions):
        return totals(scene, expressions, many)
    plain = [isinstance(e, Column) and e.source == base for e in expressions]
    voice = scene.voice
    if all(plain):
        names = [term(scene, e, base) for e in expressions]
        return _own(scene, names, base, one, many, distinct, single, definite, every)
    segments = [_segment(scene, e, base) for e in expressions]
    if distinct:
        if len(segments) == 1 and isinstance(expressions[0], Column):
            column = expressions[0]
            kind = voice.pick("different", "different", "distinct")
            return Content(
                f"the {kind} {words.plural(scene.phrase(column))} of the {scene.many(column.source)} of {many}"
            )
        return Content(f"the different combinations of {scene.voice.listed(segments)} for {many}")
    if (single or definite) and scene.query.where is not None:
        return Content(_led(scene, expressions, base), lead=f"for the {one}" if single else f"for each of the {many}")
    if single:
        return Content(joined(scene, expressions, base, f"the {one}"))
    if definite:
        return Content(joined(scene, expressions, base, f"each of the {many}"))
    simple = one.removeprefix(scene.one(base)).split(" ")[1:2] in ([], ["named"], ["called"], ["titled"], ["older"])
    if _pairs_up(scene, expressions, base) and voice.chance(0.5 if simple else 0.35):
        return Content(_together(scene, expressions, base, many))
    if simple and voice.chance(0.7):
        return Content(joined(scene, expressions, base, f"each {one}"))
    return Content(_led(scene, expressions, base), lead=f"for {voice.pick('each', 'each', 'every')} {one}")


def _own(
    scene: Scene,
    names: list[str],
    base: str,
    one: str,
    many: str,
    distinct: bool,
    single: bool,
    definite: bool,
    every: bool,
) -> Content:
    voice = scene.voice
    several = [words.plural(n) for n in names]
    plain = many == scene.many(base)
    if single:
        return Content(f"the {scene.voice.listed(names)} of the {one}")
    if distinct:
        kind = voice.pick("different", "distinct", "different", "unique")
        if len(names) == 1:
            return Content(
                f"the {kind} {several[0]} of {voice.pick('all ', '')}{many}"
                if plain
                else f"the {kind} {several[0]} of {many}"
            )
        return Content(f"the {kind} combinations of {scene.voice.listed(names)} of {many}")
    if definite:
        return Content(f"the {scene.voice.listed(several)} of the {many}")
    if every:
        return Content(
            voice.pick(
                f"the {scene.voice.listed(several)} of all {many}", f"the {scene.voice.listed(names)} of each {one}"
            )
        )
    of_several = f"the {scene.voice.listed(several)} of"
    # "the students whose ..." needs a condition to be definite; bare "the students" would not.
    the = [f"{of_several} the {many}"] * 2 if not plain else [f"{of_several} all the {many}"]
    forms = [f"{of_several} {many}", f"{of_several} {many}", f"{of_several} all {many}", *the]
    forms.append(f"the {scene.voice.listed(names)} {voice.pick('of each', 'of each', 'for each')} {one}")
    forms.append(f"the {scene.voice.listed(several)} {'for all' if plain else 'for the'} {many}")
    if plain and len(names) == 1 and not names[0].lower().startswith(scene.one(base)):
        forms += [f"all {scene.one(base)} {several[0]}", f"the {several[0]} of all the {many}"]
    text = voice.pick(*forms)
    return Content(text)


def _segment(scene: Scene, expression: Expression, base: str) -> str:
    if isinstance(expression, Column) and expression.source != base:
        return f"{scene.one(expression.source)} {scene.phrase(expression)}"
    return term(scene, expression, base)


def _pairs_up(scene: Scene, expressions: Sequence[Expression], base: str) -> bool:
    """Whether the plural says the columns as clearly as "each": columns of the base first, then of one parent."""
    owners = [key for key, _ in _by_owner(scene, expressions, base)]
    plain = all(isinstance(e, Column) for e in expressions)
    return plain and len(owners) == 2 and owners[0] == "" and any(o == owners[1] for o, _, _ in scene.neighbours(base))


def _together(scene: Scene, expressions: Sequence[Expression], base: str, many: str) -> str:
    """ "the titles of concerts and the names of their stadiums"."""
    (_, own), (parent, theirs) = _by_owner(scene, expressions, base)
    corresponding = scene.voice.pick("their", "their", "their corresponding", "the corresponding")
    first = f"the {scene.voice.listed([words.plural(n) for n in own])} of {scene.voice.pick('', 'all ')}{many}"
    comma = "," if many != scene.many(base) or len(own) > 1 else ""
    names = scene.voice.listed([words.plural(n) for n in theirs])
    return f"{first}{comma} and the {names} of {corresponding} {scene.many(parent)}"


def _led(scene: Scene, expressions: Sequence[Expression], base: str) -> str:
    """The expressions after "for each concert,": "the title and date, and the name of its stadium"."""
    said: list[str] = []
    groups = _by_owner(scene, expressions, base)
    for owner, names in groups:
        alone = (
            f"the {scene.voice.listed(names)}"
            if not owner
            else f"the {scene.voice.listed(names)} of {scene.tie(base, owner)}"
        )
        said.append(alone)
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"


def _by_owner(scene: Scene, expressions: Sequence[Expression], base: str) -> list[tuple[str, list[str]]]:
    """Runs of expressions of one source: (alias or "" for the base itself, their phrases)."""
    groups: list[tuple[str, list[str]]] = []
    for e in expressions:
        key = e.source if isinstance(e, Column) and e.source != base else ""
        name = scene.phrase(e) if isinstance(e, Column) else term(scene, e, base)
        if groups and groups[-1][0] == key:
            groups[-1][1].append(name)
        else:
            groups.append((key, [name]))
    return groups


def joined(scene: Scene, expressions: Sequence[Expression], base: str, of: str) -> str:
    """ "the name of each concert and the name of its stadium"; `of` is how a row of the base is said first."""
    said: list[str] = []
    for key, names in _by_owner(scene, expressions, base):
        if key:
            whose = scene.tie(base, key) if said else f"the {scene.one(key)} of {of}"
        else:
            whose = f"the {scene.one(base)}" if said else of
        said.append(f"the {scene.voice.listed(names)} of {whose}")
    return scene.voice.listed(said) if len(said) < 3 else f"{', '.join(said[:-1])} and {said[-1]}"


# --- one row -----------------------------------------------------------------------------------------------------


def totals(scene: Scene, expressions: Sequence[Expression], many: str) -> Content:
    """Aggregates over all rows that `many` describes."""
    voice = scene.voice
    if len(expressions) == 1 and isinstance(expressions[0], Aggregate) and expressions[0].function == "count":
        return _how_many(scene, expressions[0], many)
    if len(expressions) == 1 and isinstance(expressions[0], Share):
        return percentage(scene, expressions[0], many)
    np = figures(scene, expressions, many)
    ask = ""
    first = expressions[0]
    if len(expressions) == 1 and isinstance(first, Aggregate) and first.function == "sum" and voice.chance(0.15):
        ask = ""
    return Content(np, ask=ask)


def figures(scene: Scene, expressions: Sequence[Expression], many: str) -> str:
    """ "the minimum and maximum age of singers from France and the number of them"."""
    aggregates = [e for e in expressions if isinstance(e, Aggregate)]
    base = scene.grain
    if len(aggregates) == len(expressions) > 1:
        arguments = {a.argument for a in aggregates}
        plain = all(a.where is None and a.function != "count" for a in aggregates)
        words_ = [function_words(scene, a) for a in aggregates] if plain else []
        if len(arguments) == 1 and plain and all(straight for _, straight in words_):
            argument = aggregates[0].argument
            assert argument is not None
            return f"the {scene.voice.listed([w for w, _ in words_])} {term(scene, argument, base)} of {many}"
        if all(a.where is not None for a in aggregates):
            # Worded alike, so that their difference stands out.
            likes = [Scene(scene.query, scene.profile, scene.voice.twin(), scene.outer) for _ in aggregates]
            return scene.voice.listed(
                [f"the {figure(s, a, s.many(base))}" for s, a in zip(likes, aggregates, strict=True)]
            )
        first = f"the {figure(scene, aggregates[0], many)}"
        others = [f"their {figure(scene, a, short=True)}" if a.function != "count" or a.distinct else "how many there are"
                  for a in aggregates[1:]]  # fmt: skip
        comma = "," if " and " in many and len(others) == 1 else ""
        return f"{first}{comma} and {others[0]}" if len(others) == 1 else scene.voice.listed([first, *others])
    return scene.voice.listed(
        [
            f"the {figure(scene, e, many)}" if isinstance(e, Aggregate) else f"the {term(scene, e, base)}"
            for e in expressions
        ]
    )


def _how_many(scene: Scene, count: Aggregate, many: str) -> Content:
    base, voice = scene.grain, scene.voice
    np = f"the {figure(scene, count, many)}"
    if count.where is not None:
        return Content(np)
    if count.distinct and count.argument is not None:
        kinds = words.plural(term(scene, count.argument, base))
        different = voice.pick("different", "distinct")
        ask = f"how many {different} {kinds} do {many} have" if many == scene.many(base) else ""
        return Content(np, ask=ask)
    if scene.query.having is None and not scene.query.group_by:
        atoms = atoms_on(scene, base, set())
        verb = _verb(atoms)
        if verb and voice.chance(0.9):
            return Content(np, ask=f"how many {scene.many(base)} {verb}")
    long = len(many.split(" ")) > 8 or "whose" in many
    return Content(np, ask="" if long else f"how many {many} are there")


def _verb(atoms: Sequence[Atom]) -> str:
    """The conditions as one verb phrase, or "" where they do not make one."""
    if not atoms or len(atoms) > 2 or any(a.heavy for a in atoms[:-1]):
        return ""
    said = []
    for one in atoms:
        adjective = one.after.startswith(("older", "younger", "in ", "from ", "aged"))
        said.append(f"are {one.after}" if adjective else one.predicate(True))
    return " and ".join(said) if all(said) else ""


def percentage(scene: Scene, share: Share, many: str) -> Content:
    """ "what percentage of singers are from France"."""
    from agro_data.intent.questions.phrases import atom  # noqa: PLC0415

    base = scene.grain
    made = atom(scene, share.where, base)
    verb = made.predicate(True) or (f"are {made.after}" if made.after else "")
    if not verb:
        verb = f"are ones whose {made.whose}"
    who = scene.who(base)
    return Content(f"the percentage of {many} {who} {verb}", ask=f"what percentage of {many} {verb}")


def banded(case: Case) -> str:
    """The bands of a CASE over rising bounds, each with its ends: '"low" below 30, "high" from 30'."""
    said: list[str] = []
    last = ""
    for predicate, label in case.branches:
        if not isinstance(predicate, Comparison) or not isinstance(predicate.right, Value):
            raise TypeError("a band is bounded by a comparison with a literal")
        bound = predicate.right.value
        number = say_number(bound) if isinstance(bound, int | float) else str(bound)
        said.append(f'"{label.value}" from {last} to below {number}' if last else f'"{label.value}" below {number}')
        last = number
    if case.otherwise is not None:
        said.append(f'"{case.otherwise.value}" from {last} up')
    return words.listed(said)


def banded_column(scene: Scene, case: Case, base: str) -> str:
    """What the bands are of."""
    first = case.branches[0][0]
    if not isinstance(first, Comparison):
        raise TypeError("a band is bounded by a comparison with a literal")
    return term(scene, first.left, base)
