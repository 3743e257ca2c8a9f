"""One hand-made intent for every shape, and what its question must and must not say."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from profiles_by_hand import column

from agro_data.intent.questions import STYLES, render_question
from agro_data.intent.tree import (
    Aggregate,
    Arithmetic,
    Between,
    Case,
    Column,
    Comparison,
    Cte,
    DatePart,
    Exists,
    Intent,
    IsNull,
    Join,
    Keep,
    Like,
    MetricCall,
    Or,
    OrderKey,
    Output,
    Query,
    Scalar,
    SetOperation,
    Share,
    Source,
    TextFunction,
    Value,
    Window,
    conjunction,
)
from agro_data.profiling.profile import DatabaseProfile, ForeignKey, Metric, TableProfile

SINGER = TableProfile(
    "singer",
    40,
    (
        column("singer_id", "integer", "identifier", "ID", unique=True),
        column("full_name", "text", "text", "name", unique=True),
        column("country", "text", "category", "country"),
        column("age", "integer", "measure", "age", integral=True),
        column("sex", "text", "category", "sex", codes=(("F", "female"), ("M", "male"))),
    ),
    "singer",
    "singers",
    primary_key=("singer_id",),
    label_columns=("full_name",),
)
CONCERT = TableProfile(
    "concert_event",
    90,
    (
        column("concert_id", "integer", "identifier", "ID", unique=True),
        column("title", "text", "text", "title"),
        column("singer_id", "integer", "identifier", "singer ID"),
        column("held_on", "date", "date", "date", date_format="iso"),
        column("ticket_price", "real", "measure", "ticket price"),
        column("seats_sold", "integer", "measure", "number of seats sold", integral=True),
    ),
    "concert",
    "concerts",
    primary_key=("concert_id",),
    label_columns=("title",),
)
PROFILE = DatabaseProfile(
    "music",
    "sqlite",
    "0" * 64,
    (SINGER, CONCERT),
    (ForeignKey("concert_event", ("singer_id",), "singer", ("singer_id",)),),
    (Metric("ticket_revenue", "concert_event", "SUM(ticket_price * seats_sold)", "ticket price times seats sold"),),
)

S, C = Source("t1", "singer"), Source("t1", "concert_event")
NAME, COUNTRY, AGE, SEX = (Column("t1", n) for n in ("full_name", "country", "age", "sex"))
TITLE, HELD, PRICE, SOLD = (Column("t1", n) for n in ("title", "held_on", "ticket_price", "seats_sold"))
UP = Join("t1", "t2", (("singer_id", "singer_id"),))
SINGER_UP = Source("t2", "singer")
COUNT = Aggregate("count")


def out(*expressions: object) -> tuple[Output, ...]:
    return tuple(Output(e) for e in expressions)  # type: ignore[arg-type]


def over_all(function: str) -> Scalar:
    return Scalar(Query((Source("t9", "singer"),), out(Aggregate(function, Column("t9", "age")))))  # type: ignore[arg-type]


FEMALE = Comparison("=", SEX, Value("F", ("singer", "sex")))
OLD = Comparison(">", AGE, Value(56, ("singer", "age")))
BAND = Case(((Comparison("<", AGE, Value(30)), Value("low")),), Value("high"))
RELATED = Query(
    (Source("t2", "concert_event"),),
    out(Value(1)),
    where=Comparison(">", Column("t2", "ticket_price"), Value(20.5)),
)
LINK = ((Column("t1", "singer_id"), Column("t2", "singer_id")),)
GROUPS = Query((S,), (Output(COUNTRY, "country"), Output(COUNT, "total_count")), group_by=(COUNTRY,))
AVERAGE = Scalar(Query((Source("t8", "g"),), out(Aggregate("avg", Column("t8", "total_count")))))

SHAPES: dict[str, tuple[Query | SetOperation, tuple[str, ...]]] = {
    "list": (
        Query((S,), out(NAME, AGE), where=OLD, order_by=(OrderKey(AGE, True),)),
        ("name", "age", "56", "descending|highest"),
    ),
    "count": (Query((S,), out(COUNT), where=OLD), ("singers", "56")),
    "aggregate": (
        Query((S,), out(Aggregate("avg", AGE), Aggregate("max", AGE)), where=FEMALE),
        ("average|mean", "maximum|highest|largest", "age", "female"),
    ),
    "group": (Query((S,), out(COUNTRY, COUNT), group_by=(COUNTRY,)), ("countr", "singers", "each|every|per")),
    "having": (
        Query((S,), out(COUNTRY), group_by=(COUNTRY,), having=Comparison(">", COUNT, Value(3))),
        ("countries", "more than (3|three) singers"),
    ),
    "superlative": (
        Query((S,), out(NAME), order_by=(OrderKey(AGE, True),), limit=3),
        ("3|three", "oldest|(highest|largest|greatest|maximum) age", "name"),
    ),
    "superlative_group": (
        Query(
            (C, SINGER_UP),
            out(Column("t2", "full_name")),
            (UP,),
            group_by=(Column("t2", "full_name"),),
            order_by=(OrderKey(COUNT, True),),
            limit=1,
        ),
        ("name|which", "singer", "(most|number of) concerts"),
    ),
    "extreme": (
        Query((S,), out(NAME), where=Comparison("=", AGE, over_all("min"))),
        ("name|which", "lowest|smallest|minimum", "age", "ties|all|share"),
    ),
    "compare_average": (
        Query((S,), out(NAME), where=Comparison(">", AGE, over_all("avg"))),
        ("name|which", "(average|mean) age( of all singers)?[.?]"),
    ),
    "related_exists": (
        Query((S,), out(NAME), where=Exists(RELATED, LINK)),
        ("name|which", "(at least one concert|any concerts|a concert|concerts)", "20.5"),
    ),
    "related_none": (
        Query((S,), out(NAME), where=Exists(RELATED, LINK, negated=True)),
        ("name|which", "no concerts|not have any concerts|not have a concert|without", "20.5"),
    ),
    "set_operation": (
        SetOperation("intersect", Query((S,), out(COUNTRY), where=OLD), Query((S,), out(COUNTRY), where=FEMALE)),
        ("countries", "both", "56", "female"),
    ),
    "top_per_group": (
        Query((S,), out(COUNTRY, NAME), keep=Keep((COUNTRY,), (OrderKey(AGE, True),), 1)),
        ("(each|every) country", "name", "age|oldest", "ties"),
    ),
    "window": (
        Query((S,), out(NAME, Window("rank", None, (COUNTRY,), (OrderKey(AGE, True),)))),
        ("name", "rank", "country", "age"),
    ),
    "self_join": (
        Query(
            (S, SINGER_UP),
            out(NAME, Column("t2", "full_name")),
            (Join("t1", "t2", (("country", "country"),), direction="peer", less="full_name"),),
        ),
        ("pair", "singers", "same country"),
    ),
    "buckets": (Query((S,), out(BAND, COUNT), group_by=(BAND,)), ("singers", '"low"', '"high"', "30", "age")),
    "arithmetic": (
        Query((C,), out(TITLE, Arithmetic("*", PRICE, SOLD))),
        ("title", "ticket price", "number of seats sold", "product|times|multiplied"),
    ),
    "date_group": (
        Query((C,), out(DatePart("year", HELD), COUNT), group_by=(DatePart("year", HELD),)),
        ("year", "concerts"),
    ),
    "compare_groups": (
        Query(
            (Source("t7", "g"),),
            out(Column("t7", "country")),
            where=Comparison(">", Column("t7", "total_count"), AVERAGE),
            ctes=(Cte("g", GROUPS),),
        ),
        ("countries", "number of singers", "average"),
    ),
    "share": (Query((S,), out(Share(FEMALE))), ("percentage", "singers", "female")),
    "text_function": (Query((S,), out(TextFunction("upper", (NAME,)))), ("name", "upper")),
    "metric": (Query((C,), out(MetricCall("ticket_revenue", "t1"))), ("ticket revenue",)),
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_says_all_it_asks(shape: str, style: str) -> None:
    query, wanted = SHAPES[shape]
    for seed in range(12):
        question = render_question(Intent("music", shape, query, 7), PROFILE, style, seed)  # type: ignore[arg-type]
        for pattern in wanted:
            assert re.search(pattern, question.text, re.IGNORECASE), (pattern, question.text)
        assert "_" not in question.text
        assert "  " not in question.text
        assert question.text[0].isupper() or question.text[0].isdigit()
        assert question.style == style


def test_a_code_is_said_by_its_meaning_and_explained() -> None:
    question = render_question(Intent("music", "list", Query((S,), out(NAME), where=FEMALE), 1), PROFILE, "formal", 0)
    assert "female" in question.text
    assert question.evidence == "sex 'F' means female"


def test_a_metric_brings_its_definition() -> None:
    query, _ = SHAPES["metric"]
    question = render_question(Intent("music", "metric", query, 1), PROFILE, "imperative", 0)
    assert question.evidence == "ticket revenue: ticket price times seats sold"


@pytest.mark.parametrize("name", ["größe_mittel", "coût_élevé", "平均_身長"])
def test_a_metric_keeps_its_letters(name: str) -> None:
    profile = replace(PROFILE, metrics=(replace(PROFILE.metrics[0], name=name),))
    query = Query((C,), out(MetricCall(name, "t1")))
    question = render_question(Intent("music", "metric", query, 1), profile, "imperative", 0)
    assert name.replace("_", " ") in question.text
    assert question.evidence == f"{name.replace('_', ' ')}: ticket price times seats sold"


@pytest.mark.parametrize("style", STYLES)
def test_a_metric_without_groups_is_one_figure_of_all_its_rows(style: str) -> None:
    dear = Comparison(">", PRICE, Value(20.5))
    for where, rows in ((None, "ticket revenue of all concerts"), (dear, "ticket revenue of concerts .*20.5")):
        query = Query((C,), out(MetricCall("ticket_revenue", "t1")), where=where)
        for seed in range(12):
            question = render_question(Intent("music", "metric", query, 1), PROFILE, style, seed)
            assert re.search(rows, question.text), question.text
            assert not re.search(r"\b(each|every|per)\b", question.text), question.text


def test_no_evidence_where_nothing_needs_it() -> None:
    assert render_question(Intent("music", "count", SHAPES["count"][0], 1), PROFILE, "concise", 0).evidence is None


def test_unknown_style_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown question style 'rude': choose one of interrogative"):
        render_question(Intent("music", "count", SHAPES["count"][0], 1), PROFILE, "rude", 0)


def test_equal_arguments_give_the_equal_question_and_seeds_vary_it() -> None:
    intent = Intent("music", "list", SHAPES["list"][0], 3)
    one = [render_question(intent, PROFILE, "imperative", s).text for s in range(20)]
    assert one == [render_question(intent, PROFILE, "imperative", s).text for s in range(20)]
    assert len(set(one)) >= 10


BOUNDS = [Comparison(operator, AGE, Value(30, ("singer", "age"))) for operator in ("=", "!=", "<", "<=", ">", ">=")]


def test_bounds_never_share_a_question() -> None:
    by_bound = [
        {
            render_question(Intent("music", "list", Query((S,), out(NAME), where=b), s), PROFILE, style, s).text
            for s in range(40)
            for style in STYLES
        }
        for b in BOUNDS
    ]
    for i, one in enumerate(by_bound):
        for other in by_bound[i + 1 :]:
            assert not one & other


def test_and_with_or_stays_one_reading() -> None:
    either = Or((Comparison("=", COUNTRY, Value("France")), Like(NAME, "contains", Value("son"))))
    query = Query((S,), out(NAME), where=Or((OLD, either)))
    text = render_question(Intent("music", "list", query, 1), PROFILE, "formal", 0).text
    assert " or " in text
    assert "56" in text
    assert "France" in text
    assert "son" in text


@pytest.mark.parametrize("text", ["O'Brien", 'the "big" one', "a and b", "x", "42", "Straße", " padded "])
def test_text_values_stand_verbatim(text: str) -> None:
    query = Query((S,), out(AGE), where=Comparison("=", NAME, Value(text, ("singer", "full_name"))))
    for seed in range(10):
        assert text in render_question(Intent("music", "list", query, 1), PROFILE, "imperative", seed).text


PLACED = replace(
    PROFILE, foreign_keys=(ForeignKey("concert_event", ("singer_id",), "singer", ("singer_id",), verb="given by"),)
)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        (
            Query((C, SINGER_UP), out(TITLE), (UP,), where=Comparison(">", Column("t2", "age"), Value(56))),
            "given by (a singer|singers|the singer)",
        ),
        (Query((S,), out(NAME), where=Exists(RELATED, LINK)), "(have|has) given at least one concert"),
        (
            Query((S,), out(NAME), where=Exists(RELATED, LINK, negated=True)),
            "(have|has) (not|never) given any concerts",
        ),
    ],
)
def test_a_relation_phrase_of_the_reader_is_used(query: Query, wanted: str, style: str) -> None:
    for seed in range(6):
        text = render_question(Intent("music", "list", query, 7), PLACED, style, seed).text
        assert re.search(wanted, text), text


def test_columns_are_named_in_the_order_of_the_answer() -> None:
    country_first = Query((S,), out(COUNTRY, COUNT), group_by=(COUNTRY,))
    figure_first = replace(country_first, select=out(COUNT, COUNTRY))
    said: list[set[str]] = [set(), set()]
    for place, query in enumerate((country_first, figure_first)):
        for style in STYLES:
            said[place] |= {
                render_question(Intent("music", "group", query, 7), PROFILE, style, s).text for s in range(9)
            }
    assert not said[0] & said[1]


def texts(query: Query, profile: DatabaseProfile = PROFILE) -> set[str]:
    intent = Intent("music", "list", query, 7)
    return {render_question(intent, profile, style, seed).text for style in STYLES for seed in range(9)}


def test_different_keys_are_the_things_that_they_lead_to() -> None:
    """Not "how many different singer IDs do concerts have"."""
    query = Query((C,), out(Aggregate("count", Column("t1", "singer_id"), distinct=True)))
    assert all(re.search(r"singers (who )?have at least one concert", text) for text in texts(query))
    wanted = r"singers (who )?have given at least one concert"
    assert all(re.search(wanted, text) for text in texts(query, PLACED))
    lost = replace(PROFILE, foreign_keys=(replace(PROFILE.foreign_keys[0], orphan_share=0.1),))
    assert all("singer ids" in text.lower() for text in texts(query, lost))


def test_different_values_of_parents_are_of_those_who_have_a_row() -> None:
    query = Query((C, SINGER_UP), out(Column("t2", "country")), (UP,), distinct=True)
    assert all("countries of singers who have concerts" in text for text in texts(query))
    young = Comparison("<", Column("t2", "age"), Value(20, ("singer", "age")))
    told = r"countries of singers (younger than 20|who are younger than 20 and) who have concerts"
    assert all(re.search(told, text) for text in texts(replace(query, where=young)))
    dear = Comparison(">", Column("t1", "ticket_price"), Value(90, ("concert_event", "ticket_price")))
    both = texts(replace(query, where=conjunction([young, dear])))
    assert all(re.search(r"singers .*20 (and )?who have concerts .*90", text) for text in both)


def test_figures_of_rows_that_are_told_apart_stand_before_them() -> None:
    """ "The total price of concerts with title X and their latest date" may be the date of what is compared."""
    sums = (Aggregate("sum", Column("t1", "ticket_price")), Aggregate("max", Column("t1", "held_on")))
    dear = Comparison(">", Column("t1", "ticket_price"), Value(90, ("concert_event", "ticket_price")))
    query = Query((C,), out(*sums), where=dear)
    assert not [text for text in texts(query) if " their " in text or not re.search("price and the .*date.* of ", text)]
    counted = texts(Query((C,), out(COUNT, sums[0]), where=dear))
    assert all(text.startswith(("Among concerts ", "For ")) or ", " in text or "among" in text for text in counted)
    assert not [text for text in counted if " their " in text]


def test_so_many_is_said_of_what_can_be_counted() -> None:
    columns = (*SINGER.columns, column("songs", "integer", "measure", "songs", integral=True))
    profile = replace(PROFILE, tables=(replace(SINGER, columns=columns), CONCERT))
    query = Query((S,), out(COUNT), where=Between(Column("t1", "songs"), Value(3), Value(9)))
    said = texts(query, profile)
    assert all(re.search(r"3 to 9 songs|number of songs is (from 3 to 9|between 3 and 9)", text) for text in said)
    shares = column("songs", "real", "measure", "songs")  # 12.5 of them: an amount, whatever it is called
    said = texts(query, replace(PROFILE, tables=(replace(SINGER, columns=(*SINGER.columns, shares)), CONCERT)))
    assert not [text for text in said if re.search("to 9 songs|number of songs", text)]


def test_a_unit_stands_behind_its_number() -> None:
    long = column("length", "real", "measure", "length in meters")
    worth = column("worth", "real", "measure", "profits in millions of USD")
    profile = replace(PROFILE, tables=(replace(SINGER, columns=(*SINGER.columns, long, worth)), CONCERT))
    above = Query((S,), out(COUNT), where=Comparison(">", Column("t1", "length"), Value(70)))
    within = replace(above, where=Between(Column("t1", "length"), Value(5), Value(9)))
    dear = replace(above, where=Comparison("<", Column("t1", "worth"), Value(3)))
    fee = column("fee", "real", "measure", "fee in cents per tonne")
    profile = replace(profile, tables=(replace(SINGER, columns=(*profile.tables[0].columns, fee)), CONCERT))
    low = replace(above, where=Comparison("<", Column("t1", "fee"), Value(9)))
    group = replace(
        GROUPS, select=out(COUNTRY), having=Comparison(">", Aggregate("min", Column("t1", "fee")), Value(9))
    )
    assert all("fee in cents per tonne of singers" in text for text in texts(group, profile))
    wanted = {
        above: "70 meters",
        low: "fee .*9 cents per tonne",
        within: "(5 to|5 and) 9 meters",
        dear: "profits .*3 million USD",
    }
    for query, text in wanted.items():
        assert all(re.search(text, one) and " in m" not in one for one in texts(query, profile))


def test_a_ratio_beside_a_name_is_that_of_its_own_rows() -> None:
    """The ratio of "concerts" may be that of all of them, beside each singer."""
    price, sold = (Aggregate("sum", column) for column in (PRICE, SOLD))
    key = (Column("t2", "singer_id"), Column("t2", "full_name"))
    query = Query((C, SINGER_UP), out(key[1], Arithmetic("/", price, sold)), (UP,), group_by=key)
    assert all(len(re.findall("of their concerts", text)) == 2 for text in texts(query))


def test_where_the_engine_minds_letter_case_a_pattern_says_that_it_does_not() -> None:
    """ILIKE is rendered for DuckDB, and a reader would write LIKE."""
    query = Query((S,), out(COUNT), where=Like(NAME, "starts", Value("Jo", ("singer", "full_name"))))
    said = texts(query, replace(PROFILE, dialect="duckdb"))
    assert all(re.search(r"Jo[\"'] \((ignoring case|in any letter case)\)", text) for text in said)
    assert not [text for text in texts(query) if "case" in text]
    digits = replace(query, where=Like(NAME, "starts", Value("12", ("singer", "full_name"))))
    assert not [text for text in texts(digits, replace(PROFILE, dialect="duckdb")) if "case" in text]


def test_who_have_none_are_counted_by_what_they_lack() -> None:
    """Not "how many singers that have no concerts are there"."""
    query = Query((S,), out(COUNT), where=Exists(RELATED, LINK, negated=True))
    assert not [text for text in texts(query) if re.search(r"who .* are there", text)]


def test_one_figure_is_not_listed() -> None:
    assert not [
        text for text in texts(Query((S,), out(Aggregate("avg", AGE)))) if text.startswith(("List", "Please list"))
    ]


def test_a_gymnast_is_a_person_and_not_the_person_of_a_gymnast() -> None:
    person = TableProfile("people", 9, SINGER.columns[:3], "person", "people", primary_key=("singer_id",))
    columns = (column("gymnast_id", "integer", "identifier", "ID", unique=True),
               column("people_id", "integer", "identifier", "people ID", unique=True),
               column("points", "real", "measure", "points"))  # fmt: skip
    gymnast = TableProfile("gymnast", 9, columns, "gymnast", "gymnasts", primary_key=("gymnast_id",))
    profile = replace(PROFILE, tables=(person, gymnast), foreign_keys=())
    join = Join("t1", "t2", (("people_id", "singer_id"),))
    sources = (Source("t1", "gymnast"), Source("t2", "people"))
    query = Query(
        sources, out(Column("t2", "full_name")), (join,), where=Comparison(">", Column("t1", "points"), Value(9))
    )
    for style in STYLES:
        text = render_question(Intent("music", "list", query, 7), profile, style, 1).text
        assert "person" not in text
        assert "people" not in text
        assert "gymnasts" in text


def test_the_key_of_an_order_names_its_owner_where_two_columns_share_a_phrase() -> None:
    singer = replace(SINGER, columns=(*SINGER.columns, column("title", "text", "category", "title")))
    profile = replace(PROFILE, tables=(singer, CONCERT))
    theirs = Column("t2", "title")
    query = Query((C, SINGER_UP), out(TITLE, theirs), (UP,), order_by=(OrderKey(TITLE),))
    for style in STYLES:
        text = render_question(Intent("music", "list", query, 7), profile, style, 1).text
        assert "title of the concert" in text, text


@pytest.mark.parametrize("distinct", [40, 9])  # of 40 singers
@pytest.mark.parametrize("shown", ["full_name", "country"])
@pytest.mark.parametrize("known", [False, True])
def test_parents_without_children_are_left_out_aloud(distinct: int, shown: str, known: bool) -> None:
    """Whether or not each has a child on the source; and so are their categories."""
    columns = tuple(replace(c, distinct=distinct) if c.name == "singer_id" else c for c in CONCERT.columns)
    profile = replace(PROFILE, tables=(SINGER, replace(CONCERT, columns=columns)))
    name, where = Column("t2", shown), IsNull(Column("t2", "age"), negated=True) if known else None
    query = Query((C, SINGER_UP), out(name, COUNT), (UP,), where, group_by=(name,))
    for style in STYLES:
        for seed in range(6):
            text = render_question(Intent("music", "group", query, 7), profile, style, seed).text
            started = known and shown == "country" and text.startswith("Among concerts")
            assert started or re.search("at least one concert", text), text


def test_columns_that_are_numbers_are_not_counted() -> None:
    """ "Count the number of seats sold and title of each concert" asks for no count."""
    query = Query((C,), out(Column("t1", "seats_sold"), Column("t1", "title")))
    assert not [text for text in texts(query) if text.startswith(("Count", "How many"))]
    assert any(text.startswith("Count") for text in texts(Query((C,), out(COUNT))))
