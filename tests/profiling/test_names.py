"""Names as people say them."""

from __future__ import annotations

import doctest
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agro_data.profiling.names import titles, units, words
from agro_data.profiling.names.naming import Hints, name_database
from agro_data.profiling.names.phrases import with_role
from agro_data.profiling.names.words import expand, number_forms, split_identifier
from agro_data.profiling.profile import ColumnProfile, Kind, Role

identifiers = st.text(min_size=1, max_size=25).filter(lambda text: "\0" not in text)


def phrases(table: str, *columns: str, others: tuple[str, ...] = ()) -> list[str]:
    named = name_database({table: columns, **dict.fromkeys(others, ("id",))}, {})
    return [named[table].phrases[column] for column in columns]


@pytest.mark.parametrize(
    ("table", "singular", "plural"),
    [
        ("people", "person", "people"),
        ("Ref_Document_Types", "document type", "document types"),
        ("tbl_order_items", "order item", "order items"),
        ("dim_customer", "customer", "customers"),
        ("staff", "staff member", "staff"),
        ("TV_series", "TV series", "TV series"),
        ("user_profiles", "user profile", "user profiles"),
        ("customerorders", "customer order", "customer orders"),
        ("Has_Pet", "pet record", "pet records"),
        ("Documents_Mailed", "mailed document", "mailed documents"),
        ("First_Notification_of_Loss", "first notification of loss", "first notifications of loss"),
        ("mediaTypes", "media type", "media types"),
        ("Addresses", "address", "addresses"),
        ("weekly_weather", "weekly weather record", "weekly weather records"),
        ("fct_container_stock_daily", "daily container stock record", "daily container stock records"),
        ("usage_hourly", "hourly usage", "hourly usages"),
        ("INVOICE", "invoice", "invoices"),
        ("Employee List", "employee", "employees"),
        ("wish_list", "wish list", "wish lists"),
        ("Claims_Processing", "claim processing record", "claim processing records"),
        ("T001", "T001", "T001"),
        ("T001W", "T001W", "T001Ws"),
        ("VBAK", "VBAK", "VBAKs"),
        ("T100_orders", "t 100 order", "t 100 orders"),
        ("dim_2", "dim 2", "dim 2"),
        ("tbl_2024_orders", "2024 order", "2024 orders"),
        ("t_orders", "order", "orders"),
    ],
)
def test_tables_have_a_noun_in_both_numbers(table: str, singular: str, plural: str) -> None:
    names = name_database({table: ("id",)}, {})[table]
    assert (names.singular, names.plural) == (singular, plural)


