"""Columns that say on which side a row is booked: debits and credits of one amount are not added to a sum."""

from __future__ import annotations

from agro_data.profiling.names.words import singular_word
from agro_data.profiling.profile import ColumnProfile

_PAIRS = (
    "debit/credit dr/cr soll/haben in/out inbound/outbound incoming/outgoing inflow/outflow receipt/issue plus/minus "
    "deposit/withdrawal buy/sell purchase/sale purchase/return purchase/refund sale/return sale/refund payment/refund "
    "payment/chargeback charge/refund invoice/credit_note invoice/credit_memo income/expense revenue/expense "
    "asset/liability import/export increase/decrease earn/redeem +/- inv/crn inv/cn inv/cm invoice/crn invoice/credit "
    "rechnung/gutschrift facture/avoir"
)
_OPPOSED = tuple(frozenset(pair.replace("_", " ").split("/")) for pair in _PAIRS.split())
_LETTERS = (frozenset("dc"), frozenset("sh"))  # where there is nothing else: Soll and Haben


def tells_sides(column: ColumnProfile) -> bool:
    """Whether the values of a column, all of them known, hold two that oppose each other."""
    if column.kind != "text" or column.distinct != len(column.common) or column.unique:
        return False
    said = {_plain(value) for value, _ in column.common if isinstance(value, str)}
    return said in _LETTERS or any(map(said.issuperset, _OPPOSED))


def is_unsigned(column: ColumnProfile) -> bool:
    """Whether amounts have no sign of their own, by which those of two sides could be added."""
    return column.role == "measure" and isinstance(column.minimum, int | float) and column.minimum >= 0


def _plain(value: str) -> str:
    words = value.strip().lower().replace("_", " ").replace("-", " ").split() or [value.strip()]
    return " ".join([*words[:-1], singular_word(words[-1])])
