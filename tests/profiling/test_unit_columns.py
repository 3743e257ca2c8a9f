"""Which quantities of a table are in the unit that another column says, and what is only summed apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agro_data.databases.types import Cell
from agro_data.profiling.columns.stocks import with_days_of_stocks
from agro_data.profiling.columns.unit_columns import total_among, with_units, with_units_of_parents
from agro_data.profiling.profile import ColumnProfile, ForeignKey, Kind, Role, TableProfile, Within
from agro_data.profiling.side_files.knowledge import TableKind

_MONEYS = ("EUR", "USD", "JPY")


_KEY = ColumnProfile("currency_id", "INTEGER", "integer", "identifier", "currency ID", distinct=4)


def _measure(name: str, kind: Kind = "real") -> ColumnProfile:
    return ColumnProfile(name, "", kind, "measure", name.replace("_", " "), distinct=40)


def _texts(name: str, values: tuple[Cell, ...], role: Role = "category") -> ColumnProfile:
    common = tuple((value, 9) for value in values)
    return ColumnProfile(name, "TEXT", "text", role, name, distinct=len(values), common=common)


@pytest.mark.parametrize(
    ("columns", "units"),
    [
        ([_measure("total"), _measure("stock"), _texts("currency", _MONEYS)], {"total": "currency"}),
        ([_measure("NETPR"), _measure("NETWR"), _texts("WAERK", _MONEYS)], {"NETPR": "WAERK", "NETWR": "WAERK"}),
        ([_texts("WAERK", _MONEYS), _measure("NETWR")], {"NETWR": "WAERK"}),
        ([_measure("total"), _texts("currency", ("EUR",))], {}),
        ([_measure("total"), _KEY], {"total": "currency_id"}),
        ([_measure("exchange_rate"), replace(_texts("currency", _MONEYS), unique=True)], {}),
        ([_measure("total_count"), _measure("age"), _texts("currency", _MONEYS)], {}),
        ([_measure("population"), _texts("currency", ("euro", "krone"))], {}),
        (
            [_measure("price_cents"), _measure("cost"), _texts("price_currency", _MONEYS)],
            {"price_cents": "price_currency"},
        ),
        (
            [
                _measure("price"),
                _texts("price_currency", _MONEYS),
                _measure("fee"),
                _texts("currency", ("US dollar", "euro")),
            ],
            {"price": "price_currency", "fee": "currency"},
        ),
        ([_texts("MEINS", ("KG", "ST")), _measure("BRGEW"), _texts("GEWEI", ("KG",))], {}),
        ([_measure("result"), _texts("unit", ("mg/dL", "odd"))], {"result": "unit"}),
        ([_texts("Unit", ("ug/L", "CFU/100mL", "NTU")), _measure("limit")], {"limit": "Unit"}),
        ([_texts("uom", ("m", "l")), _measure("qty")], {"qty": "uom"}),
        ([_measure("rent"), _texts("unit", ("m/f", "n/a"))], {}),
        ([_measure("price"), _measure("weight"), _texts("weight_unit", ("g", "kg"))], {"weight": "weight_unit"}),
        ([_measure("age"), _texts("sex", ("M", "F"))], {}),
        ([_measure("price"), _texts("size", ("S", "M", "L"))], {}),
        ([_measure("rent"), _texts("unit", ("12 B", "7 A"))], {}),
        ([_measure("salary"), _texts("unit", ("Finance", "Sales"))], {}),
        ([_measure("fare"), _texts("airport", ("MAD", "ZRH"))], {}),
        ([_measure("value"), _texts("unit_code", ("degC", "%RH", "hPa"))], {"value": "unit_code"}),
        ([_texts("sex", ("Female", "Male", "Total")), _measure("births")], {"births": "sex"}),
        ([replace(_texts("name", ("Shell", "BP", "Total")), unique=True), _measure("sales")], {}),
    ],
)
def test_units_are_those_of_the_quantities_that_they_stand_with(
    columns: list[ColumnProfile], units: dict[str, str]
) -> None:
    assert {c.name: one.column for c in with_units(columns) for one in c.within} == units


def test_quantities_are_held_to_one_value_of_each_column_of_totals() -> None:
    sex, age = _texts("sex", ("Female", "Male", "Total")), _texts("age_group", ("0-14", "15+", "All ages"))
    *_, deaths = with_units([sex, age, _measure("deaths")])
    assert deaths.within == (Within("sex"), Within("age_group"))


@pytest.mark.parametrize(
    ("column", "total"),
    [
        (_texts("cause", ("All causes", "Cancer", "Other")), "All causes"),
        (_texts("sex", ("female", "male", "All")), "All"),
        (_texts("diagnosis_group", ("All diagnoses", "Births", "Cardiac")), "All diagnoses"),
        (_texts("sex", ("F", "M", "T")), "T"),
        (_texts("size", ("L", "M", "T")), ""),
        (_texts("currency", ("ALL", "EUR", "USD")), ""),
        (_texts("parish", ("All Saints", "St. Ann", "St. John")), ""),
    ],
)
def test_what_all_are_of_is_the_total(column: ColumnProfile, total: str) -> None:
    assert total_among(column) == total


@pytest.mark.parametrize(
    ("values", "least", "apart"),
    [
        (("D", "C"), 0, True),
        (("Debit", "Credit"), 0.5, True),
        (("INV", "CRN"), 0.5, True),
        (("INV", "CRN"), -80, False),  # with a sign of their own
        (("INV", "PO"), 0.5, False),
        (("IN", "OUT", "ADJ"), 1, True),
        (("deposits", "withdrawals", "fees"), 0, True),
        (("D", "C"), -90, False),  # the amounts have signs
        (("A", "C", "D"), 0, False),
        (("card", "cash"), 0, False),
    ],
)
def test_debits_and_credits_are_summed_apart(values: tuple[Cell, ...], least: float, apart: bool) -> None:
    _, amount = with_units([_texts("side", values), replace(_measure("qty"), minimum=least)])
    assert amount.within == ((Within("side", summed=True),) if apart else ())


_ID = ColumnProfile("id", "INTEGER", "integer", "identifier", "ID", distinct=9, unique=True)


def _table(name: str, columns: list[ColumnProfile], kind: TableKind = "entity", key: str = "id") -> TableProfile:
    return TableProfile(name, 90, (_ID, *columns), name, f"{name}s", primary_key=(key,), kind=kind)


@pytest.mark.parametrize(
    ("parent", "child", "said"),
    [
        (_table("bill", [_texts("currency", _MONEYS)], "event"), _table("line", [_measure("amount")]), ("amount",)),
        (_table("bill", [_texts("currency", _MONEYS)], "event"), _table("line", [_measure("pages")]), ()),
        (_table("bill", [_texts("currency", ("EUR",))], "event"), _table("line", [_measure("amount")]), ()),
        (_table("bill", [_texts("price_currency", _MONEYS)], "event"), _table("line", [_measure("amount")]), ()),
        (_table("account", [_texts("currency", _MONEYS)]), _table("booking", [_measure("amount")]), ("amount",)),
        (_table("firm", [_texts("local_currency", _MONEYS)]), _table("bill", [_measure("total")]), ("total",)),
        (_table("bill", [_texts("currency", _MONEYS)]), _table("line", [_measure("amount")], key="up"), ("amount",)),
        (_table("sensor", [_texts("unit", ("kW", "ppm"))]), _table("alarm", [_measure("peak_value")]), ("peak_value",)),
        (_table("product", [_texts("unit", ("kg", "l"))]), _table("sale", [_measure("price")]), ()),
    ],
)
def test_what_belongs_to_a_row_is_in_the_unit_that_it_says(
    parent: TableProfile, child: TableProfile, said: tuple[str, ...]
) -> None:
    key = ForeignKey(child.name, ("up",), parent.name, ("id",))
    _, found = with_units_of_parents((parent, child), [key])
    assert tuple(c.name for c in found.columns if any(one.path == (key,) for one in c.within)) == said
    other_way = ForeignKey(child.name, ("other",), parent.name, ("id",))
    apart = replace(child, primary_key=("id",))
    assert with_units_of_parents((parent, apart), [key, other_way]) == (parent, apart)


def test_the_nearest_row_says_the_unit_and_before_others_a_document() -> None:
    firm = _table("firm", [_texts("currency", _MONEYS)])
    entry, centre = _table("entry", []), _table("centre", [])
    line = _table("line", [replace(_measure("amount"), minimum=0)], key="entry_id")
    up = ForeignKey("line", ("entry_id",), "entry", ("id",))
    keys = [
        ForeignKey("line", ("centre_id",), "centre", ("id",)),
        up,
        ForeignKey("centre", ("firm_id",), "firm", ("id",)),
        of := ForeignKey("entry", ("firm_id",), "firm", ("id",)),
    ]
    found = with_units_of_parents((line, firm, entry, centre), keys)[0]
    assert found.by_name["amount"].within == (Within("currency", (up, of)),)
    account = replace(firm, name="account", columns=(_ID, _texts("kind", ("expense", "revenue"))))
    to = ForeignKey("line", ("account_id",), "account", ("id",))
    found = with_units_of_parents((line, entry, account), [up, to])[0]
    assert found.by_name["amount"].within == (Within("kind", (to,), summed=True),)


def _day(name: str, role: Role = "date") -> ColumnProfile:
    return ColumnProfile(name, "DATE", "date", role, name, distinct=12, date_format="iso")


@pytest.mark.parametrize(
    ("name", "columns", "stocks"),
    [
        ("daily_balance", [_day("as_of_date"), _measure("balance"), _measure("fees")], ("balance",)),
        ("stock_snapshot", [_day("taken"), _measure("qty")], ()),
        ("item_state", [_day("snapshot_date"), _measure("qty"), _measure("value")], ("qty", "value")),
        ("census", [_day("year", "year"), _measure("population"), _measure("births")], ("population",)),
        ("loan", [_day("opened_on"), _measure("balance")], ()),
        ("payment", [_day("date"), _measure("amount")], ()),
    ],
)
def test_stocks_are_summed_within_one_day(name: str, columns: list[ColumnProfile], stocks: tuple[str, ...]) -> None:
    thing = ColumnProfile("thing_id", "INTEGER", "integer", "identifier", "thing ID", distinct=9)
    (found,) = with_days_of_stocks([_table(name, [thing, *columns])], [])
    within = (Within(columns[0].name, summed=True),)
    assert tuple(c.name for c in found.columns if c.within == within) == stocks


@pytest.mark.parametrize("beside", [[], ["day_before"]])
def test_the_day_of_a_stock_may_be_in_a_calendar(beside: list[str]) -> None:
    parts = [_texts(name, (1, 2)) for name in ("month", "quarter", "weekday")]
    calendar = _table("calendar", [*(replace(_day(name), unique=True) for name in ("day", *beside)), *parts])
    day = ColumnProfile("date_key", "INTEGER", "integer", "identifier", "date key", distinct=9)
    stock = _table("stock", [day, replace(day, name="item_id"), _measure("stock_quantity")])
    key = ForeignKey("stock", ("date_key",), "calendar", ("id",))
    found = with_days_of_stocks([calendar, stock], [key])[1]
    assert found.by_name["stock_quantity"].within == (Within("day", (key,), summed=True),)