@pytest.mark.parametrize(
    ("table", "column", "phrase"),
    [
        ("employee", "emp_fname", "first name"),
        ("employee", "EmployeeID", "ID"),
        ("employee", "dept_no", "department number"),
        ("customers", "cust_addr", "address"),
        ("customers", "dob", "date of birth"),
        ("products", "prodQty", "quantity"),
        ("student", "LName", "last name"),
        ("project", "Pname", "name"),
        ("flight", "flight_number", "flight number"),
        ("company", "num_employees", "number of employees"),
        ("company", "other_company_details", "other details"),
        ("city", "Area_km_2", "area in square km"),
        ("bridge", "length_meters", "length in meters"),
        ("permit", "expires_dt", "expiry date"),
        ("permit", "last_upd_by", "last updated by"),
        ("permit", "upd_dt", "update date"),
        ("stock", "on_hand_qty", "on-hand quantity"),
        ("visit", "in_patient_id", "in patient ID"),
        ("inspection", "duration_min", "duration in minutes"),
        ("order", "quantity_min", "quantity minimum"),
        ("material", "gate_fee_cents_per_tonne", "gate fee in cents per tonne"),
        ("series", "births_per_woman", "births per woman"),
        ("pickup", "net_kg", "net weight in kg"),
        ("pickup", "tare_kg", "tare in kg"),
        ("site", "annual_capacity_t", "annual capacity in t"),
        ("parcel", "lot_sqft", "lot area in square feet"),
        ("parcel", "living_area_sqft", "living area in square feet"),
        ("employee", "salary_cents", "salary in cents"),
        ("orders", "total_cents", "total in cents"),
        ("route", "total_km", "total km"),
        ("offer", "price_eur", "price in EUR"),
        ("product", "wt_g", "weight in g"),
        ("customers", "seg_g", "seg g"),
        ("event", "ts_ms", "timestamp in ms"),
        ("people", "name_ms", "name ms"),
        ("video", "duration_minutes", "duration in minutes"),
        ("plan", "memory_gb", "memory in GB"),
        ("plan", "used_gb", "used GB"),
        ("page", "homepage_url", "homepage URL"),
        ("hotel", "pets_allowed_yn", "pets allowed flag"),
        ("person", "gender_mfu", "gender"),
        ("payments", "amount_payment", "amount"),
        ("driver", "petowner", "pet owner"),
        ("people", "nameLast", "last name"),
        ("school", "name_full", "full name"),
        ("tournament", "count_teams", "number of teams"),
        ("visits", "count_total", "count total"),
        ("series", "teamIDloser", "loser team ID"),
        ("team_franchise", "franchName", "name"),
        ("country", "iso_code", "ISO code"),
        ("stays", "date_from", "start date"),
        ("stays", "date_in_location_to", "location end date"),
        ("jobs", "date_assigned_from", "start date"),
        ("claims", "date_claim_made", "date made"),
        ("lessons", "date_claim_made", "claim made date"),
        ("staff", "date_joined_staff", "date joined"),
        ("Products", "date_product_first_available", "date first available"),
        ("mission", "Launched_Year", "launch year"),
        ("mill", "built_year", "construction year"),
        ("tweets", "createdate", "creation date"),
        ("railway_manage", "From_Year", "start year"),
        ("channels", "year_to_date", "year to date"),
        ("stores", "number_of_units_in_stock", "number of units in stock"),
        ("people", "born_in", "born in"),
        ("head", "born_state", "birth state"),
        ("customers", "date_last_hire", "last hire date"),
        ("Addresses", "line_1", "address line 1"),
        ("phone_market", "Num_of_stock", "stock level"),
        ("Transactions", "date_of_transaction", "date"),
        ("Transactions", "number_of_transactions", "number of transactions"),
        ("Things", "Type_of_Thing_Code", "type code"),
        ("documents", "Destruction_Authorised_by_Employee_ID", "authorising employee ID"),
        ("debate", "Num_of_Audience", "audience size"),
        ("customers", "date_became_customer", "joining date"),
        ("channel", "share_in_percent", "share in percent"),
        ("artist", "year_join", "join year"),
        ("bridge", "year_built", "year built"),
        ("taggings", "taggable_type", "taggable type"),
        ("entries", "billable", "billable"),
        ("entries", "spent_on", "spent date"),
        ("users", "last_sign_in_at", "last sign in time"),
        ("dim_store", "store_sk", "key"),
        ("ticket", "first_response_secs", "first response seconds"),
        ("region", "Area (km²)", "area in km²"),
        ("region", "Area in km²", "area in km²"),
        ("station", "PM2.5 (µg/m³)", "PM2.5 in µg/m³"),
        ("school", "% eligible for free meals", "percentage eligible for free meals"),
        ("town", "Change 2011-2021 (%)", "change 2011-2021 in percent"),
        ("town", "Percentage urban (%)", "percentage urban"),
        ("spending", "Capital/Revenue", "capital/revenue"),
        ("town", "Urban/rural classification", "urban/rural classification"),
        ("accident", "Severity (1=fatal 2=serious, 3=slight)", "severity"),
        ("population", "2014", "2014 value"),
        ("school", "Charter School (Y/N)", "charter school flag"),
        ("town", "Number of unemployed", "number of unemployed"),
        ("device", "rssi_dbm", "RSSI in dBm"),
        ("device", "max_sampling_hz", "maximum sampling in Hz"),
        ("partner", "payment_terms_days", "payment terms in days"),
        ("loan", "days_out", "number of days out"),
        ("commande", "id_fournisseur", "fournisseur ID"),
        ("commande", "id_commande", "ID"),
        ("person", "id_card_number", "ID card number"),
        ("artikel", "Lagerbestand", "lagerbestand"),
    ],
)
def test_columns_have_a_phrase_without_the_tables_noun(table: str, column: str, phrase: str) -> None:
    assert phrases(table, column) == [phrase]


