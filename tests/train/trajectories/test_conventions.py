"""Names by convention: every schema can be written by every one of them, and no two names become one."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agro_data.databases.quoting import folded
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, ForeignKey, TableProfile
from agro_data.sql.identifiers import needs_quotes
from agro_train.trajectories.conventions import WRITTEN, Convention, spelling


def profile(**tables: tuple[str, ...]) -> DatabaseProfile:
    """Tables with these columns; the first column of each is its key."""
    return DatabaseProfile(
        "db",
        "sqlite",
        "00",
        tuple(
            TableProfile(
                name,
                1,
                tuple(ColumnProfile(column, "TEXT", "text", "text", column) for column in columns),
                singular=name.lower(),
                plural=f"{name}s",
                primary_key=columns[:1],
            )
            for name, columns in tables.items()
        ),
        tuple(
            ForeignKey(child, (columns[0],), name, (columns[0],))
            for name, columns in tables.items()
            for child, others in tables.items()
            if child != name and columns[0] in others
        ),
    )


SHOWS = profile(Stadium=("Stadium_ID", "Name", "Highest"), concert=("concert_ID", "Theme", "Stadium_ID"))


@pytest.mark.parametrize(
    ("convention", "table", "columns"),
    [
        (Convention("snake"), "stadium", ["stadium_id", "name", "highest"]),
        (Convention("titles", plural=True), "Stadiums", ["Stadium_Id", "Name", "Highest"]),
        (Convention("camel", owner="table"), "stadium", ["stadiumId", "stadiumName", "stadiumHighest"]),
        (Convention("upper", before="tbl", owner="bare"), "TBL_STADIUM", ["ID", "NAME", "HIGHEST"]),
        (Convention("pascal", after="info"), "StadiumInfo", ["StadiumId", "Name", "Highest"]),
        (Convention("snake", owner="initial"), "stadium", ["s_stadium_id", "s_name", "s_highest"]),
        (Convention("glued"), "stadium", ["stadiumid", "name", "highest"]),
        (Convention("sentence"), "Stadium", ["Stadium_id", "Name", "Highest"]),
    ],
)
def test_names_by_convention(convention: Convention, table: str, columns: list[str]) -> None:
    found = spelling(SHOWS, convention).of(SHOWS)
    assert found.tables[0].name == table
    assert [column.name for column in found.tables[0].columns] == columns
    assert found.tables[0].primary_key == (columns[0],)
    (key,) = found.foreign_keys
    assert (key.table, key.ref_table) == (found.tables[1].name, table)
    assert (key.columns, key.ref_columns) == ((found.tables[1].columns[2].name,), (columns[0],))


def test_abbreviations_are_written_out_or_made() -> None:
    staff = profile(dept=("dept_no", "department"))
    assert [c.name for c in spelling(staff, Convention("snake", length="long")).of(staff).tables[0].columns] == [
        "department_number",
        "department",
    ]
    assert spelling(staff, Convention("snake", length="short")).columns["dept", "department"] == "dept"


def test_a_name_that_cannot_be_taken_stays() -> None:
    odd = profile(order=("id", "Id_", "größe", "18_49_rating"))
    found = spelling(odd, Convention("snake"))
    assert found.tables == {"order": "order"}  # the new one is the old one, and would be a keyword
    assert found.columns["order", "größe"] == "größe"
    assert found.columns["order", "18_49_rating"] == "18_49_rating"
    assert len({folded(name) for name in found.columns.values()}) == 4


NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_ ]{0,14}", fullmatch=True)


@given(
    st.dictionaries(NAMES, st.lists(NAMES, min_size=1, max_size=6, unique_by=str.lower), min_size=1, max_size=4),
    st.integers(0, 10_000),
)
def test_no_two_names_become_one(tables: dict[str, list[str]], seed: int) -> None:
    kept = {name.lower(): (name, columns) for name, columns in tables.items()}
    before = profile(**{name: tuple(columns) for name, columns in kept.values()})
    convention = Convention.draw(Random(seed))
    assert convention.case in WRITTEN
    found = spelling(before, convention)
    after = found.of(before)
    assert len({folded(table.name) for table in after.tables}) == len(before.tables)
    for old, new in zip(before.tables, after.tables, strict=True):
        assert len({folded(column.name) for column in new.columns}) == len(old.columns)
        for one, other in zip(old.columns, new.columns, strict=True):
            assert other.name == one.name or not needs_quotes(other.name)
