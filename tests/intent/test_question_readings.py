"""Faults that readers of drawn questions found: what is said now, and what is not."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from profiles_by_hand import column, table

from agro_data.databases.types import Database
from agro_data.intent.questions import STYLES, render_question
from agro_data.intent.questions.clauses.values import quoted, say_values
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.voice import Voice
from agro_data.intent.rendering.renderings import renderings
from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.tree import (
    Aggregate,
    AggregateFunction,
    And,
    Column,
    Comparator,
    Comparison,
    DatePart,
    Exists,
    Expression,
    InList,
    Intent,
    IsNull,
    Join,
    Keep,
    OrderKey,
    Output,
    Predicate,
    Query,
    Scalar,
    SetOperation,
    Source,
    TextFunction,
    Value,
    Window,
)
from agro_data.profiling.profile import DatabaseProfile, ForeignKey, TableProfile
from agro_data.profiling.profiler import profile_database

COUNTRY = table("country", column("name", "text", "text", "name", unique=True))
ARTIST = table(
    "artist",
    column("name", "text", "text", "name", unique=True),
    column("country_id", "integer", "identifier", "country id"),
    column("followers", "integer", "measure", "followers", integral=True, unique=True),
    column("languages", "text", "category", "languages"),
    column("room", "text", "category", "room"),
    column("motto", "text", "text", "motto", unique=True),
    column("started", "integer", "year", "start date"),
)
SONG = table(
    "song",
    column("title", "text", "text", "title"),
    column("artist_id", "integer", "identifier", "artist id"),
    column("released_on", "date", "date", "release date", date_format="iso"),
    column("price", "real", "measure", "price"),
    label="title",
)
PERSON = table("person", column("name", "text", "text", "name"))
CLIENT = table("client", column("name", "text", "text", "name"))
_CLIENT_KEYS = ("client_id", "billing_client_id")
DANCER = table(
    "dancer", column("person_id", "integer", "identifier", "person id", unique=True), label="person_id"
)  # each is a person
KEYS = (
    ForeignKey("artist", ("country_id",), "country", ("id",)),
    ForeignKey("song", ("artist_id",), "artist", ("id",)),
    ForeignKey("dancer", ("person_id",), "person", ("id",)),
)
PROFILE = DatabaseProfile("music", "sqlite", "0" * 64, (COUNTRY, ARTIST, SONG, PERSON, DANCER), KEYS)
COUNT = Aggregate("count")
ARTISTS, SONGS = Source("a", "artist"), Source("s", "song")
NAME, FOLLOWERS, LANGUAGES, ROOM = (Column("a", n) for n in ("name", "followers", "languages", "room"))
RELEASED, PRICE, TITLE = (Column("s", n) for n in ("released_on", "price", "title"))


_BY = Join("s", "a", (("artist_id", "id"),))


def out(*expressions: Expression) -> tuple[Output, ...]:
    return tuple(Output(e) for e in expressions)


def said(query: Query | SetOperation, profile: DatabaseProfile = PROFILE) -> list[str]:
    """The question in every style, eight wordings of each."""
    intent = Intent("music", "list", query, 7)
    return [render_question(intent, profile, style, seed).text for style in STYLES for seed in range(8)]


def artists(where: Predicate | None = None) -> Query:
    return Query((ARTISTS,), out(NAME), where=where)


@pytest.mark.parametrize("operator", [">", "<", "="])
def test_a_plural_that_counts_is_a_number(operator: Comparator) -> None:
    for text in said(artists(Comparison(operator, FOLLOWERS, Value(500, ("artist", "followers"))))):
        assert re.search(r"(more than|fewer than|exactly) 500 followers|number of followers is", text), text
        assert not re.search(r"followers (are|above|over|below|under|\w+er than)", text), text


def test_an_average_of_a_plural_is_of_its_number() -> None:
    average = Scalar(Query((Source("b", "artist"),), out(Aggregate("avg", Column("b", "followers")))))
    for text in said(artists(Comparison(">", FOLLOWERS, average))):
        assert re.search(r"(average|mean) number of followers", text), text


def test_the_most_of_a_plural() -> None:
    query = Query((ARTISTS,), out(NAME), order_by=(OrderKey(FOLLOWERS, False),), limit=1)
    assert all("the fewest followers" in text for text in said(query))


def test_values_of_one_list_are_marked_alike() -> None:
    for seed in range(40):
        voice = Voice("formal", seed)
        texts = say_values([Value("Rome"), Value("the hills"), Value("Oslo")], None, voice)
        assert texts == [quoted(text, voice) for text in ("Rome", "the hills", "Oslo")]
    query = artists(InList(LANGUAGES, (Value("Greek"), Value("old Norse"))))
    assert all(re.search(r"""(["'])Greek\1 or \1old Norse\1""", text) for text in said(query))


