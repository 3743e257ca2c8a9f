"""How a content is asked: six styles, each with its own openings."""

from __future__ import annotations

import re
from dataclasses import replace

from agro_data.intent.questions.content import Content
from agro_data.intent.questions.habits import (
    ALL_COMMAND,
    ARTICLE_DROPPED,
    COMMANDS,
    COUNTED,
    FORMS,
    TAIL_COMMA,  # fmt: skip
)
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.voice import Voice
from agro_data.words import capital

STYLES = ("interrogative", "imperative", "formal", "colloquial", "concise", "descriptive")

_ORDER = re.compile(r"(sorted|ordered|listed) ((?:by|in|alphabetically|from) .*)|(in .*\border\b.*)")
_REST = re.compile(
    r" (?:of|with|that|who|whose|where|for|per|between|among|together|along|shared|found|to|at|by|as well)\b"
    rf"|{words.NOT_PHRASAL} (?:in|on)\b"
    r"|, (?:and|along|together) "
)
# After these an order would attach to the group: "for each carrier sorted by ...".
_GROUPED = re.compile(r" (?:each|every)(?: \S+){0,2}$| are there$")
_NUMBERED = re.compile(r"(?!1 )\d+ ")
_NUMBERS = ("the number of ", "the total number of ")
# Not "the number of cities and country of markets", which are columns.
_COUNT = re.compile(r"the number of (?!(?:(?! (?:of|for|in|that|who|with|whose|from)\b).)* and )")
_FIGURES = ("the average ", "the mean ", "the total ", "the sum ", "the percentage ")
_EACH = re.compile(r"\b(?:each|every|per|different)\b")
_ALL_VERBS = frozenset({"Show", "List", "Find", "Return", "Give", "Please list", "Please show", "Give me"})


def ask(content: Content, style: str, voice: Voice) -> str:
    """The finished sentence. Raises `ValueError` on an unknown style."""
    if style not in STYLES:
        raise ValueError(f"unknown question style {style!r}: choose one of {', '.join(STYLES)}")
    if style == "descriptive":
        return capital(_descriptive(content, voice))
    return capital(_said(content, style, voice))


def verb_for(np: str) -> str:
    """ "is" or "are", by the noun or nouns that the phrase is about."""
    subject = _REST.split(np.removeprefix("the "), maxsplit=1)[0]
    counted = _NUMBERED.match(subject) is not None and words.plural(subject) == subject  # "the 3 headquarters"
    several = counted or subject.startswith(("different ", "distinct "))
    return "are" if several or " and " in subject or "," in subject or words.is_plural(subject) else "is"


def _said(content: Content, style: str, voice: Voice) -> str:
    form = voice.weigh(FORMS[style])
    if form == "direct" and content.ask:
        return _asked(content, voice)
    if form in ("what", "direct"):
        return _what(content, voice)
    if form == "bare" and not content.lead:
        return _tailed(content.np.removeprefix("the "), content, voice) + voice.pick("", ".")
    command = _asked_by(voice.weigh(COMMANDS[style]), content)
    if (
        style == "concise"
        and not content.lead
        and not content.np.startswith(_NUMBERS)
        and voice.chance(ARTICLE_DROPPED)
    ):
        return _tailed(f"{command} {content.np.removeprefix('the ')}", content, voice) + "."
    return _told(content, command, voice)


def _descriptive(content: Content, voice: Voice) -> str:
    """The whole said at length, with the order in a sentence of its own."""
    order = _ORDER.fullmatch(content.tail)
    if order is None or content.then:
        return _said(content, "descriptive", voice)
    opening = _said(replace(content, tail=""), "descriptive", voice)
    sort = voice.pick("Sort the list", "Sort the results", "Order the results", "Order them", "Sort them")
    return f"{opening} {sort} {order.group(2) or order.group(3)}."


def _tailed(text: str, content: Content, voice: Voice) -> str:
    if not content.tail:
        return text
    # Only an order may follow without a comma, and only where it cannot be read as part of the last of several things.
    several = "," in content.tail + content.np or _GROUPED.search(text) is not None
    comma = not _ORDER.match(content.tail) or several or voice.chance(TAIL_COMMA)
    return f"{text}{',' if comma else ''} {content.tail}"


def _led(content: Content, text: str) -> str:
    return f"{content.lead}, {text}" if content.lead else text


def _asked(content: Content, voice: Voice) -> str:
    text = _tailed(_led(content, content.ask), content, voice) + "?"
    return f"{text} {content.then}" if content.then else text


def _what(content: Content, voice: Voice) -> str:
    if content.ask.startswith("how many") and not content.then:
        return _asked(content, voice)
    text = f"what {verb_for(content.np)} {content.np}"
    return _tailed(_led(content, text), content, voice) + "?"


def _asked_by(verb: str, content: Content) -> str:
    """The verb of a command; one figure is no list."""
    figure = content.np.startswith(_FIGURES) and not content.lead and _EACH.search(content.np) is None
    if figure or content.np.startswith(_NUMBERS):
        return verb.replace("List", "Find").replace("list", "find")
    return verb


def _told(content: Content, verb: str, voice: Voice) -> str:
    """A request that opens with `verb`."""
    counted = _COUNT.match(content.np) is not None and " and the " not in content.np
    if counted and voice.chance(COUNTED):
        verb = "Count"
    np = content.np
    if not content.lead:
        if verb in _ALL_VERBS and _several(np) and voice.chance(ALL_COMMAND):
            np = f"all {voice.pick('', 'the ')}{np.removeprefix('the ')}"
        return _tailed(f"{verb} {np}", content, voice) + "."
    return _tailed(_led(content, f"{verb[0].lower()}{verb[1:]} {np}"), content, voice) + "."


def _several(np: str) -> bool:
    """Whether "all" may stand before the phrase: a plural of unlimited number."""
    limited = re.search(r"\b(?:all|each|every|both|either|\d+|number|pairs)\b", np.split(" of ", 1)[0] + np[-60:])
    first = np.removeprefix("the ").split(" of ")[0].split(" and ")[0].split(",")[0]
    if " of all " in np or " for all " in np:
        return False
    return np.startswith("the ") and verb_for(np) == "are" and limited is None and words.is_plural(first)
