"""Which column says in what unit another is, in its row or in the row that it belongs to: euros and dollars are neither
added nor compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile

from agro_data.profiling.names.words import is_word, split_identifier, word_set
from agro_data.profiling.profile import ColumnProfile, ForeignKey, TableProfile

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
_READINGS = word_set("value reading measurement result observation")  # their unit is the sensor's, or the test's


_TOTAL = frozenset(["total", "totals", "both sexes", "all ages", "all persons", "gesamt", "insgesamt"])


def total_among(column: ColumnProfile) -> str:
    """The value by which rows are the totals of others, as tables of statistics have them; "" where there is none.

    A name that one row has may be that of a company.
    """
    values = [value for value, _ in column.common if isinstance(value, str)]
    kinds = column.role in ("category", "text") and 2 < column.distinct == len(values) and not column.unique
    return next((value for value in values if value.strip().lower() in _TOTAL), "") if kinds else ""


def with_units(columns: Sequence[ColumnProfile]) -> tuple[ColumnProfile, ...]:
    """The columns of a table, quantities with the column that says their unit where there is more than one unit.

    A currency is that of what is called as money is, a unit of measure that of what it stands behind. A name before the
    unit's own says of what it is: `price_currency`. If nothing else tells, it is that of the only quantity. Rows of
    which no two have the same unit are the units themselves, with their rates. Where rows of totals stand beside their
    parts, quantities are held to one value of the column that tells them, as to a unit.
    """
    units = {c.name: sort for c in columns if (sort := _sort_of(c))}
    found: dict[str, str] = {}
    behind = {c.name for before, c in pairwise(columns) if before.role == "measure"}
    for name in sorted(units, key=lambda name: (not _owner(name), name not in behind)):  # the surest first
        for measure in _measured_in(columns, name, units[name], found):
            found[measure.name] = name
    by_name = {c.name: c for c in columns}
    several = {
        measure: name for measure, name in found.items() if by_name[name].distinct > 1 and not by_name[name].unique
    }
    if total := next((c.name for c in columns if total_among(c)), ""):
        several |= {c.name: total for c in columns if c.role == "measure" and c.name not in several}
    return tuple(replace(c, unit_column=several[c.name]) if c.name in several else c for c in columns)


def with_units_of_parents(tables: Sequence[TableProfile], keys: Sequence[ForeignKey]) -> tuple[TableProfile, ...]:
    """The tables, quantities whose own rows say no unit with the one that the row they belong to says.

    The amounts of an order's lines are in the order's currency, a sensor's readings in the sensor's unit. The currency
    of a thing that is no event, and no part of the rows' key, may be that of anything: a country's.
    """
    by_name = {table.name: table for table in tables}
    return tuple(_as_parents_say(table, by_name, keys) for table in tables)


def _as_parents_say(table: TableProfile, by_name: dict[str, TableProfile], keys: Sequence[ForeignKey]) -> TableProfile:
    found: dict[str, set[tuple[str, str]]] = {}
    for parent, own in _parents(table, by_name, keys):
        for unit in parent.columns:
            if (sort := _sort_of(unit)) and unit.distinct > 1 and not unit.unique and not _owner(unit.name):
                for measure in _said_by(table, sort, own=own or parent.kind == "event"):
                    found.setdefault(measure.name, set()).add((parent.name, unit.name))
    said = {name: next(iter(units)) for name, units in found.items() if len(units) == 1}
    return replace(
        table,
        columns=tuple(
            replace(c, unit_table=said[c.name][0], unit_column=said[c.name][1]) if c.name in said else c
            for c in table.columns
        ),
    )


def _parents(
    table: TableProfile, by_name: dict[str, TableProfile], keys: Sequence[ForeignKey]
) -> Iterator[tuple[TableProfile, bool]]:
    """The tables that rows refer to by one key only, and whether it is a part of the rows' own key."""
    outgoing = [key for key in keys if key.table == table.name and key.ref_table != table.name]
    ways = Counter(key.ref_table for key in outgoing)
    for key in outgoing:
        if ways[key.ref_table] == 1 and key.ref_table in by_name:
            yield by_name[key.ref_table], set(key.columns) <= set(table.primary_key)


def _said_by(table: TableProfile, sort: str, *, own: bool) -> list[ColumnProfile]:
    """The quantities of a table that may be in a unit of this sort that a parent says; `own`: rows are a part of it."""
    free = [c for c in table.columns if c.role == "measure" and not c.unit and not c.unit_column]
    if sort == "currency":
        return [c for c in free if own and _is_money(c)]
    return [c for c in free if _is_reading(c)]


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
    known = {value.lower() for value in values} & _UNITS
    named = any(words[-len(name) :] == name for name in _MEASURED)
    letters = all(len(value) == 1 for value in known)  # "m" and "f" are sexes, "s", "m" and "l" sizes
    return "measure" if known and (named or (whole and len(known) == len(values) and not letters)) else ""


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