def test_a_year_stored_as_text_is_bare() -> None:
    year = column("year", "text", "year", "year")
    assert all(say_values([Value("2017")], year, Voice("formal", seed)) == ["2017"] for seed in range(20))


def test_the_year_of_a_release_date_is_its_release_year() -> None:
    part = DatePart("year", RELEASED)
    texts = said(Query((SONGS,), out(part, COUNT), group_by=(part,)))
    assert all("release year" in text and "of the release date" not in text for text in texts)


def test_a_year_of_its_own_keeps_the_two_apart() -> None:
    own = replace(SONG, columns=(*SONG.columns, column("year", "integer", "year", "release year")))
    profile = replace(PROFILE, tables=(COUNTRY, ARTIST, own))
    part = DatePart("year", RELEASED)
    texts = said(Query((SONGS,), out(part, COUNT), group_by=(part,)), profile)
    assert all("of the release date" in text for text in texts)


def test_two_figures_of_each_group_are_both_of_it() -> None:
    query = Query((ARTISTS,), out(ROOM, Aggregate("max", FOLLOWERS), COUNT), group_by=(ROOM,))
    wanted = r"both for (each|every) room|[Ff]or (each|every) room|for each\W|for different rooms"
    assert all(re.search(wanted, text) for text in said(query))


def test_who_wants_the_figure_before_its_group_says_so() -> None:
    query = Query((ARTISTS,), out(COUNT, ROOM), group_by=(ROOM,))
    wanted = r"the number( of artists)? and (the )?room\W"
    assert all(re.search(wanted, text) for text in said(query))
    between = Query((ARTISTS,), out(Aggregate("max", FOLLOWERS), ROOM, COUNT), group_by=(ROOM,))
    assert all(re.search(r"of artists, the room,? and the number", text) for text in said(between))


def test_a_number_that_is_shown_is_said_to_be_one() -> None:
    assert all(re.search("numbers? of followers", text) for text in said(Query((ARTISTS,), out(NAME, FOLLOWERS))))
    most = Comparison(
        "=", FOLLOWERS, Scalar(Query((Source("b", "artist"),), out(Aggregate("max", Column("b", "followers")))))
    )
    assert all(
        re.search("numbers? of followers", text) for text in said(Query((ARTISTS,), out(NAME, FOLLOWERS), where=most))
    )
    each = Query((SONGS, ARTISTS), out(NAME, FOLLOWERS, COUNT), (_BY,), group_by=(Column("a", "id"), NAME, FOLLOWERS))
    assert all(re.search("numbers? of followers", text) for text in said(each))


def test_an_id_beside_what_another_is_called_is_that_of_the_row() -> None:
    texts = said(Query((SONGS, ARTISTS), out(Column("a", "name"), Column("s", "id")), (_BY,)))
    assert all(re.search(r"song id|ids? of (the |all |each )*songs?|songs'? ids", text.lower()) for text in texts), (
        texts
    )


def test_the_length_of_a_text_is_that_of_a_name_alone() -> None:
    def lengths(key: Column) -> list[str]:
        return said(Query((ARTISTS,), (Output(NAME), Output(TextFunction("length", (key,)), "length"))))

    assert all("number of characters in the room" in text for text in lengths(ROOM))
    assert any("length of the name" in text for text in lengths(NAME))


