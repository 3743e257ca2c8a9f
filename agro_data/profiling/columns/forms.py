"""The form that all texts of a column have, where they have one: `P0042`, `05/11/2019`, `$1,250.00`, `09:30`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import islice, product

_PART = re.compile(r"[0-9]+|[^\W\d_]+|.", re.DOTALL)
_TOKEN = re.compile(  # of a form
    r"\(\?!0\[0-9\]\)|\[(?:0-9|A-Z)\]\{\d+,(\d+)\}|\(\?:((?:\\.|[^)\\])*)\)|(\|)|\\.|.", re.DOTALL
)
_READ, _ROUNDS = 2_000, 4  # texts of which a form is made; all others are matched with it, and added where they differ
_LONGEST = 40  # characters of a text that has a form
_FORMS = 6  # that the texts of one column may have: `$900.00` and `$1,250.00` are two
_TEXTS = 20  # different ones that show a form: fewer may be alike by chance
_OF_EACH = 4  # texts for each form, on average
_CASED = 4  # words of a text whose case is tried
_WORDS = 12  # that stand for each other in one place: months, am and pm
_TIMES = 60  # the same of hours and minutes


def parts_of(text: str) -> tuple[str, ...]:
    """The numbers, words and signs of which a text is made, in order; together they are the text."""
    return tuple(_PART.findall(text))


def form_of(texts: Collection[str], kind: str = "text") -> str:
    """A regular expression that matches each of the different `texts` whole, and others only where numbers differ, or
    codes of capital letters; "" where that would take many, or the texts are too few or hold no numbers.

    Dates need not be many: their format is known (`kind` is "date" or "datetime").
    """
    known = [*islice(texts, _READ)]
    for _ in range(_ROUNDS):
        form = _form_of(known, kind)
        matches = re.compile(form).fullmatch
        others = [text for text in texts if not matches(text)] if form else []
        if not others:
            return form
        known += others[:_READ]
    return ""


def _form_of(texts: Sequence[str], kind: str) -> str:
    dated = kind in ("date", "datetime")
    if not texts or (len(texts) < _TEXTS and not dated) or any(not 0 < len(text) <= _LONGEST for text in texts):
        return ""
    by_shape: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for text in texts:
        parts = parts_of(text)
        by_shape["".join(map(_sign, parts))].append(parts)
        if len(by_shape) > _FORMS:
            return ""
    if len(texts) < _OF_EACH * len(by_shape) and not dated:
        return ""
    if not any("0" in shape for shape in by_shape):
        return ""
    forms = [_form(rows, kind) for _, rows in sorted(by_shape.items())]
    return "|".join(forms) if all(forms) else ""


def is_number(part: str) -> bool:
    """Whether a part is a number; so is no digit of another script."""
    return part[0] in "0123456789"


def _sign(part: str) -> str:
    return "0" if is_number(part) else "a" if part[0].isalpha() else part


def _form(rows: Sequence[tuple[str, ...]], kind: str) -> str:
    """One expression for texts whose parts are of one kind each; "" where some words are free."""
    found = [_place(sorted(set(place)), kind) for place in zip(*rows, strict=True)]
    return "".join(found) if all(found) else ""


def _place(values: Sequence[str], kind: str) -> str:
    if len(values) == 1 and not is_number(values[0]):
        return re.escape(values[0])
    if is_number(values[0]) and kind != "time":
        return _digits(values)
    if len(values) <= (_TIMES if kind == "time" else _WORDS):
        return f"(?:{'|'.join(map(re.escape, values))})"
    letters = "".join(values)
    if not (letters.isascii() and letters.isupper()):
        return ""
    lengths = sorted(map(len, values))
    return f"[A-Z]{{{lengths[0]},{lengths[-1]}}}"


def _digits(values: Sequence[str]) -> str:
    """Numbers of as many digits; a zero in front only where some have one, or all are of one length."""
    lengths = sorted(map(len, values))
    padded = lengths[0] == lengths[-1] or any(value[0] == "0" and len(value) > 1 for value in values)
    return f"{'' if padded else '(?!0[0-9])'}[0-9]{{{lengths[0]},{lengths[-1]}}}"


def longest(form: str) -> int:
    """How many letters the longest text of a form has, as `form_of` writes it."""
    lengths = [0]
    for token in _TOKEN.finditer(form):
        most, words, other = token.groups()
        if other:
            lengths.append(0)
        elif not token[0].startswith("(?!"):
            lengths[-1] += int(most) if most else _widest(words) if words is not None else 1
    return max(lengths)


def _widest(words: str) -> int:
    return max(len(re.sub(r"\\(.)", r"\1", word, flags=re.DOTALL)) for word in words.split("|"))


def only_text(text: str, form: str) -> str:
    """The text of a form that has these letters in it, in whatever case, where it is the only one; else ""."""
    if len(text) < longest(form):
        return ""
    parts = parts_of(text)
    if sum(part[0].isalpha() for part in parts) > _CASED:
        return ""
    ways = [{part, part.lower(), part.upper(), part.title(), part.swapcase()} for part in parts]
    found = sorted(filter(re.compile(form).fullmatch, map("".join, product(*map(sorted, ways)))))
    return found[0] if len(found) == 1 else ""
