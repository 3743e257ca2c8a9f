"""A state that says where another column is NULL: `status = 'pending'` is `shipped_at IS NULL` where the source's rows
are so (`profiling.columns.null_rules`), and on instances they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from agro_data.databases.quoting import folded
from agro_data.databases.schema.checks import constants_of
from agro_data.profiling.profile import NullRule
from agro_data.verify.proofs.facts import Facts, Known
from agro_data.verify.proofs.terms import Select, Term, conjuncts, rebuilt


def states_as_null(select: Select, known: Known, fired: set[str]) -> Select:
    """The SELECT with conditions on such a state, in its WHERE, as what they say of NULL, or without those that follow
    from others. Not of a row that a LEFT JOIN may lack: both columns are NULL there, and only one condition holds.
    """
    if not any(table.null_rules for table in known.schema.tables):
        return select
    facts = Facts(known, select)

    def said(term: Term) -> Term | None:
        for rule, state, value in _of_state(term, facts):
            meant = _says_null(rule, value, known.checks_of(state))
            if meant is not None:
                null: Term = ("isnull", _empty(rule, state))
                return null if meant == (term[0] == "=") else ("not", null)
        return None

    def follows(term: Term) -> bool:
        """Whether a state is other than one in which a column is NULL that another condition asks to be known."""
        return term[0] == "<>" and any(
            rule.null and value in map(str, rule.values) and _empty(rule, state) in facts.not_null
            for rule, state, value in _of_state(term, facts)
        )

    where = conjuncts(rebuilt(term, said) for term in select.where if not follows(term))
    if where == select.where:
        return select
    fired.add("state")
    return replace(select, where=where)


def _of_state(term: Term, facts: Facts) -> Iterator[tuple[NullRule, Term, str]]:
    """For a state that a condition compares with a constant: its rules, its column, and the constant."""
    if term[0] not in ("=", "<>"):
        return
    column, constant = term[1:] if term[1][0] == "col" else (term[2], term[1])
    spec = facts.spec(column[1]) if column[0] == "col" and constant[0] == "lit" else None
    if spec is not None and facts.declared(column) and facts.known.kind(column):
        yield from ((rule, column, str(constant[2])) for rule in spec.null_rules if folded(rule.state) == column[2])


def _empty(rule: NullRule, state: Term) -> Term:
    """The column that is NULL in some states."""
    return ("col", state[1], folded(rule.column))


def _says_null(rule: NullRule, value: str, checks: list[str]) -> bool | None:
    """Whether the column is NULL exactly in the state of this value, or exactly in all others; None: neither."""
    if len(rule.values) != 1:
        return None
    one = str(rule.values[0])
    if value == one:
        return rule.null
    others = {str(other) for check in checks for other in constants_of(check)} - {one}
    return not rule.null if rule.closed and others == {value} else None
