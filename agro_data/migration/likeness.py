"""How much two columns are alike: by their values, by their names, and what tells the rows of a table apart."""

from __future__ import annotations

from difflib import SequenceMatcher
from math import sqrt

from agro_data.databases.quoting import folded
from agro_data.migration.evidence import Known, plain
from agro_data.profiling.names.words import expand, split_identifier
from agro_data.profiling.profile import ColumnProfile, TableProfile

ALIKE = 0.6  # of the letters of two names, from which these count
LISTED = 50  # values with counts that a profile keeps


def value_likeness(old: ColumnProfile, known: Known, new: ColumnProfile, now: Known) -> float | None:
    """How much two columns hold the same values as often, 0 to 1; None where neither holds any."""
    if not known.values and not now.values:
        return None
    if not known.values or not now.values:
        return 0.0
    spread = min(old.distinct, new.distinct) / max(old.distinct, new.distinct, 1)
    missing = 1 - abs(old.null_share - new.null_share)
    return held(known, now) * sqrt(spread) * missing * _as_often(old, new)


def spread_differs(old: ColumnProfile, new: ColumnProfile) -> bool:
    """Whether two columns of as many rows have the same values not as often: other deciles, or other counts."""
    ends = [[plain(value) for value in column.quantiles] for column in (old, new)]
    if all(ends) and ends[0] != ends[1]:
        return True
    counts = [{plain(value): count for value, count in column.common} for column in (old, new)]
    if not all(counts):
        return False
    least = max(min(each.values()) for each in counts)  # of those with the least count some may not be listed
    one, two = ({value: count for value, count in each.items() if count > least} for each in counts)
    return one != two


def held(known: Known, now: Known) -> float:
    """Share of the known values that are there now; 1 where none is known."""
    return len(known.values & now.values) / len(known.values) if known.values else 1.0


def name_likeness(old: str, new: str) -> float:
    """How much two identifiers say the same, 0 to 1: their words with abbreviations written out, or their letters."""
    if folded(old) == folded(new):
        return 1.0
    a, b = expand(split_identifier(old)), expand(split_identifier(new))
    shared = len(set(a) & set(b)) / max(len(set(a) | set(b)), 1)
    letters = SequenceMatcher(None, "".join(a), "".join(b), autojunk=False).ratio()
    return max(shared, letters if letters > ALIKE else 0.0)


def keys_of(table: TableProfile) -> list[str]:
    """Columns that tell its rows apart, each alone: declared ones first, then those that the values show.

    One that has a NULL tells nothing of that row, whatever is declared; a share of NULLs may have been rounded to 0.
    """
    full = {c.name for c in table.columns if c.null_share == 0.0 and (table.sampled or c.distinct == table.rows)}
    declared = [key[0] for key in (table.primary_key, *table.unique_keys) if len(key) == 1 and key[0] in full]
    shown = [column.name for column in table.columns if column.unique and column.name in full]
    return list(dict.fromkeys([*declared, *shown]))


def family(column: ColumnProfile) -> str:
    """What two columns must share to be likely the same: a kind, all numbers counting as one."""
    return "number" if column.kind in ("integer", "real", "boolean") else column.kind


def _as_often(one: ColumnProfile, two: ColumnProfile) -> float:
    """Overlap of two distributions whose values are all listed; 1 where they are not."""
    if not (0 < one.distinct <= LISTED and 0 < two.distinct <= LISTED):
        return 1.0
    a, b = ({plain(value): count for value, count in column.common} for column in (one, two))
    whole = sum(a.values()), sum(b.values())
    if not all(whole):
        return 1.0
    return sum(min(count / whole[0], b.get(value, 0) / whole[1]) for value, count in a.items())