@pytest.mark.parametrize(
    ("kind", "role", "said"),
    [
        ("date", "date", ("start date", "end date")),
        ("integer", "year", ("start year", "end year")),
        ("time", "text", ("start time", "end time")),
        ("real", "measure", ("lower end", "upper end")),
        ("text", "category", ("origin", "destination")),
        ("integer", "identifier", ("origin", "destination")),
    ],
)
def test_what_stands_from_and_to_is_told_by_its_role(kind: Kind, role: Role, said: tuple[str, str]) -> None:
    columns = with_role([ColumnProfile(name, "", kind, role, name) for name in ("from", "to")], "trip")
    assert tuple(column.phrase for column in columns) == said


@pytest.mark.parametrize(
    ("phrase", "kind", "role", "said"),
    [
        ("active to date", "date", "date", "active end date"),
        ("year to date", "real", "measure", "year to date"),  # the sum so far
        ("years working", "integer", "measure", "number of years working"),
        ("year rating", "integer", "measure", "year rating"),
        ("trip type", "text", "category", "type"),  # of a trip type
        ("from status", "text", "category", "previous status"),
        ("to status", "text", "identifier", "new status"),
        ("to depot ID", "integer", "identifier", "destination depot ID"),
        ("to do", "text", "text", "to do"),
        ("from whom", "text", "category", "from whom"),
        ("to value", "real", "measure", "to value"),
        ("license exp", "date", "date", "license expiry date"),
        ("price per square meters", "real", "measure", "price per square meter"),
        ("deaths per thousand people", "real", "measure", "deaths per thousand people"),
        ("failures per 100 hours", "real", "measure", "failures per 100 hours"),
        ("miles per hours", "real", "measure", "miles per hour"),
        ("last updated by", "text", "category", "last editor"),
        ("modified by", "text", "text", "editor"),
        ("since", "date", "date", "start date"),
        ("until", "integer", "year", "end year"),
        ("since", "text", "text", "since"),
        ("license exp", "integer", "measure", "license exp"),
        ("measured", "real", "measure", "measured value"),
        ("paid", "real", "measure", "amount paid"),
    ],
)
def test_what_ends_in_a_year_or_date_is_told_by_its_role(phrase: str, kind: Kind, role: Role, said: str) -> None:
    (column,) = with_role([ColumnProfile("x", "", kind, role, phrase)], "trip type")
    assert column.phrase == said


def test_rows_that_detail_or_list_things_are_these() -> None:
    tables = {"festival_detail": ("Festival_ID",), "list": ("LastName", "FirstName"), "order_details": ("order_id",)}
    keys = {"festival_detail": Hints(key="Festival_ID"), "order_details": Hints(key="order_id")}
    assert [name.plural for name in name_database(tables, keys).values()] == ["festivals", "people", "orders"]
    names = name_database({**tables, "orders": ("order_id",)}, keys)
    assert names["order_details"].plural == "order details"
    entries = name_database({"journal_entries": ("journal_id",)}, {"journal_entries": Hints(key="journal_id")})
    assert entries["journal_entries"].plural == "journal entries"
    assert name_database({"list": ("name",)}, {})["list"].plural == "lists"


def test_what_would_ask_how_many_or_break_off_is_said_in_full() -> None:
    columns = [ColumnProfile(n, "", "integer", "identifier", n.replace("_", " ")) for n in ("number", "copy_of")]
    said = with_role(
        [*columns, replace(columns[1], name="part_of", phrase="part of")], "course", {"copy_of", "part_of"}
    )
    assert [column.phrase for column in said] == ["course number", "original ID", "parent ID"]


