"""Identifiers as English words: splitting, expanding, spelling, singular and plural.

Nothing here knows of tables or columns; `agro_data.profiling.names.naming` decides which words are said.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, cast

import lemminflect
import yaml

from agro_data.sql.identifiers import words_in

if TYPE_CHECKING:
    import inflect
    import wordninja


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


_COMMON_RANK = 60_000  # words rarer than this in wordninja's list are often names and fragments
_GLUE = word_set("of in to by at on no id is or and for yn")
PREPOSITIONS = word_set("of in for to by with from per on at under over between")
TIGHT_PREPOSITIONS = word_set("of in for to by with from per on at is was")  # which a name does not begin or end with
_PLURAL_MODIFIERS = word_set("media data sports sales goods news savings arts series species systems operations")
_STRONG_PARTICIPLES = word_set("taken sold held given bought paid made sent won lost written spent")


@dataclass(frozen=True)
class Lexicon:
    """The shipped word lists of `abbreviations.yml`."""

    expansions: dict[str, str]  # keys of up to four words
    alone: dict[str, str]
    beside: dict[str, dict[str, frozenset[str]]]
    series: tuple[dict[str, str], ...]  # months, days of the week
    acronyms: frozenset[str]
    spellings: dict[str, str]
    whole: frozenset[str]
    prefixes: frozenset[str]
    suffixes: frozenset[str]
    verbs: dict[str, str]
    numbers: dict[str, tuple[str, str]]


@cache
def lexicon() -> Lexicon:
    """The word lists, read once."""
    text = files("agro_data.profiling.names").joinpath("abbreviations.yml").read_text(encoding="utf-8")
    raw = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return Lexicon(
        expansions=raw["expansions"],
        alone=raw["alone"],
        beside={
            word: {meant: frozenset(others) for meant, others in known.items()} for word, known in raw["beside"].items()
        },
        series=tuple(raw["series"]),
        acronyms=frozenset(map(str, raw["acronyms"])),
        spellings=raw["spellings"],
        whole=frozenset(raw["whole"]),
        prefixes=frozenset(raw["prefixes"]),
        suffixes=frozenset(raw["suffixes"]),
        verbs=raw["verbs"],
        numbers={word: (forms[0], forms[1]) for word, forms in raw["numbers"].items()},
    )


@cache
def _language() -> wordninja.LanguageModel:
    import wordninja  # noqa: PLC0415  (reads its 126,000 words as it is imported; only profiling has to wait)

    return wordninja.DEFAULT_LANGUAGE_MODEL


@cache
def _rank() -> dict[str, int]:
    # wordninja keeps its words by rising cost, that is by falling frequency.
    return {word: place for place, word in enumerate(_language()._wordcost)}


@cache
def is_word(word: str) -> bool:
    """Whether `word` (lower case) is an English word common enough to be meant as one."""
    known = lexicon()
    return (
        word in known.whole
        or word in known.expansions
        or word in known.acronyms
        or word in known.spellings
        or word in known.numbers
        or (_rank().get(word, _COMMON_RANK) < _COMMON_RANK and _in_dictionary(word))
    )


def _in_dictionary(word: str) -> bool:
    # Frequency alone lets in names and slips ("stuid"); the dictionary alone lets in the rarest terms.
    return any(lemminflect.getAllLemmas(word).values())


def reads_as_english(word: str) -> bool:
    """Whether `word` (lower case) is in the dictionary, a common word, or one of the lists of `abbreviations.yml`.

    >>> [word for word in ("invoice", "invoices", "qty", "factura", "pago") if reads_as_english(word)]
    ['invoice', 'invoices', 'qty']
    """
    return is_word(word) or _in_dictionary(word)


def stays(word: str) -> bool:
    """Whether a word of another language looks like a plural without being one: "pais" is one country."""
    return word.endswith(("is", "us", "tz")) and not reads_as_english(word)


def plain_in_o(word: str) -> bool:
    """Whether the plural only has an s: "pagos" of "pago", since "-oes" is an ending of English words."""
    return word.endswith("o") and not reads_as_english(word)


def split_identifier(identifier: str) -> list[str]:
    """The lower-case words of an identifier: snake, kebab, camel, digits, and glued lower case.

    >>> split_identifier("customerName2"), split_identifier("HTTPStatus"), split_identifier("petowner")
    (['customer', 'name', '2'], ['http', 'status'], ['pet', 'owner'])
    """
    return [word for piece in pieces_of(identifier) for word in _unglue(piece.lower())]


def pieces_of(identifier: str) -> list[str]:
    """The words of an identifier as it has them, also where capitals end before small letters.

    >>> pieces_of("HTTPStatus"), pieces_of("teamIDloser"), pieces_of("ga4_events")
    (['HTTP', 'Status'], ['team', 'ID', 'loser'], ['ga4', 'events'])
    """
    pieces = list(words_in(identifier))
    for place in range(len(pieces) - 1):
        pieces[place : place + 2] = _parted(identifier, *pieces[place : place + 2])
    return _with_figures(identifier, pieces)


def _with_figures(identifier: str, pieces: list[str]) -> list[str]:
    """The pieces, those put together again that are one acronym with a figure in it: "ga4", "b2b"."""
    result: list[str] = []
    place = 0
    while place < len(pieces):
        runs = {size: "".join(pieces[place : place + size]) for size in (3, 2)}
        one = (size for size, run in runs.items() if run.lower() in lexicon().acronyms and run in identifier)
        whole = next(one, 1)
        result.append("".join(pieces[place : place + whole]))
        place += whole
    return result


def _parted(identifier: str, run: str, word: str) -> tuple[str, str]:
    """ "ID", "loser" for "I", "Dloser", which is no word."""
    capital, rest = word[:1], word[1:]
    humped = run.isupper() and capital.isupper() and len(rest) > 1 and rest.islower() and run + word in identifier
    meant = humped and not is_word(word.lower()) and (run + capital == "ID" or is_word(rest))
    return (run + capital, rest) if meant else (run, word)


@cache
def _unglue(token: str) -> tuple[str, ...]:
    """Parts of a token that is several words written as one; the token itself when in doubt."""
    if len(token) < 5 or not token.isascii() or not token.isalpha() or is_word(token):
        return (token,)
    if _in_dictionary(token) or _says_what_can_be_done(token):
        return (token,)
    if token.endswith("id") and is_word(token[:-2]):
        return token[:-2], "id"
    parts = tuple(_language().split(token))
    sound = all(part in _GLUE or (len(part) >= 3 and is_word(part)) for part in parts)
    sound = sound and parts[0] not in _GLUE and parts[-1] not in ("and", "or")
    return parts if 1 < len(parts) <= 4 and sound and "".join(parts) == token else (token,)


def _says_what_can_be_done(token: str) -> bool:
    """ "taggable", "billable", "sharable": what can be tagged, billed, shared, though no dictionary has it."""
    if not token.endswith(("able", "ible")):
        return False
    stem = token[:-4]
    doubled = stem[-2:-1] == stem[-1:] != "t"  # "usertable" is no adjective, nor is a table of events
    return any(is_word(verb) for verb in (stem, f"{stem}e", *([stem[:-1]] if doubled else [])))


def expand(words: list[str], meant: Set[str] = frozenset()) -> list[str]:
    """`words` with abbreviations written out, but for those that are `meant` as they are.

    >>> expand(["emp", "fname"]), expand(["no", "of", "pages"]), expand(["dept", "no"])
    (['employee', 'first', 'name'], ['number', 'of', 'pages'], ['department', 'number'])
    """
    if len(words) == 1 and words[0] in lexicon().alone:
        return [lexicon().alone[words[0]]]
    result: list[str] = []
    place = 0
    while place < len(words):
        word = words[place]
        if word == "no" and (place == len(words) - 1 or words[place + 1] == "of" or place == 0):
            result.append("number")
            place += 1
            continue
        if word == "sched" and place < len(words) - 1:
            result.append("scheduled")
            place += 1
            continue
        size = next((n for n in (4, 3, 2, 1) if " ".join(words[place : place + n]) in lexicon().expansions), 0)
        kept = size == 0 or (words[place : place + size] == [word] and word in meant)
        chosen = word if kept else lexicon().expansions[" ".join(words[place : place + size])]
        result.extend(chosen.lower().split())
        place += size or 1
    # "code code" and the like come of expanding both halves of a doubled abbreviation.
    return [word for place, word in enumerate(result) if place == 0 or word != result[place - 1]]


def meant_beside(word: str, around: frozenset[str]) -> list[str]:
    """The words for `word` in a table whose columns have the words `around`.

    >>> meant_beside("dst", frozenset({"name", "tz"})), meant_beside("dst", frozenset({"src", "port"}))
    (['daylight', 'saving', 'time'], ['dst'])
    """
    for series in lexicon().series:
        if word in series and 2 * len(series.keys() & around) >= len(series):
            return [series[word]]
    known = lexicon().beside.get(word, {})
    return next((meant.split() for meant, others in known.items() if others & around), [word])


def spell(words: list[str]) -> str:
    """Words joined as a person writes them: lower case, acronyms and proper names in capitals."""
    known = lexicon()
    return " ".join(word.upper() if word in known.acronyms else known.spellings.get(word, word) for word in words)


@cache
def inflector() -> inflect.engine:
    """The rules of plurals, articles and number words.

    inflect has typeguard rewrite each of its functions, to check what they are given, which costs every process two to
    four seconds. Here they are loaded as they are written.
    """
    with _unchecked():
        import inflect  # noqa: PLC0415  (and only where words are needed)

        return inflect.engine()


@contextmanager
def _unchecked() -> Iterator[None]:
    """Meanwhile typeguard's decorator changes nothing."""
    try:
        import typeguard  # noqa: PLC0415
    except ImportError:  # a release of inflect that does without
        yield
        return
    decorator = typeguard.typechecked
    typeguard.typechecked = lambda function: function  # type: ignore[assignment]
    try:
        yield
    finally:
        typeguard.typechecked = decorator


