"""Which column says in what unit another is, in its row or in one that this belongs to: euros and dollars are neither
added nor compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile

from agro_data.profiling.columns.sides import is_unsigned, tells_sides
from agro_data.profiling.names.words import is_word, singular_word, split_identifier, word_set
from agro_data.profiling.profile import ColumnProfile, ForeignKey, TableProfile, Within, keys_by_table

# ISO 4217.
_CURRENCIES = word_set(
    "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF "
    "CHF CLF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD "
    "HKD HNL HRK HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD "
    "LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP "
    "PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND "
    "TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWL DEM FRF ITL ESP "
    "NLG ATS"
)
_UNITS = word_set(
    "kg g mg µg ug t lb lbs oz l ml cl hl m cm mm km ft yd m2 m3 sqm sqft pc pcs piece pieces st stk stck ea each "
    "kar mol mmol mmol/l mg/dl g/l g/dl iu iu/l u/l ppm ppb bpm mmhg °c °f c f degc degf % %rh h hr min s kwh mwh wh w "
    "kw mw mv hz khz mhz rpm db dba dbm lx lux hpa kpa mbar psi m/s mm/s km/h µg/m3 µg/m³"
)
_MONEY = word_set(
    "price amount total subtotal cost costs net gross tax taxes vat fee fees revenue salary wage budget balance "
    "payment value discount charge charges rate income expense expenses paid premium margin profit debit credit fare "
    "bid deposit refund rent turnover worth spent pay bonus commission loan principal earnings donation"
)
_COUNTED = word_set("count number quantity qty units items hours days minutes percent percentage pct share ratio")
_MEASURED = (
    ["uom"], ["unit", "of", "measure"], ["unit", "of", "measurement"], ["measurement", "unit"], ["unit"],
    ["unit", "code"],
)  # fmt: skip
_READINGS = word_set("value reading measured measurement result observation")  # in the unit of the sensor
_STEPS = 2  # from a row up to the one that says its unit

_TOTAL = re.compile(r"(?:grand |sub)?totals?|all|overall|both (?:sexes|genders)|gesamt|insgesamt|_t")
_ALL = re.compile(r"all (\w+)")
_SEXES = word_set("m f t")  # of which T is the total


def total_among(column: ColumnProfile) -> str:
    """The value by which rows are the totals of others, as tables of statistics have them; "" where there is none.

    Where no number tells, a name does: "all causes" are the total of what is called a cause. One that a single row has
    may be that of a company.
    """
    if column.total:
        return column.total
    values = [value for value, _ in column.common if isinstance(value, str)]
    if column.role not in ("category", "text") or not 2 < column.distinct == len(values) or column.unique:
        return ""
    if _CURRENCIES.issuperset(values):  # ALL are the leks of Albania
        return ""
    kinds = {singular_word(word) for word in (*split_identifier(column.name), "person")}
    said = {value.strip().lower(): value for value in values}
    for plain, value in said.items():
        whole = _ALL.match(plain)
        if _TOTAL.fullmatch(plain) or (whole and singular_word(whole[1]) in kinds):
            return value
    return said["t"] if said.keys() == _SEXES else ""


def with_units(columns: Sequence[ColumnProfile]) -> tuple[ColumnProfile, ...]:
    """The columns of a table, quantities with the columns that say in what they differ, where there is more than one
    value.

    A currency is that of what is called as money is, a unit of measure that of what it stands behind. A name before the
    unit's own says of what it is: `price_currency`. If nothing else tells, it is that of the only quantity. Rows of
    which no two have the same unit are the units themselves, with their rates. Where rows of totals stand beside their
    parts, quantities are held to one value of each column that tells them, as to a unit. Debits and credits are summed
    apart.
    """
    units = {c.name: sort for c in columns if (sort := _sort_of(c))}
    found: dict[str, str] = {}
    behind = {c.name for before, c in pairwise(columns) if before.role == "measure"}
    for name in sorted(units, key=lambda name: (not _owner(name), name not in behind)):  # the surest first
        for measure in _measured_in(columns, name, units[name], found):
            found[measure.name] = name
    by_name = {c.name: c for c in columns}
    several = {
        measure: Within(name)
        for measure, name in found.items()
        if by_name[name].distinct > 1 and not by_name[name].unique
    }
    totals = [Within(c.name) for c in columns if total_among(c)]
    sides = [Within(c.name, summed=True) for c in columns if tells_sides(c)]

    def of(column: ColumnProfile) -> tuple[Within, ...]:
        unit = [several[column.name]] if column.name in several else []
        return (*unit, *totals, *(sides if is_unsigned(column) else ())) if column.role == "measure" else ()

    return tuple(replace(c, within=of(c)) for c in columns)


def with_units_of_parents(tables: Sequence[TableProfile], keys: Sequence[ForeignKey]) -> tuple[TableProfile, ...]:
    """The tables, quantities whose own rows say no unit with the one that a row says which they belong to, or which
    that belongs to.

    The amounts of an order's lines are in the order's currency, or in that of its shop, a sensor's readings in the
    sensor's unit; what is booked on accounts of income and of expenses is summed apart. The nearest row says it, and
    before others that of an event, or one whose key is a part of the rows' own.
    """
    by_name = {table.name: table for table in tables}
    up = keys_by_table(keys)
    telling = {t.name: [(c.name, sort) for c in t.columns for sort in _tells(c)] for t in tables}
    return tuple(_as_parents_say(table, by_name, up, telling) for table in tables)


def _as_parents_say(
    table: TableProfile,
    by_name: Mapping[str, TableProfile],
    up: Mapping[str, Sequence[ForeignKey]],
    telling: Mapping[str, Sequence[tuple[str, str]]],
) -> TableProfile:
    """A table as its parents say, of which `telling` columns tell in what quantities differ, each with its sort."""
    untold = _untold(table)
    found: dict[tuple[str, str], list[Within]] = {}  # by quantity and sort
    for ways in _levels(table, by_name, up) if any(untold.values()) else ():
        said: dict[tuple[str, str], list[Within]] = {}
        for path in sorted(ways, key=lambda path: not _is_own(path, table, by_name)):
            for column, sort in telling[path[-1].ref_table]:
                within = Within(column, path, summed=sort == "sides")
                for measure in untold[sort] if sort != "measure" or len(path) == 1 else ():
                    if (measure, sort) not in found:
                        said.setdefault((measure, sort), []).append(within)
        for told, all_of in said.items():
            found[told] = [one for one in all_of if _is_own(one.path, table, by_name)] or all_of
    further: dict[str, list[Within]] = {}
    for (measure, _), all_of in found.items():
        further.setdefault(measure, []).extend(all_of)
    return replace(
        table, columns=tuple(replace(c, within=(*c.within, *further.get(c.name, ()))) for c in table.columns)
    )


def _levels(
    table: TableProfile, by_name: Mapping[str, TableProfile], up: Mapping[str, Sequence[ForeignKey]]
) -> Iterator[list[tuple[ForeignKey, ...]]]:
    """The ways from a table up to its parents, and then to theirs, each table reached by one way only, the shortest."""
    reached, last = {table.name}, [tuple[ForeignKey, ...]()]
    for _ in range(_STEPS):
        steps = [
            (*path, key)
            for path in last
            for key in up.get(path[-1].ref_table if path else table.name, ())
            if key.ref_table in by_name and key.ref_table not in reached
        ]
        ways = Counter(path[-1].ref_table for path in steps)
        owned = Counter(path[-1].ref_table for path in steps if _is_part(path, table))
        last = [
            path
            for path in steps
            if ways[parent := path[-1].ref_table] == 1 or (owned[parent] == 1 and _is_part(path, table))
        ]
        reached |= set(ways)
        yield last


def _is_part(path: Sequence[ForeignKey], table: TableProfile) -> bool:
    """Whether rows are a part of what a way leads to first: its key is one of their own."""
    return set(path[0].columns) <= set(table.primary_key)


def _is_own(path: Sequence[ForeignKey], table: TableProfile, by_name: Mapping[str, TableProfile]) -> bool:
    """Whether rows are a part of what a way leads to first, or that is an event: a document, and no thing."""
    return by_name[path[0].ref_table].kind == "event" or _is_part(path, table)


def _tells(column: ColumnProfile) -> Iterator[str]:
    """In what sorts of things a column says that the quantities of rows differ which belong to its own."""
    if tells_sides(column):
        yield "sides"
    sort, owner = _sort_of(column), _owner(column.name)
    others = not owner or (sort == "currency" and _MONEY.isdisjoint(owner))  # not what stands beside it alone
    if sort and others and column.distinct > 1 and not column.unique:
        yield sort


def _untold(table: TableProfile) -> dict[str, list[str]]:
    """The quantities of a table of which no column of its own says in what they differ, by the sort of this."""
    measures = [c for c in table.columns if c.role == "measure"]
    units = {c.name for c in table.columns if _sort_of(c)}
    free = [c for c in measures if not c.unit and units.isdisjoint(one.column for one in c.within)]
    return {
        "currency": [c.name for c in free if _is_money(c)],
        "measure": [c.name for c in free if _is_reading(c)],
        "sides": [c.name for c in measures if is_unsigned(c) and not any(one.summed for one in c.within)],
    }


def _sort_of(column: ColumnProfile) -> str:
    """ "currency" or "measure" of a column that says units, by its values or its name; else "".

    A number is one where it is called a currency: it is a key to them.
    """
    words = split_identifier(column.name)
    called = "currency" in words[-2:]
    if column.role not in ("category", "text", "identifier") or column.kind not in ("text", "integer"):
        return ""
    if column.kind == "integer" or not column.common:
        return "currency" if called else ""
    values = {value.strip() for value, _ in column.common if isinstance(value, str) and value.strip()}
    whole = column.distinct == len(column.common) and bool(values)
    if called or (whole and values <= _CURRENCIES):
        return "currency"
    known = {value for value in map(str.lower, values) if _is_unit(value)}
    named = any(words[-len(name) :] == name for name in _MEASURED)
    letters = all(len(value) == 1 for value in known)  # "m" and "f" are sexes, "s", "m" and "l" sizes
    return "measure" if known and (named or (whole and len(known) == len(values) and not letters)) else ""


def _is_unit(value: str) -> bool:
    """Whether a value is a unit, or one per something: "ug/l", but no "m/f"."""
    first, per, _ = value.partition("/")
    return value in _UNITS or (bool(per) and len(first) > 1 and first in _UNITS)


def _measured_in(
    columns: Sequence[ColumnProfile], unit: str, sort: str, found: dict[str, str]
) -> Sequence[ColumnProfile]:
    """The quantities whose unit the column `unit` says, none of them in `found`."""
    free = [c for c in columns if c.role == "measure" and c.name not in found and not c.unit]
    fit = [c for c in free if (_may_be_money(c) if sort == "currency" else not _is_money(c) or _is_reading(c))]
    owner = _owner(unit)
    owned = [c for c in fit if owner and split_identifier(c.name)[: len(owner)] == owner]
    if owned:
        return owned
    money = [c for c in fit if sort == "currency" and _is_money(c)]
    if money:
        return money
    place = [c.name for c in columns].index(unit)
    before = [*takewhile(fit.__contains__, reversed(columns[:place]))]
    behind = [*takewhile(fit.__contains__, columns[place + 1 :])]  # a test, its unit, and the least and most of it
    return before or behind or (fit if len(fit) == 1 else [])


def _is_money(column: ColumnProfile) -> bool:
    words = split_identifier(f"{column.name} {column.phrase}")
    return not _MONEY.isdisjoint(words) and _COUNTED.isdisjoint(words)


def _is_reading(column: ColumnProfile) -> bool:
    return not _READINGS.isdisjoint(split_identifier(column.name)[-1:])


def _may_be_money(column: ColumnProfile) -> bool:
    """Whether a name says money, or nothing that we understand: a country's currency is not that of its population."""
    return _is_money(column) or not any(len(word) > 2 and is_word(word) for word in split_identifier(column.name))


def _owner(unit: str) -> list[str]:
    """What a name says that a unit is of: "price" of "price currency"."""
    words = split_identifier(unit)
    end = next((place for place, word in enumerate(words) if word in ("currency", "unit", "uom", "measurement")), 0)
    return words[:end]