def test_a_table_of_what_belongs_to_another_is_called_by_both() -> None:
    tables = ("member_of_club", "club", "Participants_in_Events", "Events", "point_of_sale")
    names = name_database(dict.fromkeys(tables, ("id",)), {})
    said = [names[table].plural for table in (tables[0], tables[2], tables[4])]
    assert said == ["club members", "event participants", "points of sale"]


def test_what_somebody_called_a_table_stands_for_its_name_in_columns() -> None:
    names = name_database({"clm": ("clm_no",), "clm_pmt": ("clm_no", "pmt_amt")}, {"clm": Hints(noun="claim")})
    assert names["clm_pmt"].phrases["clm_no"] == "claim number"


def test_abbreviations_are_said_in_capitals_where_the_name_has_them() -> None:
    batting = ("player", "G", "AB", "SO", "GIDP", "2B", "WCWin", "NAME", "IPouts")
    assert phrases("batting", *batting) == ["player", "G", "AB", "SO", "GIDP", "2B", "WC win", "name", "IP outs"]
    assert phrases("EMP", "ENAME", "SAL", "SO", "GIDP", "CREATED_BY") == ["name", "salary", "so", "GIDP", "created by"]
    names = name_database({"FieldingOF": ("id",), "AllStar": ("id",), "all_stars": ("id",)}, {})
    assert [names["FieldingOF"].plural, names["AllStar"].plural] == ["fieldings OF", "all stars"]


def test_an_hour_is_one_beside_days_and_minutes() -> None:
    assert phrases("weather", "hr", "day", "temp")[0] == "hour"
    assert phrases("batting", "HR", "BB")[0] == "HR"


def test_a_key_glued_to_a_few_letters_is_that_of_a_table() -> None:
    tables = {"airports": ("apid",), "airlines": ("alid",), "routes": ("alid", "src_apid", "covid")}
    names = name_database(tables, {})
    assert names["airports"].phrases == {"apid": "ID"}
    assert names["routes"].phrases == {"alid": "airline ID", "src_apid": "source airport ID", "covid": "covid"}


def test_a_beginning_of_a_word_is_that_of_a_table_in_all_tables() -> None:
    names = name_database({"TeamsFranchises": ("franchID",), "Teams": ("franchID", "teamID")}, {})
    assert [names[table].columns["franchID"] for table in names] == [["franchise", "id"], ["franchise", "id"]]


def test_what_a_table_is_called_is_no_abbreviation() -> None:
    names = name_database({"stats": ("id",), "player_stats": ("base_stat", "stat_id"), "checks": ("stat_cd",)}, {})
    assert names["player_stats"].phrases == {"base_stat": "base stat", "stat_id": "stat ID"}
    assert phrases("checks", "stat_cd") == ["status code"]


def test_a_foreign_noun_is_kept() -> None:
    assert phrases("customer_address", "address_id", "customer_id", others=("address", "customer")) == [
        "address ID",
        "customer ID",
    ]


def test_abbreviated_tables_are_found_in_context() -> None:
    assert phrases("has_pet", "stuid", "petid", others=("student", "pets")) == ["student ID", "pet ID"]


def test_an_initial_before_name_is_of_the_table_itself() -> None:
    """It was "game play record name": another noun begins with the letter, and its own only in the last word."""
    assert phrases("video_games", "GName", "GType", others=("game_play_record",)) == ["name", "type"]
    kinds = ("restaurant", "restaurant_type")
    assert phrases("type_of_restaurant", "ResTypeID", others=kinds) == ["restaurant type ID"]


def test_a_blank_name_is_said() -> None:
    assert phrases("sales", "", "  ", "#") == ["unnamed", "unnamed 2", "#"]


def test_the_abbreviations_of_sensors_are_written_out() -> None:
    """A timestamp is known for one by its words: no sum of `ts` makes sense."""
    assert phrases("readings", "ts", "created_ts", "temp_c") == [
        "timestamp", "created timestamp", "temperature in Celsius",
    ]  # fmt: skip


