"""What the rows of two tables of one database are called by each other, along the keys between them."""

from __future__ import annotations

import re

from agro_data.intent.questions.naming import words
from agro_data.profiling.kinds import day_of
from agro_data.profiling.names.words import PREPOSITIONS, is_participle, present_participle
from agro_data.profiling.profile import DatabaseProfile, TableProfile

_KEY_WORDS = re.compile(r"[ _](id|ids|code|number|no|key|ref|fk|identifier|num)$", re.IGNORECASE)
_PERSONS = ("er", "or", "ist", "ee", "ian", "ant", "ent", "man", "woman", "rep")  # endings of who does something
_ENDS = {"from": "origin", "to": "destination"}
_CHOICES = {"vote": "voted", "nomination": "nominated"}
_NO_ROLES = ("", "id", "name", "title", "label")  # what a key column may be called that says nothing of the parent


def deed(relation: str) -> str:
    """ "placed" of the relation phrase "placed by", which the parents have done; "" of others."""
    return relation.removesuffix(" by") if relation.endswith(" by") else ""


def key_phrase(child: TableProfile, column: str) -> str:
    """What a key column is called as the thing that it leads to: "home team" of "home team id"."""
    return _KEY_WORDS.sub("", child.by_name[column].phrase)


def key_person(child: TableProfile, column: str, noun: str) -> str:
    """The same of a person: "creating staff" of "created by staff id"; `noun` is what others call the person."""
    return _doer(key_phrase(child, column), noun)


def _without_key(child: TableProfile, columns: tuple[str, ...], parent: TableProfile, profile: DatabaseProfile) -> str:
    """The same without what the parent calls its key: "home team" of "home team API id", where a team has an API id."""
    phrase = child.by_name[columns[0]].phrase
    for key in profile.foreign_keys:
        if (key.table, key.columns, key.ref_table) == (child.name, columns, parent.name):
            own = parent.by_name[key.ref_columns[0]].phrase if key.ref_columns[0] in parent.by_name else ""
            if own and phrase.lower().endswith(f" {own.lower()}"):
                return phrase[: -len(own) - 1]
    return key_phrase(child, columns[0])


def _as_person(role: str, noun: str) -> str:
    """A role that is no noun of a person, where people have it: "assist player", "admitting staff member"."""
    said = f" {role.lower()}".endswith(f" {noun.lower()}")
    person = said or words.is_person(role) or role.lower().endswith(_PERSONS)
    return role if person or not words.is_person(noun) else f"{role} {noun}"


def key_role(
    profile: DatabaseProfile, child: TableProfile, columns: tuple[str, ...], parent: TableProfile
) -> str | None:
    """Role noun of a foreign key ("home team", "manager"), or None where the parent's own noun says it."""
    if len(columns) != 1 or columns[0] not in child.by_name:
        return None
    noun = parent.singular
    called = _without_key(child, columns, parent, profile)
    phrase = re.sub(rf"(^| ){re.escape(parent.plural)}$", rf"\1{noun}", called)
    own = f" {noun.lower()}".endswith(f" {phrase.lower()}")  # the "user" of an app user
    keys = [k for k in profile.foreign_keys if k.table == child.name and k.ref_table == parent.name]
    if own and len(keys) > 1 and day_of(parent):
        return f"{child.singular} {noun}"  # the invoice date, beside the due date
    if own or phrase.lower() in _NO_ROLES or len(phrase) < 3:
        return None
    phrase = _chosen(_place(_doer(phrase, noun))) if words.is_person(noun) else _place(_doer(phrase, noun))
    if phrase.lower().endswith(" " + noun.lower()) or child.name == parent.name or len(keys) > 1:
        return _as_person(phrase, noun)
    is_noun = words.plural(phrase) != f"{phrase} values"
    return _as_person(phrase, noun) if is_noun and _otherwise_tied(profile, child, parent) else None


def _chosen(phrase: str) -> str:
    """ "voted president" of "president vote": who is meant, and not the vote."""
    what, _, act = phrase.rpartition(" ")
    return f"{_CHOICES[act.lower()]} {what}" if what and act.lower() in _CHOICES else phrase


