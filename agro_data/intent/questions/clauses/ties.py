"""How a row is tied to its neighbours: "orders of customers in France", "students who are not club members"."""

from __future__ import annotations

from agro_data.intent.questions.clauses.comparing import missing
from agro_data.intent.questions.clauses.equality import DESCRIBED
from agro_data.intent.questions.clauses.modifiers import Atom, combine
from agro_data.intent.questions.habits import APPOSED
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.naming.nouns import Scene
from agro_data.intent.questions.naming.relatives import deed, linked
from agro_data.intent.questions.naming.vocabulary import BORNE, KINDS, MAKERS, WORKS
from agro_data.intent.tree import Column, Join, MetricCall, walk
from agro_data.profiling.profile import TableProfile

_LINKS = ("of", "of", "of", "of", "for")


def tie(scene: Scene, join: Join, other: str, below: list[Atom], up: bool, bare: bool, plural: bool) -> Atom:
    """The tie to a neighbour that meets conditions of its own. `plural`: that of many rows, and not of one."""
    voice = scene.voice
    one = scene.one(other)
    single = f"{one} {combine(below, scene.who(other), False, voice, nested=True)}"
    simple = len(below) == 1 and not below[0].heavy
    said = scene.relation(join)
    if not up and (done := deed(said)):
        some = f"{done} at least one {single}"
        return Atom(verb=(f"have {some}", f"has {some}"), heavy=True)
    if not up:
        return Atom(have=f"at least one {single}", heavy=True)
    whose = f"{one}'s {below[0].whose}" if simple and below[0].whose and "'s " not in below[0].whose else ""
    meant = below[0].after.removeprefix(DESCRIBED) if simple and below[0].after.startswith(DESCRIBED) else ""
    unique = bool(meant) or (simple and below[0].after.startswith(("named ", "called ", "titled ")))
    if meant and whose:
        whose = f"{one} is {meant}"
    a_single = f"{words.article(one)} {single[len(one) + 1 :]}"
    many = f"{scene.many(other)} {combine(below, scene.who(other), True, voice.twin(), nested=True)}"
    # "Items of an order placed by Kyle" may be those of one order: many belong to many.
    theirs = f"the {single}" if unique else many if plural else a_single
    if meant or (unique and voice.chance(APPOSED)):
        theirs = f"the {one} {meant or below[0].after.split(' ', 1)[1]}"
    within = words.is_in(scene.one(join.left if other == join.right else join.right), one)
    belong, belongs = ("are in", "is in") if within else ("belong to", "belongs to")
    after = ""
    if said:
        belong, belongs, whose = f"are {said}", f"is {said}", ""
    if bare and said:
        after = f"{said} {theirs}"
    elif bare:
        owner_ = words.last_word(one).lower()
        made = owner_ in MAKERS and words.last_word(scene.one(scene.grain)).lower() in WORKS
        link = "by" if made else voice.pick("in", "in", "of") if within else voice.pick(*_LINKS)
        after = f"{link} {theirs}"
    its = theirs if unique else a_single
    kind = words.last_word(one).lower()
    if kind in KINDS and not said:
        verb = (f"are of {theirs}", f"is of {its}")
        return Atom(whose=whose, after=f"of {theirs}" if bare else "", verb=verb, heavy=not simple)
    if not said and (kind in BORNE or scene.plays_role(other)):  # a match has a home team, and belongs to none
        return Atom(whose=whose, after=f"with {its}" if bare else "", have=its, heavy=not simple)
    return Atom(
        whose=whose, after=after, verb=(f"{belong} {theirs}", f"{belongs} {its}"), heavy=bool(said) or not simple
    )


def has_one(scene: Scene, alias: str, join: Join, other: str) -> Atom:
    """That a row of `alias` has the one of `other` that it is joined to: "a contractor", "a known due date"."""
    if scene.is_day(other) or scene.dangles(alias, join):
        return missing(scene.one(other), negated=True, voice=scene.voice)
    return Atom(have=words.article(scene.one(other)))


def is_spoken_of(scene: Scene, alias: str, other: str) -> bool:
    """Whether the query uses a column of `other` or of what is joined beyond it, or only asks that it exists."""
    query, beyond = scene.query, scene.beyond(alias, other)
    used = (query.select, query.where, query.group_by, query.having, query.order_by, query.keep)
    return any(n.source in beyond for n in walk(used) if isinstance(n, Column | MetricCall))


def is_part(inner: Scene, child: str, columns: tuple[str, ...], parent: TableProfile | None) -> bool:
    """Whether a row of `child` is a person of the table `parent`: "people who are not gymnasts".

    Or a part that one plays, of rows that only link: "students who are not club members"; a doctor has patients.
    """
    table = inner.table(child)
    if table is None or parent is None or len(columns) != 1 or not words.is_person(table.singular):
        return False
    if parent.singular == "person":
        return table.column(columns[0]).unique
    if inner.one(child) != table.singular or linked(inner.profile, table):
        return False  # called as what it links: a coach is no player
    keys = [k for k in inner.profile.foreign_keys if k.table == table.name]
    linking = {name for k in keys for name in k.columns}
    ends = {k.ref_table for k in keys} - {table.name}
    return words.is_person(parent.singular) and len(ends) > 1 and linking.issuperset(table.primary_key)