def test_an_abbreviation_is_of_the_table_that_is_there() -> None:
    assert phrases("visits", "DocID", others=("doctors",)) == ["doctor ID"]
    assert phrases("visits", "DocID", others=("doctors", "documents")) == ["document ID"]
    assert phrases("visits", "DocID", "emp_id") == ["document ID", "employee ID"]


def test_a_beginning_of_a_word_in_a_tables_name_is_that_of_another_table() -> None:
    tables = {"lu_insp_result": ("id",), "inspection": ("id",), "prem_holder": ("id",)}
    assert [one.singular for one in name_database(tables, {}).values()] == [
        "inspection result", "inspection", "prem holder"
    ]  # fmt: skip
    taken = name_database({"insp": ("id",), "inspection": ("id",)}, {})
    assert [one.singular for one in taken.values()] == ["insp", "inspection"]


def test_equal_phrases_are_told_apart() -> None:
    assert phrases("pet", "name", "pet_name") == ["name", "pet name"]
    both = phrases("t", "City", "city")
    assert len(set(both)) == 2


def test_equal_nouns_are_told_apart() -> None:
    names = name_database({"orders": ("id",), "tbl_orders": ("id",), "Order": ("id",)}, {})
    assert len({value.singular for value in names.values()}) == 3
    assert len({value.plural for value in names.values()}) == 3


def test_given_words_win_unless_they_speak_of_something_else() -> None:
    hints = Hints(words="artists", column_words={"ArtistId": "name", "f2": "follower id"})
    names = name_database({"artists": ("ArtistId", "f2")}, {"artists": hints})["artists"]
    assert names.phrases == {"ArtistId": "ID", "f2": "follower ID"}
    tables = {"coach": ("Coach_name",), "player": ("id",)}
    shifted = name_database(tables, {"coach": Hints(column_words={"Coach_name": "player name"})})
    assert shifted["coach"].phrases == {"Coach_name": "name"}


def test_semantics_names_are_said_as_given() -> None:
    hints = Hints(noun="purchase order", phrases={"x": "Grand Total"})
    names = name_database({"po": ("x",)}, {"po": hints})["po"]
    assert (names.singular, names.plural, names.phrases["x"]) == ("purchase order", "purchase orders", "Grand Total")


@settings(deadline=None)
@example("s")
@given(st.from_regex(r"[a-z]{0,2}s?", fullmatch=True).filter(bool))
def test_fragments_have_a_singular_and_a_plural(word: str) -> None:
    assert all(number_forms(word))


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(identifiers, st.lists(identifiers, min_size=1, max_size=6, unique=True), min_size=1, max_size=4))
def test_any_identifiers_get_distinct_sayable_names(tables: dict[str, list[str]]) -> None:
    names = name_database(tables, {})
    assert len({value.singular for value in names.values()}) == len(tables)
    for table, columns in tables.items():
        said = names[table].phrases
        assert set(said) == set(columns)
        assert len(set(said.values())) == len(columns)
        assert all(phrase for phrase in said.values())


@settings(max_examples=200, deadline=None)
@given(st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,20}", fullmatch=True))
def test_splitting_loses_no_letter(identifier: str) -> None:
    parts = split_identifier(identifier)
    assert "".join(parts) == identifier.replace("_", "").lower()
    assert all("_" not in part for part in expand(parts))


@pytest.mark.parametrize("word", ["status", "bus", "series", "class", "movie", "finances", "people", "child", "id"])
def test_number_is_stable(word: str) -> None:
    single, plural = number_forms(word)
    assert number_forms(single)[0] == single
    assert number_forms(plural) == (single, plural)


def test_examples_in_docstrings() -> None:
    for module in (words, titles, units):
        assert doctest.testmod(module).failed == 0


def test_a_word_is_what_it_is_beside_others() -> None:
    flights = ("sched_dep_time", "dep_delay", "arr_delay", "dest", "visib", "dewp")
    assert phrases("flights", *flights) == [
        "scheduled departure time", "departure delay", "arrival delay", "destination", "visibility", "dew point",
    ]  # fmt: skip
    assert phrases("airports", "dst", "tz") == ["daylight saving time", "time zone"]
    assert phrases("packets", "src", "dst") == ["source", "destination"]
    assert phrases("staff", "dep_id") != ["departure ID"]
    assert phrases("pitching", "era", "innings") == ["earned run average", "innings"]
    assert name_database({"drug_era": ("id",)}, {})["drug_era"].singular == "drug era"


