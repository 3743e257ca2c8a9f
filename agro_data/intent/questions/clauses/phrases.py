"""Expressions, conditions and nouns of one query as phrases. They refer to each other as the tree does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from agro_data.intent.questions.clauses.comparing import (
    between,
    compared,
    counted,
    listed_values,
    matched,
    missing,
    placed,
    sort_of,
)
from agro_data.intent.questions.clauses.date_parts import date_test, part_of_date
from agro_data.intent.questions.clauses.equality import DESCRIBED, by_meaning, called, done_by, on_days, stated
from agro_data.intent.questions.clauses.functions import TAKEN, combined, function_words, metric, text_function
from agro_data.intent.questions.clauses.modifiers import Atom, both, combine, either
from agro_data.intent.questions.clauses.ties import has_one, is_part, is_spoken_of, tie
from agro_data.intent.questions.clauses.values import quoted, say_value, say_values
from agro_data.intent.questions.habits import AVERAGE_ALONE, BEFORE, DIFFERENT, NONE, SOME, WITHOUT
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.naming.nouns import Scene
from agro_data.intent.questions.naming.relatives import deed
from agro_data.intent.tree import (
    Aggregate,
    And,
    Arithmetic,
    Between,
    Case,
    Column,
    Comparison,
    DatePart,
    Days,
    Exists,
    Expression,
    InList,
    InQuery,
    IsNull,
    Like,
    MetricCall,
    Or,
    Predicate,
    Scalar,
    Share,
    TextFunction,
    Value,
    Window,
    conjuncts,
    walk,
)
from agro_data.profiling.profile import ColumnProfile

# --- expressions -------------------------------------------------------------------------------------------------


def term(scene: Scene, expression: Expression, base: str) -> str:
    """Bare singular noun phrase of an expression over a row of `base`: "age", "length of the name"."""
    if isinstance(expression, Column):
        return scene.owned(expression, base)
    if isinstance(expression, Value):
        return say_value(expression, None, scene.voice)
    if isinstance(expression, Arithmetic):
        return computed(scene, expression, base)
    if isinstance(expression, DatePart):
        return part_of_date(scene, expression, base, term(scene, expression.argument, base))
    if isinstance(expression, Days):
        return (
            f"number of days from the {term(scene, expression.start, base)} to the {term(scene, expression.end, base)}"
        )
    if isinstance(expression, TextFunction):
        return text_function(scene, expression, [term(scene, a, base) for a in expression.arguments])
    if isinstance(expression, Aggregate):
        return figure(scene, expression)
    if isinstance(expression, Share):
        return f"percentage of {scene.many(base)} {condition_text(scene, expression.where, base)}"
    if isinstance(expression, MetricCall):
        return metric(scene, expression)
    if isinstance(expression, Scalar):
        return scalar(scene, expression).removeprefix("the ")
    if isinstance(expression, Case):
        return "band"
    if isinstance(expression, Window):
        return {"sum": "running total", "lag": "previous value"}.get(expression.function, "rank")
    raise TypeError(f"no words for {type(expression).__name__}")


def computed(scene: Scene, expression: Arithmetic, base: str, rows: str = "") -> str:
    """Two expressions joined by an operator, figures among them of `rows`: "its orders"."""
    left, right = expression.left, expression.right
    if not (isinstance(left, Aggregate) and isinstance(right, Aggregate)):
        return combined(scene, expression, term(scene, left, base), term(scene, right, base))
    if expression.operator == "-" and (left, right) == (replace(right, function="max"), replace(left, function="min")):
        return _spread(scene, left, right)
    # Beside the orders that are open those of any status are "all"; in groups those would be all of any group.
    every = "" if scene.query.group_by or (left.where is None) == (right.where is None) else f"all {scene.many(base)}"
    sides = (figure(scene, one, rows or ("" if one.where is not None else every)) for one in (left, right))
    return combined(scene, expression, *sides)


def _spread(scene: Scene, high: Aggregate, low: Aggregate) -> str:
    """ "difference between the highest and the lowest price of items"."""
    (most, _), (least, straight) = function_words(scene, high), function_words(scene, low)
    assert high.argument is not None, "of a count there is no highest"
    what = f"{'' if straight else 'of the '}{quantity(scene, high.argument, scene.grain)}"
    rows = scene.many(scene.grain)
    if high.where is not None:
        rows = f"{rows} {condition_text(scene, high.where, scene.grain)}"
    return f"difference between the {most} and the {least} {what} of {rows}"


def figure(scene: Scene, aggregate: Aggregate, rows: str = "", short: bool = False) -> str:
    """Bare noun phrase of an aggregate over `rows` ("singers from France"); `short` leaves the rows unsaid."""
    base = scene.grain
    many = rows or scene.many(base)
    if aggregate.where is not None:
        many = f"{many} {condition_text(scene, aggregate.where, base)}"
    if aggregate.function == "count":
        what = aggregate.argument
        if aggregate.distinct and what is not None:
            kind = words.plural(kind_of(scene, what, base))
            different = scene.voice.weigh(DIFFERENT)
            if many.startswith(kind) and many == scene.many(base):
                return f"number of {different} {kind}"  # allergy types, of which each is one
            of = "among" if versioned(scene, what) else "of"
            return f"number of {different} {kind}" + ("" if short else f" {of} {many}")
        if isinstance(what, Column) and what.source in scene.tables and what.source != base:
            many = scene.many(what.source)
        return f"number of {many}"
    word, straight = function_words(scene, aggregate)
    assert aggregate.argument is not None, f"{aggregate.function} needs an argument"
    inner = (term if aggregate.function == "sum" else quantity)(scene, aggregate.argument, base)
    said = f"{word} {inner}" if straight else f"{word} of the {inner}"
    return said if short else f"{said} of {many}"


def kind_of(scene: Scene, expression: Expression, base: str) -> str:
    """What different values of an expression are: "country"; of a key, what it leads to: "customer", "home team"; of
    what tells versions of a thing apart from others', that thing.
    """
    if thing := versioned(scene, expression):
        return thing
    found = scene.referred(expression)
    return term(scene, expression, base) if found is None else found[1] or found[0].singular


def versioned(scene: Scene, expression: Expression) -> str:
    """The thing whose versions have the same in a column, or ""."""
    table = scene.table(expression.source) if isinstance(expression, Column) else None
    kept = table.versions if table is not None else None
    return kept.singular if kept is not None and isinstance(expression, Column) and expression.name == kept.key else ""


def quantity(scene: Scene, expression: Expression, base: str) -> str:
    """What is shown, averaged or ranked: "price"; "number of followers" of a plural that says how many there are."""
    phrase = term(scene, expression, base)
    profile = _profile(scene, expression)
    many = profile is not None and profile.integral and counted(phrase) == phrase and not phrase.startswith(TAKEN)
    return f"number of {phrase}" if many else phrase


def scalar(scene: Scene, expression: Scalar) -> str:
    """ "the average age of all singers"."""
    inner = Scene(expression.query, scene.profile, scene.voice, scene)
    output = expression.query.select[0].expression
    if isinstance(output, Aggregate) and inner.grain in inner.cte_of and isinstance(output.argument, Column):
        return f"the average {scene.phrase(output.argument)}"
    rows = subject(inner, inner.grain, plural=True)
    if rows == inner.many(inner.grain):
        outer = scene.query
        alone = isinstance(outer.where, Comparison) and len(outer.sources) == 1 and not outer.group_by
        same = alone and outer.sources[0].table == inner.query.sources[0].table
        if isinstance(output, Aggregate) and same and scene.voice.chance(AVERAGE_ALONE):
            # Nothing else narrows the rows: the average can only be that of all.
            return f"the {figure(inner, output, short=True)}"
        rows = f"all {rows}"
    if isinstance(output, Aggregate):
        return f"the {figure(inner, output, rows)}"
    return f"the {term(inner, output, inner.grain)} of {rows}"


# --- conditions --------------------------------------------------------------------------------------------------


def owner(scene: Scene, predicate: Predicate) -> str:
    """The source that a condition is about; the grain where it is about several."""
    columns = [n for n in walk(predicate) if isinstance(n, Column) and n.source in scene.tables]
    sources = dict.fromkeys(map(scene.bearer, columns))
    return next(iter(sources)) if len(sources) == 1 else scene.grain


def atom(scene: Scene, predicate: Predicate, base: str) -> Atom:
    """Forms of one condition on a row of `base`."""
    voice = scene.voice
    if isinstance(predicate, Comparison):
        return _comparison(scene, predicate, base)
    if isinstance(predicate, Between):
        profile = _profile(scene, predicate.argument)
        low, high = say_value(predicate.low, profile, voice), say_value(predicate.high, profile, voice)
        count = sort_of(profile) == "number" and "." not in low + high and _whole(profile)
        return between(term(scene, predicate.argument, base), low, high, voice, count)
    if isinstance(predicate, Like):
        text = str(predicate.text.value)
        phrase, said = term(scene, predicate.argument, base), quoted(text, voice)
        any_case = scene.profile.dialect == "duckdb"  # where LIKE minds case, and ILIKE is rendered
        return matched(phrase, predicate.kind, said, predicate.negated, voice, any_case)
    if isinstance(predicate, InList):
        profile = _profile(scene, predicate.argument)
        texts = say_values(predicate.values, profile, voice)
        if not predicate.negated and (days := on_days(scene, predicate.argument, base, predicate.values)):
            return days
        return listed_values(term(scene, predicate.argument, base), texts, predicate.negated, voice)
    if isinstance(predicate, IsNull):
        return missing(term(scene, predicate.argument, base), predicate.negated, voice)
    if isinstance(predicate, Exists):
        return _existence(scene, predicate, base)
    if isinstance(predicate, InQuery):
        return _membership(scene, predicate, base)
    if isinstance(predicate, Or):
        same = _same_column(scene, predicate, base)
        return same if same is not None else either([atom(scene, p, base) for p in predicate.parts])
    if isinstance(predicate, And):
        return both([atom(scene, p, base) for p in predicate.parts])
    inner = atom(scene, predicate.part, base)
    return Atom(verb=(f"do not {inner.predicate(True)}", f"does not {inner.predicate(True)}"), heavy=inner.heavy)


def _same_column(scene: Scene, predicate: Or, base: str) -> Atom | None:
    """ "a status of either A or B" for alternatives of one column."""
    parts = [
        p for p in predicate.parts if isinstance(p, Comparison) and p.operator == "=" and isinstance(p.right, Value)
    ]
    if len(parts) != len(predicate.parts) or len({p.left for p in parts}) != 1:
        return None
    phrase = term(scene, parts[0].left, base)
    profile = _profile(scene, parts[0].left)
    said = scene.voice.listed(
        say_values([p.right for p in parts if isinstance(p.right, Value)], profile, scene.voice), "or"
    )
    either_ = "either " if scene.voice.chance(0.25) and len(parts) == 2 else ""
    after = placed(phrase, f"{either_}{said}", scene.voice) if phrase in ("country", "continent", "location") else ""
    column = parts[0].left
    if days := on_days(scene, column, base, [p.right for p in parts]):
        return days
    if isinstance(column, Column) and scene.phrase(column) == "description" and scene.names(column):
        after = f"{DESCRIBED}{either_}{said}"
    return Atom(have=f"{phrase} {either_}{said}", whose=f"{phrase} {words.be(phrase)} {either_}{said}", after=after)


def _profile(scene: Scene, expression: Expression) -> ColumnProfile | None:
    return scene.column(expression) if isinstance(expression, Column) else None


def _whole(profile: ColumnProfile | None) -> bool:
    """Whether a number may be one of things: nobody has fewer than 37 taxes where a tax was 12.5."""
    return profile is None or profile.integral


def _comparison(scene: Scene, predicate: Comparison, base: str) -> Atom:
    left, right, voice = predicate.left, predicate.right, scene.voice
    profile = _profile(scene, left)
    if isinstance(left, DatePart):
        called_so = term(scene, left.argument, base)
        if isinstance(right, Value):
            return date_test(scene, left, predicate.operator, right, called_so, lambda: term(scene, left, base))
        part, other = term(scene, left, base), term(scene, right, base)
        return compared(part, "number", predicate.operator, other, voice, count=False)
    phrase = term(scene, left, base)
    equal = predicate.operator == "="
    if isinstance(right, Value):
        text = say_value(right, profile, voice)
        flag = predicate.operator in ("=", "!=") and isinstance(left, Column) and scene.same(base, left.source)
        if profile is not None and flag and (state := stated(profile, right.value, equal)) is not None:
            return Atom(verb=state)
        name = called(scene, left, predicate, text) if isinstance(left, Column) else ""
        made = compared(phrase, sort_of(profile), predicate.operator, text, voice, _whole(profile))
        if name:
            return replace(made, after=name)
        if equal and (days := on_days(scene, left, base, [right])):
            return days
        if equal and profile is not None and scene.same(base, owner(scene, predicate)) and (done := done_by(profile)):
            return replace(made, after=f"{done} {text}", verb=(f"are {done} {text}", f"is {done} {text}"))
        return by_meaning(made, phrase, text, scene.is_person(base), voice) if equal else made
    if isinstance(right, Scalar):
        return _against(scene, quantity(scene, left, base), predicate, right)
    other = term(scene, right, base)
    its = "their" if scene.its(base) == "their" else "the"  # "its" is of one pickup, and they may be many
    if isinstance(right, Column) and scene.bearer(right) != base and right.source in scene.tables:
        other = f"{scene.phrase(right)} of {its} {scene.one(right.source)}"
        return compared(phrase, sort_of(profile), predicate.operator, f"the {other}", voice, count=False)
    return compared(phrase, sort_of(profile), predicate.operator, f"{its} {other}", voice, count=False)


def _against(scene: Scene, phrase: str, predicate: Comparison, right: Scalar) -> Atom:
    voice = scene.voice
    output = right.query.select[0].expression
    whole = scalar(scene, right)
    is_ = words.be(phrase)
    # "older than the average age of all students": what follows would be said of all students.
    if predicate.operator == "=" and isinstance(output, Aggregate):
        extreme = whole.removeprefix("the ")
        return Atom(have=f"the {extreme}", whose=f"{phrase} {is_} equal to the {extreme}", heavy=True)
    return replace(compared(phrase, "number", predicate.operator, whole, voice, count=False), heavy=True)


def _existence(scene: Scene, predicate: Exists, base: str) -> Atom:
    voice = scene.voice
    inner = Scene(predicate.query, scene.profile, voice, scene, scene.table(base))
    child = inner.grain
    said = subject(inner, child, plural=predicate.negated, nested=True)
    heavy = said not in (inner.one(child), inner.many(child))
    columns = tuple(c.name for _, c in predicate.link)
    said_verb = scene.verb(inner.table(child), scene.table(base), [(c.name, o.name) for o, c in predicate.link])
    if done := deed(said_verb):
        return _by_them(inner, child, predicate.negated, done, heavy)
    role = scene.role_below(inner, child, columns, base)
    if role is None and is_part(inner, child, columns, scene.table(base)):
        no, said_one = "not " if predicate.negated else "", subject(inner, child, plural=False)
        said_many = subject(inner, child, plural=True)
        return Atom(verb=(f"are {no}{said_many}", f"is {no}{words.article(said_one)}"), heavy=heavy)
    if role is not None:
        n = "any" if predicate.negated else "at least one"
        many = scene.voice.pick("are not", "never appear as") if predicate.negated else "are"
        one = {"are not": "is not", "never appear as": "never appears as", "are": "is"}[many]
        said_one = subject(inner, child, plural=False) if predicate.negated else said
        return Atom(verb=(f"{many} the {role} of {n} {said_one}", f"{one} the {role} of {n} {said_one}"), heavy=heavy)
    if predicate.negated:
        none = voice.weigh(NONE)
        if none == "do not have a":
            none, said = "do not have", words.article(subject(inner, child, plural=False, nested=True))
        one = {"have no": "has no", "do not have": "does not have"}.get(none, "does not have any")
        after = f"{voice.pick('without any', 'with no')} {said}"
        after = after if not heavy and none != "do not have" and voice.chance(WITHOUT) else ""
        return Atom(verb=(f"{none} {said}", f"{one} {said}"), after=after, heavy=heavy)
    some = voice.weigh(SOME)
    if some in ("plural", "some"):
        several = subject(inner, child, plural=True, nested=True)
        several = several if some == "plural" else f"some {several}"
    else:
        several = words.article(said) if some == "a" else f"at least one {said}"
    if " with " in several:
        # Not "with races with time 12:00".
        return Atom(verb=(f"have {several}", f"has {several}"), heavy=heavy)
    return Atom(have=several, heavy=True)  # last: not "with tickets and status 'open'"


def _by_them(inner: Scene, child: str, negated: bool, participle: str, heavy: bool) -> Atom:
    """ "have placed at least one order", "have not placed any orders": the active of "placed by"."""
    some = (
        f"any {subject(inner, child, True, nested=True)}" if negated else f"at least one {subject(inner, child, False)}"
    )
    no = inner.voice.pick("not ", "never ") if negated else ""
    return Atom(verb=(f"have {no}{participle} {some}", f"has {no}{participle} {some}"), heavy=heavy)


def _membership(scene: Scene, predicate: InQuery, base: str) -> Atom:
    inner = Scene(predicate.query, scene.profile, scene.voice, scene)
    phrase = term(scene, predicate.argument, base)
    what = words.plural(term(inner, predicate.query.select[0].expression, inner.grain))
    negation = "not " if predicate.negated else ""
    whose = f"{phrase} is {negation}among the {what} of {subject(inner, inner.grain, plural=True)}"
    return Atom(whose=whose, heavy=True)


def condition_text(scene: Scene, predicate: Predicate, base: str) -> str:
    """The condition as words after the plural noun of `base`."""
    atoms = [atom(scene, p, base) for p in conjuncts(predicate)]
    return combine(atoms, scene.who(base), True, scene.voice)


# --- nouns with their conditions ---------------------------------------------------------------------------------


def subject(
    scene: Scene,
    alias: str,
    plural: bool,
    skip: Iterable[str] = (),
    drop: Iterable[Predicate] = (),
    nested: bool = False,
    also: Sequence[Atom] = (),
) -> str:
    """Noun of a source with all conditions on it and on what it belongs to: "orders of customers in France".

    Sources in `skip` are not described; conditions in `drop` are said elsewhere; what is `also` said follows from the
    joins. For `nested` see `combine`.
    """
    atoms = [*atoms_on(scene, alias, set(skip), tuple(drop), plural), *also]
    head = scene.many(alias) if plural else scene.one(alias)
    first = next((a for a in atoms if a.before), None)
    if first is not None and scene.voice.chance(BEFORE):
        held = "current " if head.startswith("current ") else ""  # "current blue products"
        head = f"{held}{first.before} {head.removeprefix(held)}"
        atoms = [a for a in atoms if a is not first]
    text = combine(atoms, scene.who(alias), plural, scene.voice, nested)
    return f"{head} {text}" if text else head


def atoms_on(
    scene: Scene, alias: str, seen: set[str], drop: tuple[Predicate, ...] = (), plural: bool = True
) -> list[Atom]:
    """Conditions on a source and, through its joins, on its neighbours; `plural`: of many rows of it, or of one."""
    parts = [p for p in conjuncts(scene.query.where) if not any(p is d for d in drop)]
    atoms = [atom(scene, p, alias) for p in parts if owner(scene, p) == alias]
    seen = seen | {alias}
    for other, join, up in scene.neighbours(alias):
        if other in seen or other in scene.cte_of:
            continue
        below = atoms_on(scene, other, seen, drop, plural)
        if scene.same(alias, other):
            atoms += below
            continue
        if not below and scene.leaves_out(alias, join, other):
            atoms.append(has_one(scene, alias, join, other))
            continue
        if not below and up and not is_spoken_of(scene, alias, other):
            atoms.append(Atom(have=words.article(scene.one(other))))
        if not below:
            continue
        atoms.append(tie(scene, join, other, below, up, bare=not atoms, plural=plural))
    return atoms
