"""What may be said after a noun, and how several such things are joined so that each has one reading.

An atom is one condition in the forms that English offers for it. `combine` picks one form for all atoms of a noun:
"named Kyle", "with an age above 56 and a known height", "whose age is above 56", "who have at least one order".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agro_data.intent.questions.habits import CONDITION, PERSON_CONDITION, REDUCED, Weights
from agro_data.intent.questions.voice import Voice

# After these a further condition would attach to the wrong noun.
_LOOSE = frozenset({"of", "for", "associated", "in", "by", "with", "without"})


@dataclass(frozen=True)
class Atom:
    """Forms of one condition on a noun; an empty string is a form that does not exist.

    `have`: noun phrase after "with" or "have". `whose`: clause after "whose". `after`: reduced form straight after
    the noun. `before`: a word before it. `verb`: (plural, singular) predicate after "that". `heavy`: ends in a clause
    or a noun of its own, to which what follows would attach, so it stands last.
    """

    have: str = ""
    whose: str = ""
    after: str = ""
    verb: tuple[str, str] = ("", "")
    heavy: bool = False
    before: str = ""

    def predicate(self, plural: bool) -> str:
        """Verb phrase: "have an age above 56"."""
        chosen = self.verb[0 if plural else 1]
        if chosen:
            return chosen
        return f"{'have' if plural else 'has'} {self.have}" if self.have else ""


def combine(atoms: Sequence[Atom], who: str, plural: bool, voice: Voice, nested: bool = False) -> str:
    """Text after the noun, without a leading space. All atoms hold together (AND).

    `nested` says that the noun stands inside another's condition, where a chain of "that have" is hard to follow.
    """
    if not atoms:
        return ""
    ordered = sorted(atoms, key=lambda a: (a.heavy, a.have.startswith("no ")))  # not "no phone and status 'open'"
    if len(ordered) == 1:
        return _single(ordered[0], who, plural, voice, nested=nested)
    first, rest = ordered[0], ordered[1:]
    leader = next((a for a in ordered if a.after and not a.heavy and a.after.split(" ")[0] not in _LOOSE), None)
    if leader is not None and voice.chance(0.75):
        rest = [a for a in ordered if a is not leader]
        tail = (
            _single(rest[0], who, plural, voice, reduced=False)
            if len(rest) == 1
            else _several(rest, who, plural, voice)
        )
        return f"{leader.after} {tail}" if not tail.startswith(("of ", "in ")) else f"{leader.after} and {tail}"
    return _several([first, *rest], who, plural, voice)


def _single(atom: Atom, who: str, plural: bool, voice: Voice, reduced: bool = True, nested: bool = False) -> str:
    if atom.after and reduced:
        if voice.weigh(REDUCED) == "after" or nested:
            return atom.after
        if _adjective(atom):
            return f"{who} {'are' if plural else 'is'} {atom.after}"
    weights: Weights = PERSON_CONDITION if who == "who" else CONDITION
    said = atom.predicate(plural)
    own = bool(said) and not said.startswith(("have ", "has ", "do not have ", "does not have "))
    forms = {
        "with": f"with {atom.have}" if atom.have else "",
        "own" if own else "verb": f"{who} {said}" if said and not (nested and atom.have) else "",
        "whose": f"whose {atom.whose}" if atom.whose else "",
    }
    possible = {text: weights[form] for form, text in forms.items() if text}
    return voice.weigh(possible) if possible else atom.after


def _adjective(atom: Atom) -> bool:
    return atom.after.startswith(
        ("older ", "younger ", "taller ", "shorter ", "heavier ", "lighter ", "from ", "in ", "aged ")
    )


def _several(atoms: Sequence[Atom], who: str, plural: bool, voice: Voice) -> str:
    heavy = [a for a in atoms if a.heavy]
    forms = []
    if all(a.whose for a in atoms):
        forms.append("whose")
    if all(a.have for a in atoms) and len(heavy) < 2:
        forms += ["with", "with", "with"]
    if all(a.predicate(plural) for a in atoms):
        forms.append("that")
    form = voice.pick(*forms) if forms else "mixed"
    if form == "whose":
        return _chain([f"whose {a.whose}" for a in atoms], heavy)
    if form == "with":
        return "with " + _chain([a.have for a in atoms], [])
    if form == "that":
        if heavy:
            return _chain([f"{who} {a.predicate(plural)}" for a in atoms], heavy)
        return f"{who} " + _chain([a.predicate(plural) for a in atoms], heavy)
    return _chain([_clause(a, who, plural) for a in atoms], heavy)


def _clause(atom: Atom, who: str, plural: bool) -> str:
    return f"whose {atom.whose}" if atom.whose else f"{who} {atom.predicate(plural)}"


def _chain(parts: Sequence[str], heavy: Sequence[Atom]) -> str:
    if len(parts) == 1:
        return parts[0]
    comma = "," if heavy and len(parts) > 1 else ""
    if len(parts) == 2:
        return f"{parts[0]}{comma} and {parts[1]}"
    return f"{', '.join(parts[:-1])}, and {parts[-1]}"


def either(atoms: Sequence[Atom]) -> Atom:
    """One atom for the alternatives (OR), which stays one unit inside an AND."""
    have = f"either {' or '.join(a.have for a in atoms)}" if all(a.have for a in atoms) else ""
    whose = ""
    if all(a.whose for a in atoms):
        whose = " or whose ".join(a.whose for a in atoms)
    verb = ("", "")
    if all(a.predicate(True) for a in atoms):
        verb = ("either " + " or ".join(a.predicate(True) for a in atoms),
                "either " + " or ".join(a.predicate(False) for a in atoms))  # fmt: skip
    return Atom(have=have, whose=whose, verb=verb, heavy=True)


def both(atoms: Sequence[Atom]) -> Atom:
    """One atom for a conjunction that stands inside an OR."""
    have = f"both {' and '.join(a.have for a in atoms)}" if all(a.have for a in atoms) else ""
    verb = (
        "both " + " and ".join(_verb(a, True) for a in atoms),
        "both " + " and ".join(_verb(a, False) for a in atoms),
    )
    return Atom(have=have, verb=verb, heavy=True)


def _verb(atom: Atom, plural: bool) -> str:
    return atom.predicate(plural) or f"are such that their {atom.whose}"