def test_months_and_weekdays_are_written_out_beside_their_siblings() -> None:
    assert phrases("temperatures", "jan", "feb", "mar", "apr", "may", "dec_max") == [
        "January", "February", "March", "April", "may", "December maximum",
    ]  # fmt: skip
    assert phrases("shifts", "mon", "tue", "wed", "sat", "sun") == [
        "Monday", "Tuesday", "Wednesday", "Saturday", "Sunday",
    ]  # fmt: skip
    assert phrases("loans", "apr", "mar_pct", "sat_score") == ["apr", "mar percentage", "SAT score"]


def test_abbreviations_of_several_meanings_stay() -> None:
    assert phrases("things", "arr_usd", "mem_mb", "inc_vat", "comm_type", "conf_score", "geloescht_am") == [
        "arr in USD", "mem MB", "inc VAT", "comm type", "conf score", "geloescht am",
    ]  # fmt: skip
    assert phrases("staff", "sal", "comm") == ["salary", "commission"]
    assert phrases("cards", "exp_dt", "void_flg", "holder_nm") == ["expiry date", "void flag", "holder name"]
    assert phrases("lasers", "wavelength_nm") == ["wavelength in nm"]
    assert name_database({"evt_hdr": ("id",)}, {})["evt_hdr"].singular == "event header"


def test_what_is_many_is_told_from_what_is_one() -> None:
    """Engines counted and the engine that they are: planes' engines could be of either."""
    columns = [
        ColumnProfile("engine", "TEXT", "text", "category", "engine"),
        ColumnProfile("engines", "INTEGER", "integer", "measure", "engines"),
        ColumnProfile("seats", "INTEGER", "integer", "measure", "seats"),
    ]
    assert [column.phrase for column in with_role(columns, "plane")] == ["engine", "number of engines", "seats"]
    columns = [
        ColumnProfile("tax", "REAL", "real", "measure", "tax"),
        ColumnProfile("taxes", "REAL", "real", "measure", "taxes"),
    ]
    assert [column.phrase for column in with_role(columns, "bill")] == ["tax", "total taxes"]


def test_acronyms_with_a_figure_are_whole() -> None:
    assert phrases("revenue", "q1_total", "ga4_property", "address_line1") == [
        "Q1 total",
        "GA4 property",
        "address line 1",
    ]
    assert name_database({"ga4_events": ("id",)}, {})["ga4_events"].plural == "GA4 events"


def test_what_only_links_is_called_by_what_it_links() -> None:
    tables = dict.fromkeys(("bridge_film_actor", "dim_film", "dim_actor", "film_genre_map", "genres"), ("id",))
    named = name_database(tables, {})
    assert named["bridge_film_actor"].singular == "film actor"
    assert named["film_genre_map"].singular == "film genre"
    bridges = name_database(dict.fromkeys(("bridge", "bridge_inspection", "inspections"), ("id",)), {})
    assert bridges["bridge_inspection"].singular == "bridge inspection"


def test_what_happened_at_is_a_time() -> None:
    columns = [ColumnProfile(name, "TEXT", "datetime", "date", name) for name in ("placed at", "starts at", "ended on")]
    assert [column.phrase for column in with_role(columns, "order")] == ["placed time", "start time", "ended date"]


@pytest.mark.parametrize(
    ("word", "forms"),
    [("satz", ("satz", "satz")), ("waltz", ("waltz", "waltzes")),
     ("pais", ("pais", "pais")), ("pago", ("pago", "pagos")), ("oficinas", ("oficina", "oficinas")),
     ("potato", ("potato", "potatoes")), ("basis", ("basis", "bases"))],
)  # fmt: skip
def test_what_is_no_english_word_is_not_bent_as_one(word: str, forms: tuple[str, str]) -> None:
    assert number_forms(word) == forms
