"""LIKE a text that no other text of its column has in it: `code LIKE '%P0042%'` is `code = 'P0042'` where all codes are
of this form (`profiling.columns.forms`), and on instances they are.
"""

from __future__ import annotations

from agro_data.profiling.columns.forms import only_text
from agro_data.verify.proofs.facts import Known
from agro_data.verify.proofs.terms import Select, Term, mapped, rebuilt

_LIKES = (("fn", "Like"), ("fn", "ILike"))
_WILD = frozenset("%_\\")


def whole_texts(select: Select, known: Known, fired: set[str]) -> Select:
    """The SELECT with LIKE as = where that is the same."""
    if not any(column.form for table in known.schema.tables for column in table.columns):
        return select

    def whole(term: Term) -> Term | None:
        if term[0] == "not":
            same = whole(term[1])
            return ("<>", *same[1:]) if same is not None and same[0] == "=" else None
        slots = dict(term[2]) if term[:2] in _LIKES else {}
        column, pattern = slots.get("this", ()), slots.get("expression", ())
        if {*slots} != {"this", "expression"} or column[:1] != ("col",) or pattern[:2] != ("lit", "text"):
            return None
        spec, text = known.declared(column), str(pattern[2]).strip("%")
        if spec is None or spec.collation or not spec.form or _WILD & {*text}:
            return None
        only = only_text(text, spec.form)
        caseless = term[1] == "ILike" or known.dialect == "sqlite"  # whose patterns are in small letters here
        if not only or (only != text and not caseless):
            return None
        return ("=", *sorted((column, ("lit", "text", only)), key=repr))

    made = mapped(select, lambda term: rebuilt(term, whole))
    if made != select:
        fired.add("form")
    return made