@cache
def number_forms(word: str) -> tuple[str, str]:
    """(singular, plural) of a lower-case noun that is given in either form.

    >>> number_forms("people"), number_forms("status"), number_forms("companies")
    (('person', 'people'), ('status', 'statuses'), ('company', 'companies'))
    """
    numbers = lexicon().numbers
    if word in numbers:
        return numbers[word]
    if not word.isascii() or not word.isalpha():
        return word, word
    if word in lexicon().acronyms:
        return word, word + "s"
    if stays(word) or _is_nobody(word):
        return word, word
    lemma = lemminflect.getLemma(word, upos="NOUN", lemmatize_oov=word.endswith("s"))
    single = str(lemma[0]) if lemma else word
    if word.endswith("ss") or len(single) < 2:  # a letter or nothing ("s", "as") is no noun's singular
        single = word
    elif single == word and word.endswith("s") and not word.endswith(("us", "is", "as", "os", "ics")):
        return word, word  # a plural that has no singular: "finances"
    if single in numbers:
        return numbers[single]
    if single == word and plain_in_o(word):
        return word, word + "s"
    if single.endswith("tz"):
        return single, single + "es"  # to inflect a waltz is as a quiz
    plural = word if single != word else str(inflector().plural_noun(cast(Any, single)))
    return single, plural