def _place(phrase: str) -> str:
    """ "destination hub" of "to hub", and "origin hub" of "from hub"."""
    end, _, what = phrase.partition(" ")
    return f"{_ENDS[end.lower()]} {what}" if what and end.lower() in _ENDS else phrase


def _doer(phrase: str, noun: str) -> str:
    """ "recording staff member" of "recorded by staff", "mailing address" of "mailed to address"; else the phrase.

    "Authorising staff member", too, of "destruction authorised by staff", and where the key does not say who, "closing
    user" of "closed by" and "assigned user" of "assigned to".
    """
    found = re.fullmatch(r"(?:\w+ )*?(\w+) (?:by(?: (?P<who>.+))?|to (?P<where>address)|(?P<left>to|for|with))", phrase)
    if found is None or not is_participle(found[1].lower()):
        return phrase
    if found["left"]:
        return f"{found[1].lower()} {noun}"
    who = found["who"] or found["where"] or noun
    return f"{present_participle(found[1].lower())} {noun if noun.startswith(who) else who}"


def _otherwise_tied(profile: DatabaseProfile, child: TableProfile, parent: TableProfile) -> bool:
    """Whether the noun of `parent` could mean another row: the department of an employee is not the one they manage."""
    above = {k.ref_table for k in profile.foreign_keys if k.table == child.name != k.ref_table}
    return any(
        (k.table == parent.name and k.ref_table == child.name) or (k.table in above and k.ref_table == parent.name)
        for k in profile.foreign_keys
        if k.table != k.ref_table
    )


def linked(profile: DatabaseProfile, table: TableProfile) -> dict[str, tuple[str, ...]]:
    """The two tables, with its columns, of which each row of `table` links a pair that no other row does; {} where it
    is called otherwise than by them, so that it is a thing of its own.
    """
    keys = [k for k in profile.foreign_keys if k.table == table.name and k.ref_table in profile.by_name]
    ends = {k.ref_table: k.columns for k in keys}
    if not len(keys) == len(ends) == 2 or table.name in ends:
        return {}
    pair = {column for columns in ends.values() for column in columns}
    nouns = [profile.table(name).singular for name in ends]
    if table.singular not in (" ".join(nouns), " ".join(reversed(nouns))):
        return {}
    plain = all(key_role(profile, table, columns, profile.table(name)) is None for name, columns in ends.items())
    return ends if plain and any(set(key) == pair for key in profile.keys(table.name)) else {}


def shortened(profile: DatabaseProfile, child: TableProfile, parent: TableProfile) -> str:
    """The noun of `child` without that of `parent`, whose rows it is told of: "address" of a "customer address".

    "" where the parent has no part in it, or where what is left may mean something else: a column of the parent, rows
    of another table (but for one that the child alone links to the parent), or another kind of its children.
    """
    keys = [k for k in profile.foreign_keys if (k.table, k.ref_table) == (child.name, parent.name)]
    if len(keys) != 1 or key_role(profile, child, keys[0].columns, parent) is not None:
        return ""
    ends = linked(profile, child)
    short = _less(child.singular, parent.singular, last=bool(ends))
    taken = {c.phrase.lower() for c in parent.columns} | {parent.singular.lower()}
    if not short or short in taken or words.head(short)[0] == "" or not short[0].isalpha():
        return ""
    others = [t for t in profile.tables if t.name not in (child.name, parent.name)]
    near = {k.table for k in profile.foreign_keys if k.ref_table == parent.name}
    if any(t.name in near and _less(t.singular, parent.singular, last=True) == short for t in others):
        return ""
    return short if all(t.singular != short or t.name in ends for t in others) else ""


def _less(noun: str, owner: str, last: bool) -> str:
    """`noun` without `owner` before or among its words, or behind them where `last`; "" where that leaves no noun."""
    said, own = noun.split(" "), owner.split(" ")
    for at in range(len(said) - len(own) + 1):
        rest = [*said[:at], *said[at + len(own) :]]
        told = (
            at and rest[-1:] == ["record"] == said[at + len(own) :]
        )  # a record of "affected regions" is none affected
        if said[at : at + len(own)] == own and rest and not told and (last or rest[-1] == said[-1]):
            return "" if rest[0] in PREPOSITIONS | {"not"} else " ".join(rest)
    return ""
