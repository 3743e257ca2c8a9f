"""Which quantities of a table are in the unit that another column says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agro_data.databases.types import Cell
from agro_data.profiling.columns.unit_columns import with_units, with_units_of_parents
from agro_data.profiling.profile import ColumnProfile, ForeignKey, Kind, Role, TableProfile
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
        ([_texts("uom", ("m", "l")), _measure("qty")], {"qty": "uom"}),
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
    assert {c.name: c.unit_column for c in with_units(columns) if c.unit_column} == units


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
        (_table("country", [_texts("currency", _MONEYS)]), _table("city", [_measure("budget")]), ()),
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
    assert tuple(c.name for c in found.columns if c.unit_table == parent.name) == said
    other_way = ForeignKey(child.name, ("other",), parent.name, ("id",))
    assert with_units_of_parents((parent, child), [key, other_way]) == (parent, child)