def _is_nobody(word: str) -> bool:
    """Whether a word only says how somebody is or what was done: the unemployed have no plural, but the bed has."""
    return word.endswith("ed") and bool(kinds := lemminflect.getAllLemmas(word)) and "NOUN" not in kinds


def singular_word(word: str) -> str:
    """`word` in the singular when it is a plural; mass nouns ("staff") stay as they are."""
    single = number_forms(word)[0]
    return single if " " not in single else word


def head_place(words: list[str]) -> int:
    """Index of the noun that takes the number: before a preposition, before a closing participle, else last.

    >>> head_place(["products", "booked"]), head_place(["first", "notification", "of", "loss"])
    (0, 1)
    """
    end = next((place for place, word in enumerate(words) if place and word in PREPOSITIONS), len(words))
    return end - 2 if end > 1 and is_participle(words[end - 1]) else end - 1


def is_participle(word: str) -> bool:
    """Whether `word` reads as a past participle after a noun ("booked", "taken")."""
    return word in _STRONG_PARTICIPLES or (
        len(word) > 4 and word.endswith("ed") and bool(lemminflect.getLemma(word, upos="VERB")[:1] != (word,))
    )


@cache
def present_participle(participle: str) -> str:
    """ "recording" of "recorded", "selling" of "sold"; the word itself where it is of no verb."""
    lemma = lemminflect.getLemma(participle, upos="VERB")
    return str(lemminflect.getInflection(lemma[0], "VBG")[0]) if lemma else participle


@cache
def past_participle(verb: str) -> str:
    """ "updated" of "update"; the word itself where it is no verb as dictionaries have it."""
    if lemminflect.getLemma(verb, upos="VERB") != (verb,):
        return verb
    return str(next(iter(lemminflect.getInflection(verb, "VBN")), verb))


@cache
def is_adjective(word: str) -> bool:
    """Whether `word` says how something is ("active", "hidden"), though it may be a noun as well."""
    done = not word.endswith(("s", "ing")) and lemminflect.getLemma(word, upos="VERB") not in ((), (word,))
    return done or "ADJ" in lemminflect.getAllLemmas(word)


def noun_forms(words: list[str]) -> tuple[list[str], list[str]]:
    """(singular, plural) of a noun phrase given in either number.

    >>> noun_forms(["order", "items"]), noun_forms(["skills", "required", "to", "fix"])
    ((['order', 'item'], ['order', 'items']), (['skill', 'required', 'to', 'fix'], ['skills', 'required', 'to', 'fix']))
    """
    if "and" in words[1:-1]:
        place = words.index("and")
        before, after = noun_forms(words[:place]), noun_forms(words[place + 1 :])
        return [*before[0], "and", *after[0]], [*before[1], "and", *after[1]]
    head = head_place(words)
    single, plural = number_forms(words[head])
    tail_single = [singular_word(word) for word in words[head + 1 :]] if "in" in words[head:] else words[head + 1 :]
    modifiers = stem(words[:head])
    return [*modifiers, *single.split(), *tail_single], [*modifiers, *plural.split(), *words[head + 1 :]]


def stem(words: list[str]) -> list[str]:
    """The noun phrase with plain singular words, as columns quote it: "staff", not "staff member".

    >>> stem(["customers", "policies"])
    ['customer', 'policy']
    """
    return [word if word in _PLURAL_MODIFIERS else singular_word(word) for word in words]


def starts_with(words: list[str], prefix: list[str]) -> bool:
    """Whether `words` begins with `prefix`, a singular matching its plural."""
    return len(words) >= len(prefix) > 0 and all(
        a == b or singular_word(a) == singular_word(b) for a, b in zip(words, prefix, strict=False)
    )
