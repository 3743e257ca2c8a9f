"""How a content is asked: six styles, each with its own openings."""

from __future__ import annotations

import re

from agro_data.intent.questions import words
from agro_data.intent.questions.content import Content
from agro_data.intent.questions.voice import Voice

STYLES = ("interrogative", "imperative", "formal", "colloquial", "concise", "descriptive")

_ORDER = re.compile(r"(sorted|ordered|listed) ((?:by|in|alphabetically|from) .*)")
_REST = re.compile(
    r" (?:of|with|that|who|whose|for|per|in|among|together|along|shared|found|to|on|at|by)\b|, (?:and|along|together) "
)
_COMMANDS = ("Show", "List", "Find", "Return", "Give", "Show", "Find", "List", "Give me", "Find", "Return", "Display")
_SHORT = frozenset({"Show", "List", "Find", "Return", "Give", "Please list", "Please show", "Give me"})
_FORMAL = ("Return", "Report", "Please show", "Please list", "Please give", "Retrieve", "Provide", "List", "Find",
           "Determine", "Return", "Please find", "Identify")  # fmt: skip
_CHATTY = ("Tell me", "Give me", "Show me", "Tell me", "Find me", "Can you list", "Can you show me", "I want to know",
           "Just give me", "Let me see")  # fmt: skip
_WISHES = ("I want to find", "I would like to see", "Find out", "We want to know", "I need to know")


def ask(content: Content, style: str, voice: Voice) -> str:
    """The finished sentence. Raises `ValueError` on an unknown style."""
    makers = {
        "interrogative": _interrogative,
        "imperative": _imperative,
        "formal": _formal,
        "colloquial": _colloquial,
        "concise": _concise,
        "descriptive": _descriptive,
    }
    if style not in makers:
        raise ValueError(f"unknown question style {style!r}: choose one of {', '.join(STYLES)}")
    return words.capitalise(makers[style](content, voice))


def verb_for(np: str) -> str:
    """ "is" or "are", by the noun or nouns that the phrase is about."""
    subject = _REST.split(np.removeprefix("the "), maxsplit=1)[0]
    return "are" if " and " in subject or "," in subject or words.is_plural(subject) else "is"


def _tailed(text: str, content: Content) -> str:
    if not content.tail:
        return text
    return f"{text}, {content.tail}"


def _led(content: Content, text: str, comma: bool = True) -> str:
    return f"{content.lead}{',' if comma else ''} {text}" if content.lead else text


def _interrogative(content: Content, voice: Voice) -> str:
    if content.ask and voice.chance(0.8):
        return _asked(content)
    return _what(content, voice)


def _asked(content: Content) -> str:
    text = _tailed(_led(content, content.ask), content) + "?"
    return f"{text} {content.then}" if content.then else text


def _what(content: Content, voice: Voice) -> str:
    text = f"what {verb_for(content.np)} {content.np}"
    if content.lead and _plain(content) and voice.chance(0.5):
        return _tailed(f"{text} {content.lead}", content) + "?"
    return _tailed(_led(content, text), content) + "?"


def _plain(content: Content) -> bool:
    """Whether the lead may also stand last: a single short figure for each group."""
    return " and " not in content.np and "," not in content.np and " its " not in content.np and len(content.lead) < 40


def _imperative(content: Content, voice: Voice) -> str:
    if content.np.startswith("the number of ") and voice.chance(0.5) and content.np.startswith("the number of "):
        return _tailed(_led(content, f"{'count' if content.lead else 'Count'} {content.np}"), content) + "."
    return _told(content, voice.pick(*_COMMANDS), voice)


def _formal(content: Content, voice: Voice) -> str:
    if voice.chance(0.35):
        return _what(content, voice)
    return _told(content, voice.pick(*_FORMAL), voice)


def _told(content: Content, verb: str, voice: Voice) -> str:
    """A request that opens with `verb`."""
    if (
        not content.lead
        and content.np.startswith("the ")
        and verb in _SHORT
        and _several(content.np)
        and voice.chance(0.4)
    ):
        rest = content.np.removeprefix("the ")
        return _tailed(f"{verb} all {voice.pick('', 'the ')}{rest}", content) + "."
    if not content.lead:
        return _tailed(f"{verb} {content.np}", content) + "."
    if _plain(content) and voice.chance(0.5):
        return _tailed(f"{verb} {content.np} {content.lead}", content) + "."
    small = verb if verb.startswith(("I ", "I'")) else verb[0].lower() + verb[1:]
    return _tailed(_led(content, f"{small} {content.np}"), content) + "."


def _several(np: str) -> bool:
    """Whether "all" may stand before the phrase: a plural of unlimited number."""
    return (
        verb_for(np) == "are"
        and not re.search(
            r"\b(?:all|each|every|both|either|\d+|number|pairs)\b", np.split(" of ", maxsplit=1)[0] + np[-60:]
        )
        and words.is_plural(np.removeprefix("the ").split(" of ")[0].split(" and ")[0].split(",")[0])
    )


def _colloquial(content: Content, voice: Voice) -> str:
    if content.ask and voice.chance(0.6):
        return _asked(content)
    if voice.chance(0.25):
        return _what(content, voice)
    opening = voice.pick(*_CHATTY)
    text = _told(content, opening, voice)
    return text[:-1] + "?" if opening.startswith("Can") else text


def _concise(content: Content, voice: Voice) -> str:
    if content.ask.startswith("how many") and voice.chance(0.6):
        short = content.ask.removesuffix(" are there")
        return _tailed(_led(content, short), content) + "?"
    np = content.np.removeprefix("the ")
    if content.lead:
        return _told(content, voice.pick("Show", "List", "Find", "Give"), voice)
    if voice.chance(0.75) and not np.startswith(("each", "every")):
        return _tailed(f"{voice.pick('Show', 'List', 'Find', 'Give', 'Show')} {np}", content) + "."
    return _tailed(np, content) + voice.pick("", ".")


def _descriptive(content: Content, voice: Voice) -> str:
    """The whole said at length, with the order in a sentence of its own."""
    verb = voice.pick(*_COMMANDS, *_WISHES)
    order = _ORDER.match(content.tail)
    if order is not None:
        body = Content(content.np, content.lead, "", content.ask, content.then)
        opening = _what(body, voice) if voice.chance(0.4) else _told(body, verb, voice)
        sort = voice.pick("Sort the list", "Sort the results", "Order the results", "Sort them")
        return f"{opening} {sort} {order.group(2)}."
    if voice.chance(0.3):
        return _what(content, voice)
    return _told(content, verb, voice)