def test_what_is_two_steps_away_is_reached_by_the_way_between() -> None:
    joins = (Join("s", "a", (("artist_id", "id"),)), Join("a", "c", (("country_id", "id"),)))
    sources = (SONGS, ARTISTS, Source("c", "country"))
    query = Query(sources, out(TITLE, Column("c", "name")), joins, where=Comparison(">", PRICE, Value(3)))
    texts = said(query)
    assert not any("corresponding country" in text for text in texts)
    assert any("country of its artist" in text for text in texts)


def test_the_best_of_each_group_names_the_group_once_and_in_the_singular() -> None:
    keep = Keep((LANGUAGES,), (OrderKey(FOLLOWERS, True),), 2, ties=True)
    for text in said(Query((ARTISTS,), out(LANGUAGES, NAME), keep=keep)):
        assert len(re.findall("language", text)) == 1, text
        assert re.search(r"(each|every) language\b", text), text


def test_no_rank_is_dense() -> None:
    rank = Window("dense_rank", None, (), (OrderKey(FOLLOWERS, True),))
    for text in said(Query((ARTISTS,), (Output(NAME), Output(rank, "ranking")))):
        assert "dense" not in text
        assert "without gaps after ties" in text
        assert "by number of followers" in text


def test_what_lacks_something_need_not_be_said_to_have_anything() -> None:
    few = Comparison("<", FOLLOWERS, Value(9))
    left = Query((ARTISTS,), out(ROOM))
    for text in said(SetOperation("except", left, replace(left, where=few))):
        assert re.search(r"rooms that (have no|do not have any) artists", text), text


def test_people_are_dancers_and_do_not_have_them() -> None:
    body = Query((Source("d", "dancer"),), out(Value(1)))
    link = ((Column("p", "id"), Column("d", "person_id")),)
    for negated in (True, False):
        query = Query((Source("p", "person"),), out(Column("p", "name")), where=Exists(body, link, negated))
        wanted = r"who are not dancers|people are not dancers" if negated else r"who are dancers|people are dancers"
        assert all(re.search(wanted, text) for text in said(query))


def test_parts_of_a_persons_name_are_said_once() -> None:
    from agro_data.intent.questions.frames.columns import listed_names

    names = ["student first name", "student last name", "age"]
    assert listed_names(Voice("formal", 1), names).startswith("student first and last name")


@pytest.mark.parametrize(
    ("one", "many"),
    [("active from date", "active from dates"), ("date from", "dates from"), ("trip to Rome", "trips to Rome")],
)
def test_a_preposition_before_a_date_belongs_to_it(one: str, many: str) -> None:
    assert words.plural(one) == many


def test_columns_that_happen_to_differ_tell_no_rows_apart() -> None:
    body = Query((SONGS,), out(Value(1)))
    none = Exists(body, ((Column("a", "id"), Column("s", "artist_id")),), True)
    assert "set_difference" in renderings(Query((ARTISTS,), out(Column("a", "id")), where=none), PROFILE)
    for shown in (NAME, FOLLOWERS, Column("a", "motto")):
        assert "set_difference" not in renderings(Query((ARTISTS,), out(shown), where=none), PROFILE)


def test_a_key_into_its_own_table_that_is_named_as_another_tables_is_not_followed() -> None:
    musical = TableProfile(
        "musical", 9, (column("musical_id", "integer", "identifier", "id", unique=True, distinct=9),), "musical",
        "musicals", primary_key=("musical_id",),
    )  # fmt: skip
    actor = TableProfile(
        "actor",
        9,
        (
            column("actor_id", "integer", "identifier", "id", unique=True, distinct=9),
            column("musical_id", "integer", "identifier", "musical id", distinct=5),
            column("understudy_id", "integer", "identifier", "understudy id", distinct=5),
        ),
        "actor",
        "actors",
        primary_key=("actor_id",),
    )
    keys = tuple(ForeignKey("actor", (name,), "actor", ("actor_id",)) for name in ("musical_id", "understudy_id"))
    atlas = Atlas(DatabaseProfile("stage", "sqlite", "0" * 64, (musical, actor), keys))
    assert [edge.child_columns for edge in atlas.edges] == [("understudy_id",)]


