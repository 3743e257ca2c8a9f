"""What rows are called that only link others, people in a part they play, and what a schema keeps for itself."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from profiles_by_hand import column

from agro_data.databases.discovery.catalog import find_databases
from agro_data.intent.questions import STYLES, render_question
from agro_data.intent.questions.clauses.equality import done_by, stated
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.naming.relatives import key_role
from agro_data.intent.sampling.atlas import Atlas, is_kept_of_row
from agro_data.intent.sampling.choose import adds_up
from agro_data.intent.sampling.sample import sample_intents
from agro_data.intent.tree import (
    Aggregate,
    Column,
    Comparison,
    Exists,
    Intent,
    Join,
    Or,
    OrderKey,
    Output,
    Query,
    SetOperation,
    Source,
    Value,
    walk,
)
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database

_SCHEMA = """
    CREATE TABLE track (track_id INTEGER PRIMARY KEY, name TEXT NOT NULL, last_update TEXT NOT NULL);
    CREATE TABLE playlist (playlist_id INTEGER PRIMARY KEY, name TEXT NOT NULL, active TEXT NOT NULL);
    CREATE TABLE playlist_track (playlist_id INTEGER NOT NULL REFERENCES playlist, track_id INTEGER NOT NULL
        REFERENCES track, last_update TEXT NOT NULL, PRIMARY KEY (playlist_id, track_id));
    CREATE TABLE employee (employee_id INTEGER PRIMARY KEY, name TEXT NOT NULL, reports_to INTEGER REFERENCES employee);
    CREATE TABLE customer (customer_id INTEGER PRIMARY KEY, name TEXT NOT NULL,
        support_rep_id INTEGER NOT NULL REFERENCES employee);
    CREATE TABLE film (film_id INTEGER PRIMARY KEY, title TEXT NOT NULL, is_hidden INTEGER NOT NULL,
        has_subtitles INTEGER NOT NULL, is_member TEXT NOT NULL);
    CREATE TABLE firm (firm_id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer, town TEXT);
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> DatabaseProfile:
    path = tmp_path_factory.mktemp("store") / "store.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(_SCHEMA)
        for n in range(1, 41):
            when = f"2024-01-{n % 28 + 1:02}"
            connection.execute("INSERT INTO track VALUES (?, ?, ?)", (n, f"Song {n}", when))
            connection.execute("INSERT INTO playlist VALUES (?, ?, ?)", (n, f"List {n}", "YNn"[n % 3]))
            connection.execute("INSERT INTO employee VALUES (?, ?, ?)", (n, f"Ann {n}", n // 2 or None))
            connection.execute("INSERT INTO customer VALUES (?, ?, ?)", (n, f"Bob {n}", n % 7 + 1))
            flags = (n % 2, n % 3 // 2, "YN"[n % 2])
            connection.execute("INSERT INTO film VALUES (?, ?, ?, ?, ?)", (n, f"Film {n}", *flags))
            connection.execute("INSERT INTO firm VALUES (?, ?, ?)", (n, n % 9 + 1, f"Town {n % 5}"))
            for other in range(n % 6):
                connection.execute("INSERT INTO playlist_track VALUES (?, ?, ?)", (other + 1, n, when))
        connection.commit()
    return profile_database(find_databases(path).databases[0])


@pytest.mark.parametrize(
    ("key", "role"),
    [
        ("closed_by_id", "closing user"),
        ("assigned_to_id", "assigned user"),
        ("sold_by", "seller"),
        ("owner_id", "owner"),
        ("treasurer_vote", "voted treasurer"),
    ],
)
def test_a_key_of_a_deed_alone_is_who_did_it(tmp_path: Path, key: str, role: str) -> None:
    with closing(sqlite3.connect(tmp_path / "desk.sqlite")) as connection:
        connection.executescript(f"""
        CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE tickets (id INTEGER PRIMARY KEY, {key} INTEGER REFERENCES users,
            editor_id INTEGER REFERENCES users);
        INSERT INTO users VALUES (1, 'Ann'), (2, 'Bob');
        INSERT INTO tickets VALUES (1, 1, 2), (2, 2, 1), (3, 1, 1);
        """)
    profile = profile_database(find_databases(tmp_path / "desk.sqlite").databases[0])
    assert key_role(profile, profile.table("tickets"), (key,), profile.table("users")) == role


def test_a_code_that_has_a_description_alone_is_what_it_describes(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "town.sqlite")) as connection:
        connection.executescript("""
        CREATE TABLE lu_status (status_cd TEXT PRIMARY KEY, status_desc TEXT NOT NULL);
        CREATE TABLE permit (permit_no INTEGER PRIMARY KEY, status_cd TEXT NOT NULL REFERENCES lu_status, fee REAL);
        INSERT INTO lu_status VALUES ('REV', 'In Review'), ('FIN', 'Finaled'), ('EXP', 'Expired');
        INSERT INTO permit VALUES (1, 'REV', 1.5), (2, 'FIN', 2.5), (3, 'FIN', 9);
        """)
    profile = profile_database(find_databases(tmp_path / "town.sqlite").databases[0])
    permit, status = Source("p", "permit"), Source("s", "lu_status")
    up = Join("p", "s", (("status_cd", "status_cd"),), "inner", "up")
    one, two = (
        Comparison("=", Column("s", "status_desc"), Value(value, ("lu_status", "status_desc")))
        for value in ("In Review", "Finaled")
    )
    for where, told in ((one, "In Review"), (Or((two, one)), "Finaled|In Review")):
        texts = said(Query((permit, status), (Output(_COUNT),), (up,), where=where), profile)
        assert all(re.search(rf"status (?:is )?(?:either )?[\"']?(?:{told})", text) for text in texts)
        assert not [text for text in texts if "descri" in text]


def test_who_has_a_first_and_a_last_name_is_a_person(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "town.sqlite")) as connection:
        connection.executescript("""
        CREATE TABLE applicant (applicant_id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, age INTEGER);
        INSERT INTO applicant VALUES (1, 'Ann', 'Lee', 40), (2, 'Bob', 'Orr', 50);
        """)
    profile = profile_database(find_databases(tmp_path / "town.sqlite").databases[0])
    eldest = Query(
        (Source("a", "applicant"),),
        (Output(Column("a", "last_name")),),
        order_by=(OrderKey(Column("a", "age"), True),),
        limit=1,
    )
    assert not [text for text in said(eldest, profile) if re.search(r"\bits\b|\bthat\b", text)]


def said(query: Query | SetOperation, profile: DatabaseProfile) -> list[str]:
    intent = Intent("store", "list", query, 7)
    return [render_question(intent, profile, style, seed).text for style in STYLES for seed in range(6)]


_TRACK, _LINK = Source("t", "track"), Source("p", "playlist_track")
_JOIN = Join("p", "t", (("track_id", "track_id"),), "inner", "up")
_COUNT, _NAME = Aggregate("count"), Output(Column("t", "name"))


def test_a_track_has_playlists_and_no_playlist_tracks(store: DatabaseProfile) -> None:
    many = Comparison(">", _COUNT, Value(4))
    key = (Column("t", "track_id"),)
    asked = Query((_LINK, _TRACK), (_NAME,), (_JOIN,), group_by=key, having=many)
    body = Query((_LINK,), (Output(Value(1)),))
    link = ((Column("t", "track_id"), Column("p", "track_id")),)
    without = Query((_TRACK,), (_NAME,), where=Exists(body, link, negated=True))
    for query in (asked, without):
        assert all("playlist" in text and "playlist track" not in text for text in said(query, store))


def test_what_is_asked_of_the_other_end_is_asked_of_it_alone(store: DatabaseProfile) -> None:
    """Of a track's playlists that are active, not of its playlist tracks of playlists that are."""
    active = Comparison("=", Column("l", "active"), Value("Y", ("playlist", "active")))
    up = Join("p", "l", (("playlist_id", "playlist_id"),), "inner", "up")
    sources = (_LINK, Source("l", "playlist"))
    link = ((Column("t", "track_id"), Column("p", "track_id")),)
    body = Query(sources, (Output(Value(1)),), (up,), active)
    without = Query((_TRACK,), (_NAME,), where=Exists(body, link, negated=True))
    key = Output(Column("t", "track_id"))
    left = Query((_LINK, _TRACK, Source("l", "playlist")), (key, _NAME), (_JOIN, up), active)
    right = replace(left, where=replace(active, right=Value("N", ("playlist", "active"))))
    for query in (without, SetOperation("intersect", left, right)):
        texts = said(query, store)
        assert all("playlist" in text and "playlist track" not in text for text in texts)
        assert all(text.count("active status") >= 1 for text in texts)


def test_what_links_is_counted_as_itself_where_others_may_be_met_twice(store: DatabaseProfile) -> None:
    """Of all tracks of that name; and what is asked of the link itself is no playlist's, if that has such a column."""
    song = Comparison("=", Column("t", "name"), Value("Song 5", ("track", "name")))
    whole = Query((_LINK, _TRACK), (Output(_COUNT),), (_JOIN,), where=song)
    late = Comparison(">", Column("p", "last_update"), Value("2024-01-09", ("playlist_track", "last_update")))
    key = (Column("t", "track_id"),)
    own = Query((_LINK, _TRACK), (_NAME, Output(_COUNT)), (_JOIN,), where=late, group_by=key)
    assert all("playlist track" in text for text in said(whole, store))
    assert all("playlist" in text and "playlist track" not in text for text in said(own, store))
    playlist = store.table("playlist")
    updated = replace(playlist, columns=(*playlist.columns, store.table("track").column("last_update")))
    tables = tuple(updated if table is playlist else table for table in store.tables)
    assert all("playlist track" in text for text in said(own, replace(store, tables=tables)))


def test_a_flag_of_what_links_is_told_of_no_other_table(store: DatabaseProfile) -> None:
    """A host is the main one at a party: no party is one "that is main in charge"."""
    link = store.table("playlist_track")
    flag = replace(link.column("last_update"), role="boolean")
    flagged = replace(link, columns=tuple(flag if c.name == flag.name else c for c in link.columns))
    tables = tuple(flagged if table is link else table for table in store.tables)
    late = Comparison("=", Column("p", "last_update"), Value("2024-01-09", ("playlist_track", "last_update")))
    asked = Query((_LINK, _TRACK), (_NAME, Output(_COUNT)), (_JOIN,), where=late, group_by=(Column("t", "track_id"),))
    assert all("playlist track" in text for text in said(asked, replace(store, tables=tables)))


@pytest.mark.parametrize(
    ("noun", "called"),
    [
        ("customer call", "call"),
        ("lost customer call", "lost call"),
        ("lost customer record", "lost customer record"),  # no record was lost
        ("call of customer", "call of customer"),
        ("customer to be called", "customer to be called"),
        ("customer film", "customer film"),  # there are films
        ("customer town", "customer town"),  # and a customer has a town
        ("firm", "firm"),
    ],
)
def test_what_a_customer_has_is_not_said_to_be_a_customers_again(
    store: DatabaseProfile, noun: str, called: str
) -> None:
    customer, firm = store.table("customer"), store.table("firm")
    customer = replace(customer, columns=(*customer.columns, replace(firm.column("town"), phrase="town")))
    tables = tuple(
        {"customer": customer, "firm": replace(firm, singular=noun, plural=words.plural(noun))}.get(one.name, one)
        for one in store.tables
    )
    body = Query((Source("f", "firm"),), (Output(Value(1)),))
    link = ((Column("c", "customer_id"), Column("f", "customer_id")),)
    name = Output(Column("c", "name"))
    query = Query((Source("c", "customer"),), (name,), where=Exists(body, link, negated=True))
    nouns = rf" ({called}|{words.plural(called)})(\W|$)"
    texts = said(query, replace(store, tables=tables))
    assert all(re.search(nouns, text) for text in texts)
    assert called == noun or not [text for text in texts if noun in text or words.plural(noun) in text]


def test_a_person_is_called_by_the_part_they_play(store: DatabaseProfile) -> None:
    sources = (Source("c", "customer"), Source("e", "employee"))
    join = Join("c", "e", (("support_rep_id", "employee_id"),), "inner", "up")
    name = Output(Column("e", "name"))
    shown = Query(sources, (Output(Column("c", "name")), name), (join,))
    most = Query(
        sources, (name,), (join,), group_by=(Column("e", "employee_id"),), order_by=(OrderKey(_COUNT, True),), limit=1
    )
    for query in (shown, most):
        assert all("support rep" in text and "employee" not in text for text in said(query, store))


def test_a_key_is_said_to_be_one(store: DatabaseProfile) -> None:
    assert store.table("employee").column("reports_to").phrase == "supervisor ID"
    two = Comparison("=", Column("e", "reports_to"), Value(2, ("employee", "reports_to")))
    query = Query((Source("e", "employee"),), (Output(_COUNT),), where=two)
    assert all("supervisor id" in text.lower() for text in said(query, store))


def test_groups_by_a_state_have_a_noun(store: DatabaseProfile) -> None:
    active = Column("l", "active")
    query = Query((Source("l", "playlist"),), (Output(active), Output(_COUNT)), group_by=(active,))
    assert all("active status" in text for text in said(query, store))


@pytest.mark.parametrize(
    ("flag", "value", "wanted"),
    [("is_hidden", 1, "are hidden"), ("is_hidden", 0, "are not hidden"), ("has_subtitles", 1, "have subtitles"),
     ("has_subtitles", 0, "do not have subtitles"), ("is_member", "N", "are not members")],
)  # fmt: skip
def test_what_a_flag_asks_is_said_as_its_answer(
    flag: str, value: int | str, wanted: str, store: DatabaseProfile
) -> None:
    test = Comparison("=", Column("f", flag), Value(value, ("film", flag)))
    texts = said(Query((Source("f", "film"),), (Output(_COUNT),), where=test), store)
    assert all(re.search(rf"{wanted}\b", text) for text in texts)


@pytest.mark.parametrize(
    ("name", "phrase", "value", "wanted"),
    [("active", "active", 1, "active"), ("active", "active", "N", "not active"),
     ("current_flag", "current", "Y", "current"), ("discontinued_ind", "discontinued", 0, "not discontinued"),
     ("returned_late", "returned late", 1, "returned late"), ("in_stock", "in stock", "yes", "in stock"),
     ("paid_in_full", "paid in full flag", "n", "not paid in full"), ("part_time", "part time", 1, "part time"),
     ("is_main_in_charge", "main in charge flag", "F", "not main in charge")],
)  # fmt: skip
def test_a_flag_that_is_called_by_how_rows_are_says_how_they_are(
    name: str, phrase: str, value: int | str, wanted: str
) -> None:
    for kind in ("integer", "text"):
        flag = column(name, kind, "boolean", phrase)
        assert stated(flag, value) == (f"are {wanted}", f"is {wanted}")
        opposite = wanted.removeprefix("not ") if wanted.startswith("not ") else f"not {wanted}"
        assert stated(flag, value, equal=False) == (f"are {opposite}", f"is {opposite}")


def test_two_columns_of_rows_are_compared_whether_they_are_one_or_many(tmp_path: Path) -> None:
    """No "pickups with a charge greater than its cost"."""
    with closing(sqlite3.connect(tmp_path / "van.sqlite")) as connection:
        connection.executescript("""
        CREATE TABLE pickups (id INTEGER PRIMARY KEY, charge REAL NOT NULL, cost REAL NOT NULL);
        INSERT INTO pickups VALUES (1, 2.5, 3.5), (2, 7.5, 3), (3, 2, 9.5), (4, 6, 5);
        """)
    profile = profile_database(find_databases(tmp_path / "van.sqlite").databases[0])
    dear = Comparison(">", Column("p", "charge"), Column("p", "cost"))
    texts = said(Query((Source("p", "pickups"),), (Output(Column("p", "id")),), where=dear), profile)
    assert all("the cost" in text and "its cost" not in text for text in texts)


def test_who_did_something_to_rows_is_said_of_them_as_the_column_is_named() -> None:
    assert done_by(column("last_updated_by", "text", "category", "last editor")) == "last updated by"
    assert done_by(column("updated_by", "integer", "identifier", "editor ID")) == ""
    assert done_by(column("stand_by", "text", "category", "stand by")) == ""


def test_what_is_not_another_value_of_a_flag_is_said_as_the_other(store: DatabaseProfile) -> None:
    test = Comparison("!=", Column("f", "is_hidden"), Value(1, ("film", "is_hidden")))
    texts = said(Query((Source("f", "film"),), (Output(_COUNT),), where=test), store)
    assert all("not hidden" in text for text in texts)


def test_what_a_flag_asks_in_a_noun_stays_a_flag() -> None:
    """Nobody says that rows "are not main series", or "are transfer"."""
    nouns = ("is_main_series", "main series flag"), ("is_remake", "remake flag"), ("transfer", "transfer")
    for name, phrase in (*nouns, ("amount_paid_in_full", "amount paid in full"), ("in", "in"), ("of_age", "of age")):
        assert stated(column(name, "integer", "boolean", phrase), 0) is None
    assert stated(column("leased", "boolean", "boolean", "leased"), False) == ("are not leased", "is not leased")
    assert stated(column("remake", "boolean", "boolean", "remake"), False) is None


def test_where_a_flag_may_be_missing_only_a_yes_is_said() -> None:
    hidden = column("is_hidden", "integer", "boolean", "hidden flag", null_share=0.1)
    assert stated(hidden, 1) == ("are hidden", "is hidden")
    assert stated(hidden, 0) is None
    assert stated(hidden, 1, equal=False) is None


def test_what_is_one_is_said_in_the_singular(store: DatabaseProfile) -> None:
    """A firm has one customer, and the customer one support rep: "of a customer of support reps" has not.

    Customers "with a support rep" have one each.
    """
    sources = (Source("f", "firm"), Source("c", "customer"), Source("e", "employee"))
    joins = (
        Join("f", "c", (("customer_id", "customer_id"),), "inner", "up"),
        Join("c", "e", (("support_rep_id", "employee_id"),), "inner", "up"),
    )
    late = Comparison(">", Column("e", "reports_to"), Value(2, ("employee", "reports_to")))
    query = Query(sources, (Output(Column("f", "town")),), joins, late)
    texts = said(query, store)
    mixed = (
        r"\ba customer (?:\w+ )+support representatives|"
        r"customers (?:of|for|(?:\w+ )?belong to) a support representative"
    )
    assert not [text for text in texts if re.search(mixed, text)]


def test_of_a_parent_in_the_question_nothing_is_asked_by_its_key(store: DatabaseProfile) -> None:
    """The share of each rep's customers who have rep 2 is all or nothing."""
    for intent in islice(sample_intents(store, 5), 400):
        for query in (node for node in walk(intent.query) if isinstance(node, Query) and node.group_by):
            keys = {Column(j.left, name) for j in query.joins if j.direction == "up" for name, _ in j.columns}
            assert keys.isdisjoint(n for n in walk(query.where) if isinstance(n, Column))


def test_when_a_row_was_written_is_hardly_asked(store: DatabaseProfile) -> None:
    drawn = list(islice(sample_intents(store, 3), 250))
    asked = [i for i in drawn if any(isinstance(n, Column) and n.name == "last_update" for n in walk(i.query))]
    assert len(asked) < 0.06 * len(drawn)
    assert not is_kept_of_row(column("born", "date", "date", "birth date"))


def test_numbers_of_things_are_no_groups(store: DatabaseProfile) -> None:
    def groups(phrase: str) -> set[str]:
        firm = store.table("firm")
        town = replace(firm.column("town"), role="category", distinct=2, phrase=phrase)
        tables = [replace(firm, rows=9, columns=(town,)) if one is firm else one for one in store.tables]
        return {one.name for one in Atlas(replace(store, tables=tuple(tables))).categories("firm")}

    assert (groups("town"), groups("number of towns")) == ({"town"}, set())


@pytest.mark.parametrize("phrase", ["unit price", "accuracy", "slot", "minimum happiness", "x", "minute stoppage"])
def test_what_is_of_one_thing_is_not_summed(phrase: str) -> None:
    assert not adds_up(column(phrase, "real", "measure", phrase))
