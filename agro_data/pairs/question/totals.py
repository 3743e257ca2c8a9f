"""A total is asked for, and the SQL averages: "the total price of the parcels", `AVG(price)`.

Only where "total" stands right before what is averaged, or "in total" with nothing else to be of ("how much do they
weigh in total"), nothing is summed, and no word asks for an average.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from agro_data.pairs.finding import Finding
from agro_data.pairs.mending import rewritten
from agro_data.pairs.places import profile_at
from agro_data.profiling.names.words import noun_forms
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.said import plain
from agro_data.sql.walks import around

_ARITHMETIC = (exp.Mul, exp.Div, exp.Add, exp.Sub)
_OF = r"(?: (?:of|the|all|their|its))*"
_TOTAL = rf"\b(?:total|combined|sum of){_OF}(?: (?!number\b|of\b|and\b|or\b)\w+)? (?:%s)\b"
_IN_TOTAL = re.compile(r"\b(?:in total|altogether)\b")
_AVERAGE = re.compile(r"\b(?:average\w*|avg|mean|means|typical\w*|usual\w*|expected)\b")
_TOTALS = re.compile(r"\b(?:total\w*|sum|sums|combined)\b")


def check_totals(question: str, evidence: str, found: Resolution, profile: DatabaseProfile) -> Iterator[Finding]:
    """Findings of one pair."""
    calls = list(found.tree.find_all(exp.Avg))
    plain_calls = all(isinstance(call.this, exp.Column) and not isinstance(around(call), _ARITHMETIC) for call in calls)
    if not calls or not plain_calls or found.tree.find(exp.Sum, exp.Window) is not None:
        return  # an average times a number is a total
    asked = plain(question)
    if _AVERAGE.search(f"{asked} {plain(evidence)}"):
        return
    alone = _IN_TOTAL.search(asked) if len(calls) == 1 and found.tree.find(exp.Count) is None else None
    said = [_said(call.this, asked, found, profile, alone) for call in calls]
    if all(said):
        dialect = profile.dialect
        mended = rewritten(found, [(call, exp.Sum(this=call.this.copy())) for call in calls], dialect)
        shown = " and ".join(dict.fromkeys(sql_text(call, dialect) for call in calls))
        yield Finding("total_missing", f"The question says {said[0]!r}, the SQL computes {shown}.", mended=mended)


def _said(
    column: exp.Expr, question: str, found: Resolution, profile: DatabaseProfile, alone: re.Match[str] | None
) -> str:
    """Where a question asks for the total of a column; "" where it does not, or the column holds totals. `alone`: where
    it says a total that can be of nothing else.
    """
    place = found.place(column)
    words = plain(profile_at(place, profile).phrase).split() if place is not None else []
    if not words or _TOTALS.search(" ".join(words)):
        return ""
    forms = {" ".join(form) for form in noun_forms(words)} | {form[-1] for form in noun_forms(words)}
    said = re.search(_TOTAL % "|".join(map(re.escape, sorted(forms, key=len, reverse=True))), question) or alone
    return said[0] if said is not None else ""
