"""A state that says where another column is NULL: `status = 'pending'` is `shipped_at IS NULL` where the source's rows
are so (`profiling.null_rules`), and on instances they are.
"""

from __future__ import annotations

from dataclasses import replace

from agro_data.databases.checks import constants_of
from agro_data.databases.quoting import folded
from agro_data.profiling.profile import NullRule
from agro_data.verify.proofs.facts import Facts, Known
from agro_data.verify.proofs.terms import Select, Term, conjuncts, rebuilt


def states_as_null(select: Select, known: Known, fired: set[str]) -> Select:
    """The SELECT with conditions on such a state, in its WHERE, as what they say of NULL. Of a row that a LEFT JOIN may
    lack both are NULL, and only one is a condition that holds.
    """
    if not any(table.null_rules for table in known.schema.tables):
        return select
    facts = Facts(known, select)

    def said(term: Term) -> Term | None:
        if term[0] not in ("=", "<>"):
            return None
        column, constant = term[1:] if term[1][0] == "col" else (term[2], term[1])
        spec = facts.spec(column[1]) if column[0] == "col" and constant[0] == "lit" else None
        if spec is None or not facts.declared(column) or not known.kind(column):
            return None
        for rule in spec.null_rules:
            meant = _says_null(rule, constant, known, column) if folded(rule.state) == column[2] else None
            if meant is not None:
                null: Term = ("isnull", ("col", column[1], folded(rule.column)))
                return null if meant == (term[0] == "=") else ("not", null)
        return None

    where = conjuncts(rebuilt(term, said) for term in select.where)
    if where == select.where:
        return select
    fired.add("state")
    return replace(select, where=where)


def _says_null(rule: NullRule, constant: Term, known: Known, state: Term) -> bool | None:
    """Whether the column is NULL exactly where its state is `constant`, or exactly where it is not; None: neither."""
    value = str(constant[2])
    if len(rule.values) != 1:
        return None
    one = str(rule.values[0])
    if value == one:
        return rule.null
    others = {str(other) for check in known.checks_of(state) for other in constants_of(check)} - {one}
    return not rule.null if rule.closed and others == {value} else None
