"""How a content is asked: six styles, each with its own openings."""

from __future__ import annotations

import re

from agro_data.intent.questions import words
from agro_data.intent.questions.content import Content
from agro_data.intent.questions.voice import Voice

STYLES = ("interrogative", "imperative", "formal", "colloquial", "concise", "descriptive")

_REST = re.compile(
    r" (?:of|with|that|who|whose|for|per|in|among|together|along|shared|found|to|on|at|by)\b|, (?:and|along|together) "
)
_COMMANDS = ("Show", "List", "Find", "Return", "Give", "Show", "Find", "List", "Give me", "Tell me", "Display", "Get")
_FORMAL = ("Please provide", "Determine", "Report", "Please list", "Identify", "Retrieve", "Provide", "Please report",
           "State", "Please return")  # fmt: skip
_CHATTY = ("Can you tell me", "I'd like to know", "Could you show me", "Can you find", "Tell me", "I want to know",
           "Could you give me", "Please show me", "Can you list", "I'm looking for", "Let me know")  # fmt: skip
_WISHES = ("I need", "I would like", "I am looking for", "I want to see", "We need")


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
    be = verb_for(content.np)
    if content.ask and voice.chance(0.8):
        return _tailed(_led(content, content.ask), content) + "?"
    if content.lead and voice.chance(0.4):
        return _tailed(f"what {be} {content.np} {content.lead}", content) + "?" if _plain(content) else \
            _tailed(_led(content, f"what {be} {content.np}"), content) + "?"  # fmt: skip
    return _tailed(_led(content, f"what {be} {content.np}"), content) + "?"


def _plain(content: Content) -> bool:
    """Whether the lead may also stand last: a single short figure for each group."""
    return " and " not in content.np and "," not in content.np and " its " not in content.np and len(content.lead) < 40


def _imperative(content: Content, voice: Voice) -> str:
    if content.ask.startswith("how many") and voice.chance(0.3) and content.np.startswith("the number of "):
        return _tailed(_led(content, f"{'count' if content.lead else 'Count'} {content.np}"), content) + "."
    verb = voice.pick(*_COMMANDS)
    if content.lead:
        if _plain(content) and voice.chance(0.4):
            return _tailed(f"{verb} {content.np} {content.lead}", content) + "."
        return _tailed(_led(content, f"{verb[0].lower()}{verb[1:]} {content.np}"), content) + "."
    return _tailed(f"{verb} {content.np}", content) + "."


def _formal(content: Content, voice: Voice) -> str:
    verb = voice.pick(*_FORMAL)
    if content.lead:
        return _tailed(_led(content, f"{verb[0].lower()}{verb[1:]} {content.np}"), content) + "."
    return _tailed(f"{verb} {content.np}", content) + "."


def _colloquial(content: Content, voice: Voice) -> str:
    opening = voice.pick(*_CHATTY)
    if content.ask and voice.chance(0.5):
        return _tailed(_led(content, content.ask), content) + "?"
    mark = "?" if opening.startswith(("Can", "Could")) else "."
    text = _tailed(f"{opening} {content.np}", content)
    if content.lead:
        text = _tailed(
            _led(content, f"{opening if opening.startswith('I') else opening[0].lower() + opening[1:]} {content.np}"),
            content,
        )
    return text + mark


def _concise(content: Content, voice: Voice) -> str:
    np = content.np.removeprefix("the ")
    if content.lead:
        return _tailed(f"{content.lead}, {content.np}", content) + voice.pick("", ".")
    return _tailed(np, content) + voice.pick("", ".")


def _descriptive(content: Content, voice: Voice) -> str:
    wish = voice.pick(*_WISHES)
    text = _led(
        content, f"{wish if wish.startswith('I') or not content.lead else wish[0].lower() + wish[1:]} {content.np}"
    )
    return _tailed(text, content) + "."