def test_an_order_after_each_group_stands_apart() -> None:
    query = Query((ARTISTS,), out(ROOM, COUNT), group_by=(ROOM,), order_by=(OrderKey(COUNT, True), OrderKey(ROOM)))
    assert not any(re.search(r"(each|every)( room)? (sorted|ordered|in)", text) for text in said(query))


def test_an_enum_sorts_as_its_type_lists_it_and_not_by_the_alphabet(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TYPE size AS ENUM ('small', 'medium', 'large'); CREATE TABLE shirt (size size)")
        connection.execute("INSERT INTO shirt VALUES ('large'), ('small'), ('medium')")
        rows = connection.execute("SELECT size FROM shirt ORDER BY size").fetchall()
    assert rows != sorted(rows)
    profile = profile_database(Database("shop", "duckdb", "duckdb", path, "", path.name))
    size = Column("t", "size")
    query = Query((Source("t", "shirt"),), out(size, COUNT), group_by=(size,), order_by=(OrderKey(size),))
    assert not any("alphabetical" in text for text in said(query, profile))


def test_the_manager_of_a_department_is_not_any_of_its_employees() -> None:
    name = column("name", "text", "text", "name", unique=True)
    department = table("department", name, column("manager_id", "integer", "identifier", "manager id"))
    employee = table("employee", name, column("department_id", "integer", "identifier", "department id"))
    keys = (
        ForeignKey("department", ("manager_id",), "employee", ("id",)),
        ForeignKey("employee", ("department_id",), "department", ("id",)),
    )
    profile = DatabaseProfile("firm", "sqlite", "0" * 64, (department, employee), keys)
    ann = Comparison("=", Column("e", "name"), Value("Ann", ("employee", "name")))
    join = Join("d", "e", (("manager_id", "id"),), "inner", "up")
    led = Query((Source("d", "department"), Source("e", "employee")), out(Column("d", "name")), (join,), ann)
    assert all("manager" in text and "employee" not in text for text in said(led, profile))
    join = Join("e", "d", (("department_id", "id"),), "inner", "up")
    it = Comparison("=", Column("d", "name"), Value("IT", ("department", "name")))
    staff = Query((Source("e", "employee"), Source("d", "department")), out(Column("e", "name")), (join,), it)
    assert all("department" in text and "manager" not in text for text in said(staff, profile))


def test_the_k_best_need_not_be_equal() -> None:
    depth = Column("l", "depth")
    lakes = replace(PROFILE, tables=(table("lake", column("depth", "real", "measure", "depth")),))
    for k, alike in ((1, True), (3, False)):
        query = Query((Source("l", "lake"),), out(Column("l", "name")), order_by=(OrderKey(depth, True),), limit=k)
        texts = [re.sub(r", starting with .*", "", text) for text in said(query, lakes)]
        assert any("maximum depth" in text for text in texts) == alike


@pytest.mark.parametrize(("part", "as_said"), [("weekday", "weekday name"), ("year_month", "(YYYY-MM)")])
def test_a_part_of_a_date_is_said_in_the_form_that_it_has(part: str, as_said: str) -> None:
    when = DatePart(part, RELEASED)  # type: ignore[arg-type]
    assert all(as_said in text for text in said(Query((SONGS,), out(when, COUNT), group_by=(when,))))


def test_what_a_customer_files_a_staff_member_does_not() -> None:
    nouns = {"staff": "staff member", "client": "client"}
    complaint = table("complaint", *(column(f"{n}_id", "integer", "identifier", f"{n} id") for n in nouns))
    people = [replace(table(n, column("name", "text", "text", "name")), singular=m) for n, m in nouns.items()]
    keys = tuple(ForeignKey("complaint", (f"{n}_id",), n, ("id",)) for n in nouns)
    profile = replace(PROFILE, tables=(complaint, *people), foreign_keys=keys)
    for name in nouns:
        body = Query((Source("c", "complaint"),), out(Value(1)))
        none = Exists(body, ((Column("p", "id"), Column("c", f"{name}_id")),), True)
        texts = said(Query((Source("p", name),), out(Column("p", "name")), where=none), profile)
        assert all(("filed" in text) == (name == "client") for text in texts)


@pytest.mark.parametrize("key", ["client_id", "billing_client_id"])
def test_only_the_key_without_a_role_of_its_own_tells_who_placed_an_order(key: str) -> None:
    order = table("order", *(column(k, "integer", "identifier", k.replace("_", " ")) for k in _CLIENT_KEYS))
    keys = tuple(ForeignKey("order", (k,), "client", ("id",)) for k in _CLIENT_KEYS)
    profile = replace(PROFILE, tables=(order, CLIENT), foreign_keys=keys)
    body, link = Query((Source("o", "order"),), out(Value(1))), ((Column("c", "id"), Column("o", key)),)
    placed, name = key == "client_id", Column("c", "name")
    for negated in (True, False):
        query = Query((Source("c", "client"),), out(name), where=Exists(body, link, negated))
        assert all(("placed" in t, "billing client of" in t) == (placed, not placed) for t in said(query, profile))
    join, ada = Join("o", "c", ((key, "id"),)), Comparison("=", name, Value("Ada"))
    query = Query((Source("o", "order"), Source("c", "client")), out(COUNT), (join,), where=ada)
    assert all(("placed by" in t, "billing client" in t) == (placed, not placed) for t in said(query, profile))
    declared = replace(profile, foreign_keys=tuple(replace(k, verb="paid by") for k in keys))
    assert all("paid by" in t for t in said(query, declared))


@pytest.mark.parametrize("negated", [True, False])
def test_a_condition_after_what_rows_lack_is_not_one_of_that(negated: bool) -> None:
    account = table(
        "account", column("status", "text", "category", "status"), column("score", "real", "measure", "score")
    )
    ticket = table("ticket", column("account_id", "integer", "identifier", "account id"))
    keys = (ForeignKey("ticket", ("account_id",), "account", ("id",)),)
    profile = replace(PROFILE, tables=(account, ticket), foreign_keys=keys)
    body, link = Query((Source("t", "ticket"),), out(Value(1))), ((Column("a", "id"), Column("t", "account_id")),)
    status, score = Column("a", "status"), Column("a", "score")
    is_open = Comparison("=", status, Value("not yet open"))
    for other in (Exists(body, link, negated), IsNull(score)):
        where = And((other, is_open))
        for text in said(Query((Source("a", "account"),), out(COUNT), where=where), profile):
            assert not re.search(r"(without|with no|with .*tickets?) .*(with|that|whose|and) .*open", text), text


def test_a_name_that_several_share_is_asked_for_once() -> None:
    join = Join("s", "a", (("artist_id", "id"),))
    left = Query((SONGS, ARTISTS), out(NAME), (join,), where=Comparison("=", TITLE, Value("Ode")))
    texts = said(SetOperation("union", left, replace(left, where=Comparison("=", TITLE, Value("Elegy")))))
    assert all("different" in text or "distinct" in text for text in texts)


@pytest.mark.parametrize(
    ("operator", "figure"), [(">", "avg"), ("<", "avg"), (">=", "avg"), ("<=", "avg"), ("=", "min")]
)
def test_nothing_follows_the_average_of_all_that_could_be_said_of_them(
    operator: Comparator, figure: AggregateFunction
) -> None:
    """ "Students older than the average age of all students with sex M" asks of others."""
    student = table(
        "student",
        column("name", "text", "text", "name", unique=True),
        column("age", "integer", "measure", "age", integral=True),
        column("sex", "text", "category", "sex"),
    )
    average = Query((Source("t2", "student"),), (Output(Aggregate(figure, Column("t2", "age"))),))
    tests = (
        Comparison(operator, Column("t1", "age"), Scalar(average)),
        Comparison("=", Column("t1", "sex"), Value("M")),
    )
    query = Query((Source("t1", "student"),), (Output(Column("t1", "name")),), where=And(tests))
    for text in said(query, DatabaseProfile("school", "sqlite", "0", (student,))):
        assert re.search(r"\w+ age of all students[.?]?$", text), text
        assert "years old" not in text
