"""Scripted migrations of the shop, with what a person says becomes of each example.

`repaired` holds the right SQL on the new schema, written by hand; what is not named is kept as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Migration:
    """`changes` are SQL of both engines, `broken` the class of the reason for each example that is."""

    name: str
    changes: Sequence[str]
    repaired: Mapping[str, str] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    broken_in_duckdb: Mapping[str, str] = field(default_factory=dict)  # besides: its types are strict
    questions: Mapping[str, str] = field(default_factory=dict)  # those that have another text now


CUSTOMER = ("in_paris", "per_city", "open", "aliased", "codes", "big_cities")
PRODUCT = ("dear", "tall", "wider", "unsold", "units", "shelf_of")


def all_broken(names: Sequence[str], reason: str) -> dict[str, str]:
    return dict.fromkeys(names, reason)


CLIENT = {
    "in_paris": "SELECT full_name FROM client WHERE city = 'Paris'",
    "per_city": "SELECT city, COUNT(*) FROM client GROUP BY city",
    "open": "SELECT c.full_name, COUNT(*) FROM client c JOIN purchase p ON c.customer_id = p.customer_id "
    "WHERE p.status = 'open' GROUP BY c.customer_id, c.full_name",
    "aliased": "SELECT full_name FROM client WHERE birth_year < 1970",
    "codes": "SELECT cust_cd FROM client WHERE birth_year > 1990",
    "big_cities": "SELECT city FROM client GROUP BY city HAVING COUNT(*) > 4",
}
OPEN = "SELECT c.full_name, COUNT(*) FROM customer c JOIN {p} p ON c.customer_id = p.customer_id " \
    "WHERE p.{status} = 'open' GROUP BY c.customer_id, c.full_name"  # fmt: skip

SHELF = "SELECT p.{}, s.shelf FROM {} p JOIN stock s ON p.{} = s.product_id WHERE s.amount > 20"

RENAMES = [
    Migration("rename_table", ["ALTER TABLE customer RENAME TO client"], CLIENT),
    Migration(
        "rename_column",
        ["ALTER TABLE customer RENAME COLUMN city TO town"],
        {
            "in_paris": "SELECT full_name FROM customer WHERE town = 'Paris'",
            "per_city": "SELECT town, COUNT(*) FROM customer GROUP BY town",
            "big_cities": "SELECT town FROM customer GROUP BY town HAVING COUNT(*) > 4",
        },
    ),
    Migration(
        "rename_table_and_column",
        ["ALTER TABLE customer RENAME TO client", "ALTER TABLE client RENAME COLUMN full_name TO client_name"],
        CLIENT
        | {
            "in_paris": "SELECT client_name FROM client WHERE city = 'Paris'",
            "open": CLIENT["open"].replace("full_name", "client_name"),
            "aliased": "SELECT client_name FROM client WHERE birth_year < 1970",
        },
    ),
    Migration(
        "rename_all_columns_of_a_table",
        [
            "ALTER TABLE product RENAME COLUMN title TO label",
            "ALTER TABLE product RENAME COLUMN category TO kind",
            "ALTER TABLE product RENAME COLUMN price TO cost",
            "ALTER TABLE product RENAME COLUMN height TO h",
            "ALTER TABLE product RENAME COLUMN width TO w",
        ],
        {
            "dear": "SELECT label FROM product WHERE cost > 50",
            "tall": "SELECT label, h FROM product WHERE h > 30",
            "wider": "SELECT label FROM product WHERE w > h",
            "unsold": "SELECT label FROM product WHERE product_id NOT IN (SELECT product_id FROM purchase)",
            "units": "SELECT kind, SUM(quantity) FROM product JOIN purchase USING (product_id) GROUP BY kind",
            "shelf_of": SHELF.format("label", "product", "product_id"),
        },
    ),
    Migration(
        "rename_to_something_unlike",
        ["ALTER TABLE product RENAME COLUMN price TO zq7"],
        {"dear": "SELECT title FROM product WHERE zq7 > 50"},
    ),
    Migration(
        "rename_to_a_keyword",
        ['ALTER TABLE purchase RENAME COLUMN status TO "order"'],
        {"open": OPEN.format(p="purchase", status='"order"')},
    ),
    Migration(
        "rename_to_a_name_with_spaces",
        ['ALTER TABLE product RENAME COLUMN price TO "unit price"'],
        {"dear": 'SELECT title FROM product WHERE "unit price" > 50'},
    ),
    Migration(
        "rename_table_to_a_quoted_name",
        ['ALTER TABLE staff RENAME TO "our staff"'],
        {"bosses": 'SELECT a.name, b.name FROM "our staff" a JOIN "our staff" b ON a.boss_id = b.staff_id'},
    ),
    Migration(
        "rename_columns_of_a_self_join",
        ["ALTER TABLE staff RENAME COLUMN boss_id TO manager", "ALTER TABLE staff RENAME COLUMN name TO called"],
        {"bosses": "SELECT a.called, b.called FROM staff a JOIN staff b ON a.manager = b.staff_id"},
    ),
    Migration(
        "rename_a_key_on_one_side",
        ["ALTER TABLE product RENAME COLUMN product_id TO item_no"],
        {
            "unsold": "SELECT title FROM product WHERE item_no NOT IN (SELECT product_id FROM purchase)",
            "shelf_of": SHELF.format("title", "product", "item_no"),
            "units": "SELECT category, SUM(quantity) FROM product JOIN purchase ON item_no = product_id "
            "GROUP BY category",
        },
    ),
    Migration(
        "rename_a_key_on_both_sides",
        [
            "ALTER TABLE product RENAME COLUMN product_id TO item_id",
            "ALTER TABLE purchase RENAME COLUMN product_id TO item_id",
        ],
        {
            "unsold": "SELECT title FROM product WHERE item_id NOT IN (SELECT item_id FROM purchase)",
            "shelf_of": SHELF.format("title", "product", "item_id"),
            "units": "SELECT category, SUM(quantity) FROM product JOIN purchase USING (item_id) GROUP BY category",
        },
    ),
    Migration(
        "rename_table_to_an_alias_that_is_used",
        ["ALTER TABLE product RENAME TO T1"],
        {
            "dear": "SELECT title FROM T1 WHERE price > 50",
            "shelf_of": SHELF.format("title", "T1", "product_id"),
            "tall": "SELECT title, height FROM T1 WHERE height > 30",
            "wider": "SELECT title FROM T1 WHERE width > height",
            "unsold": "SELECT title FROM T1 WHERE product_id NOT IN (SELECT product_id FROM purchase)",
            "units": "SELECT category, SUM(quantity) FROM T1 JOIN purchase USING (product_id) GROUP BY category",
        },
    ),
    Migration(
        "rename_table_to_the_alias_of_another",
        ["ALTER TABLE staff RENAME TO s", "ALTER TABLE customer RENAME TO people"],
        {name: sql.replace("client", "people") for name, sql in CLIENT.items()}
        | {"bosses": "SELECT a.name, b.name FROM s a JOIN s b ON a.boss_id = b.staff_id"},
    ),
    Migration(
        "rename_an_identifier_that_the_question_says",
        ["ALTER TABLE customer RENAME COLUMN cust_cd TO client_code"],
        {"codes": "SELECT client_code FROM customer WHERE birth_year > 1990"},
        questions={"codes": "What is the client_code of those born after 1990?"},
    ),
    Migration(
        "rename_two_tables_at_once",
        ["ALTER TABLE product RENAME TO article", "ALTER TABLE purchase RENAME TO sale"],
        {
            "shelf_of": SHELF.format("title", "article", "product_id"),
            "dear": "SELECT title FROM article WHERE price > 50",
            "tall": "SELECT title, height FROM article WHERE height > 30",
            "wider": "SELECT title FROM article WHERE width > height",
            "open": OPEN.format(p="sale", status="status"),
            "unsold": "SELECT title FROM article WHERE product_id NOT IN (SELECT product_id FROM sale)",
            "units": "SELECT category, SUM(quantity) FROM article JOIN sale USING (product_id) GROUP BY category",
        },
    ),
]

SWAPS = [
    Migration(
        "swap_names_of_two_columns",
        [
            "ALTER TABLE product RENAME COLUMN height TO tmp",
            "ALTER TABLE product RENAME COLUMN width TO height",
            "ALTER TABLE product RENAME COLUMN tmp TO width",
        ],
        {
            "tall": "SELECT title, width FROM product WHERE width > 30",
        },
        {"wider": "question_untrue"},
        questions={"tall": "Which products have a width above 30?"},
    ),
    Migration(
        "swap_names_of_text_columns",
        [
            "ALTER TABLE product RENAME COLUMN title TO tmp",
            "ALTER TABLE product RENAME COLUMN category TO title",
            "ALTER TABLE product RENAME COLUMN tmp TO category",
        ],
        {
            "dear": "SELECT category FROM product WHERE price > 50",
            "shelf_of": SHELF.format("category", "product", "product_id"),
            "tall": "SELECT category, height FROM product WHERE height > 30",
            "wider": "SELECT category FROM product WHERE width > height",
            "unsold": "SELECT category FROM product WHERE product_id NOT IN (SELECT product_id FROM purchase)",
            "units": "SELECT title, SUM(quantity) FROM product JOIN purchase USING (product_id) GROUP BY title",
        },
        questions={"units": "How many units of each title were bought?"},
    ),
    Migration(
        "rotate_names_of_three_columns",
        [
            "ALTER TABLE product RENAME COLUMN price TO tmp",
            "ALTER TABLE product RENAME COLUMN width TO price",
            "ALTER TABLE product RENAME COLUMN height TO width",
            "ALTER TABLE product RENAME COLUMN tmp TO height",
        ],
        {
            "dear": "SELECT title FROM product WHERE height > 50",
            "tall": "SELECT title, width FROM product WHERE width > 30",
        },
        {"wider": "question_untrue"},
        questions={"tall": "Which products have a width above 30?"},
    ),
    Migration(
        "swap_names_of_two_tables",
        [
            "ALTER TABLE customer RENAME TO tmp",
            "ALTER TABLE product RENAME TO customer",
            "ALTER TABLE tmp RENAME TO product",
        ],
        {name: sql.replace("client", "product") for name, sql in CLIENT.items()}
        | {
            "dear": "SELECT title FROM customer WHERE price > 50",
            "shelf_of": SHELF.format("title", "customer", "product_id"),
            "tall": "SELECT title, height FROM customer WHERE height > 30",
            "wider": "SELECT title FROM customer WHERE width > height",
            "unsold": "SELECT title FROM customer WHERE product_id NOT IN (SELECT product_id FROM purchase)",
            "units": "SELECT category, SUM(quantity) FROM customer JOIN purchase USING (product_id) GROUP BY category",
        },
        questions={
            "in_paris": "Which products live in Paris?",
            "per_city": "How many products live in each city?",
            "open": "How many open purchases does each product have?",
            "big_cities": "Which cities have more than four products?",
            "dear": "Which customers cost more than 50?",
            "tall": "Which customers have a height above 30?",
            "wider": "Which customers are wider than high?",
            "unsold": "Which customers were never bought?",
            "shelf_of": "On which shelf are the customers of which more than 20 are there?",
        },
    ),
    Migration(
        "rename_and_reuse_the_old_name",
        [
            "ALTER TABLE customer RENAME COLUMN city TO home_town",
            "ALTER TABLE customer ADD COLUMN city TEXT",
            "UPDATE customer SET city = 'district ' || customer_id",
        ],
        {},
        all_broken(("in_paris", "per_city", "big_cities"), "column_gone"),
    ),
    Migration(
        "rename_table_and_reuse_the_old_name",
        [
            "ALTER TABLE staff RENAME TO employee",
            "CREATE TABLE staff (staff_id INTEGER, name TEXT, boss_id INTEGER)",
            "INSERT INTO staff VALUES (501, 'Zed', 502), (502, 'Yan', 503), (503, 'Xiu', NULL)",
        ],
        {},
        {"bosses": "table_gone"},
    ),
]

LOSSES = [
    Migration(
        "drop_table_where_another_has_the_same_keys",
        [
            "DROP TABLE stock",
            "CREATE TABLE colour (product_id INTEGER, shade TEXT, amount INTEGER)",
            "INSERT INTO colour SELECT product_id, 'shade ' || product_id, 7 FROM product",
        ],
        {},
        all_broken(("per_shelf", "shelf_of"), "table_gone"),
    ),
    Migration(
        "drop_column",
        ["ALTER TABLE product DROP COLUMN price"],
        {},
        {"dear": "column_gone"},
    ),
    Migration("drop_table", ["DROP TABLE staff"], {}, {"bosses": "table_gone"}),
    Migration(
        "drop_column_and_add_another_of_its_type",
        [
            "ALTER TABLE product DROP COLUMN height",
            "ALTER TABLE product ADD COLUMN stock INTEGER",
            "UPDATE product SET stock = 1000 + product_id * 7",
        ],
        {},
        {"tall": "column_gone", "wider": "column_gone"},
    ),
    Migration(
        "drop_column_and_add_one_of_a_like_name",
        [
            "ALTER TABLE customer DROP COLUMN birth_year",
            "ALTER TABLE customer ADD COLUMN birth_yr INTEGER",
            "UPDATE customer SET birth_yr = customer_id % 2",
        ],
        {},
        {"aliased": "column_gone", "codes": "column_gone"},
    ),
    Migration(
        "drop_column_and_add_an_empty_one_of_a_like_name",
        ["ALTER TABLE customer DROP COLUMN city", "ALTER TABLE customer ADD COLUMN cities TEXT"],
        {},
        all_broken(("in_paris", "per_city", "big_cities"), "column_gone"),
    ),
    Migration(
        "rename_to_two_copies",
        [
            "ALTER TABLE customer RENAME COLUMN city TO town_a",
            "ALTER TABLE customer ADD COLUMN town_b TEXT",
            "UPDATE customer SET town_b = town_a",
        ],
        {},
        all_broken(("in_paris", "per_city", "big_cities"), "column_gone"),
    ),
    Migration(
        "split_rows_over_two_tables",
        [
            "CREATE TABLE staff_a AS SELECT * FROM staff WHERE staff_id <= 5",
            "CREATE TABLE staff_b AS SELECT * FROM staff WHERE staff_id > 5",
            "DROP TABLE staff",
        ],
        {},
        {"bosses": "table_gone"},
    ),
    Migration(
        "merge_one_to_many",
        [
            "CREATE TABLE wide AS SELECT p.purchase_id, p.customer_id, p.quantity, p.day, p.status, r.product_id, "
            "r.title, r.category, r.price, r.height, r.width FROM purchase p JOIN product r USING (product_id)",
            "DROP TABLE product",
        ],
        {},
        all_broken(PRODUCT, "table_gone"),
    ),
]

ADDITIONS = [
    Migration("add_column", ["ALTER TABLE customer ADD COLUMN phone TEXT", "UPDATE customer SET phone = 'x'"]),
    Migration("add_table", ["CREATE TABLE note (note_id INTEGER, body TEXT)"]),
    Migration(
        "add_column_that_makes_a_name_ambiguous",
        ["ALTER TABLE purchase ADD COLUMN category TEXT", "UPDATE purchase SET category = 'retail'"],
        {
            "units": "SELECT product.category, SUM(quantity) FROM product JOIN purchase USING (product_id) "
            "GROUP BY product.category",
        },
    ),
    Migration(
        "add_column_that_an_inner_query_would_catch",
        ["ALTER TABLE purchase ADD COLUMN title TEXT", "UPDATE purchase SET title = 'none'"],
    ),
    Migration(
        "rows_added",
        [
            "INSERT INTO customer VALUES (31, 'Zoe Vale', 'Paris', 1960, 'C990')",
            "INSERT INTO customer VALUES (32, 'Yan Reed', 'Rome', 1999, 'C991')",
            "INSERT INTO product VALUES (26, 'Vase 26', 'home', 72.5, 44, 60)",
        ],
    ),
    Migration("rows_removed", ["DELETE FROM customer WHERE customer_id > 27"]),
    Migration(
        "many_rows_added",
        [
            "INSERT INTO purchase SELECT purchase_id + 100, customer_id, product_id, quantity + 1, day, status "
            "FROM purchase",
        ],
    ),
    Migration(
        "a_value_removed",
        ["DELETE FROM customer WHERE city = 'Paris'"],
        {},
        {
            "in_paris": "values_recoded",
        },
    ),
    Migration("a_table_emptied", ["DELETE FROM staff"], {}, {"bosses": "empty"}),
]

TYPES = [
    Migration(
        "integer_to_real",
        [
            "CREATE TABLE p2 (product_id INTEGER PRIMARY KEY, title TEXT NOT NULL, category TEXT, price REAL, "
            "height REAL, width REAL)",
            "INSERT INTO p2 SELECT * FROM product",
            "DROP TABLE product",
            "ALTER TABLE p2 RENAME TO product",
        ],
    ),
    Migration(
        "integer_to_text",
        [
            "CREATE TABLE p2 (product_id INTEGER PRIMARY KEY, title TEXT NOT NULL, category TEXT, price REAL, "
            "height INTEGER, width INTEGER)",
            "INSERT INTO p2 SELECT * FROM product",
            "DROP TABLE product",
            "ALTER TABLE p2 RENAME TO product",
            "CREATE TABLE c2 AS SELECT customer_id, full_name, city, CAST(birth_year AS TEXT) AS birth_year, cust_cd "
            "FROM customer",
            "DROP TABLE customer",
            "ALTER TABLE c2 RENAME TO customer",
        ],
        broken_in_duckdb=all_broken(("aliased", "codes"), "execution_error"),
    ),
    Migration(
        "numbers_become_text",
        [
            "CREATE TABLE p2 AS SELECT product_id, title, category, CAST(price AS TEXT) AS price, height, width "
            "FROM product",
            "DROP TABLE product",
            "ALTER TABLE p2 RENAME TO product",
        ],
        {},
        {"dear": "type_changed"},
        broken_in_duckdb={"dear": "execution_error"},
    ),
    Migration(
        "type_and_name_at_once",
        [
            "CREATE TABLE p2 AS SELECT product_id, title, category, CAST(price AS DECIMAL(9, 2)) AS unit_price, "
            "height, width FROM product",
            "DROP TABLE product",
            "ALTER TABLE p2 RENAME TO product",
        ],
        {"dear": "SELECT title FROM product WHERE unit_price > 50"},
    ),
    Migration(
        "not_null_added",
        [
            "CREATE TABLE c2 (customer_id INTEGER PRIMARY KEY, full_name TEXT NOT NULL, city TEXT NOT NULL, "
            "birth_year INTEGER NOT NULL, cust_cd TEXT NOT NULL)",
            "INSERT INTO c2 SELECT * FROM customer",
            "DROP TABLE customer",
            "ALTER TABLE c2 RENAME TO customer",
        ],
    ),
    Migration(
        "keys_dropped",
        [
            "CREATE TABLE c2 AS SELECT * FROM customer",
            "DROP TABLE customer",
            "ALTER TABLE c2 RENAME TO customer",
        ],
    ),
    Migration(
        "keys_changed",
        [
            "CREATE TABLE c2 (customer_id INTEGER UNIQUE, full_name TEXT NOT NULL, city TEXT, birth_year INTEGER, "
            "cust_cd TEXT PRIMARY KEY)",
            "INSERT INTO c2 SELECT * FROM customer",
            "DROP TABLE customer",
            "ALTER TABLE c2 RENAME TO customer",
        ],
    ),
]

SHAPES = [
    Migration(
        "split_table",
        [
            "CREATE TABLE dimension AS SELECT product_id, height, width FROM product",
            "CREATE TABLE p2 AS SELECT product_id, title, category, price FROM product",
            "DROP TABLE product",
            "ALTER TABLE p2 RENAME TO product",
        ],
        {
            "tall": "SELECT title, height FROM product JOIN dimension USING (product_id) WHERE height > 30",
            "wider": "SELECT title FROM product JOIN dimension USING (product_id) WHERE width > height",
        },
    ),
    Migration(
        "split_table_with_new_names",
        [
            "CREATE TABLE size AS SELECT product_id AS item, height AS tall, width AS wide FROM product",
            "CREATE TABLE article AS SELECT product_id AS item, title, category, price FROM product",
            "DROP TABLE product",
        ],
        {
            "shelf_of": SHELF.format("title", "article", "item"),
            "dear": "SELECT title FROM article WHERE price > 50",
            "tall": "SELECT title, tall FROM article JOIN size USING (item) WHERE tall > 30",
            "wider": "SELECT title FROM article JOIN size USING (item) WHERE wide > tall",
            "unsold": "SELECT title FROM article WHERE item NOT IN (SELECT product_id FROM purchase)",
            "units": "SELECT category, SUM(quantity) FROM article JOIN purchase ON item = product_id GROUP BY category",
        },
    ),
    Migration(
        "merge_tables",
        [
            "CREATE TABLE p2 AS SELECT p.product_id, p.title, p.category, p.price, p.height, p.width, s.shelf, "
            "s.amount FROM product p JOIN stock s ON p.product_id = s.product_id",
            "DROP TABLE product",
            "DROP TABLE stock",
            "ALTER TABLE p2 RENAME TO product",
        ],
        {
            "per_shelf": "SELECT shelf, SUM(amount) FROM product GROUP BY shelf",
            "shelf_of": "SELECT title, shelf FROM product WHERE amount > 20",
        },
    ),
    Migration(
        "merge_tables_under_a_new_name",
        [
            "CREATE TABLE article AS SELECT p.product_id AS nr, p.title, p.category, p.price, p.height, p.width, "
            "s.shelf AS place, s.amount FROM product p JOIN stock s ON p.product_id = s.product_id",
            "DROP TABLE product",
            "DROP TABLE stock",
        ],
        {
            "dear": "SELECT title FROM article WHERE price > 50",
            "tall": "SELECT title, height FROM article WHERE height > 30",
            "wider": "SELECT title FROM article WHERE width > height",
            "unsold": "SELECT title FROM article WHERE nr NOT IN (SELECT product_id FROM purchase)",
            "units": "SELECT category, SUM(quantity) FROM article JOIN purchase ON nr = product_id GROUP BY category",
            "per_shelf": "SELECT place, SUM(amount) FROM article GROUP BY place",
            "shelf_of": "SELECT title, place FROM article WHERE amount > 20",
        },
    ),
    Migration(
        "move_a_column_to_a_table_that_was_there",
        [
            "ALTER TABLE stock ADD COLUMN category TEXT",
            "UPDATE stock SET category = (SELECT category FROM product WHERE product.product_id = stock.product_id)",
            "ALTER TABLE product DROP COLUMN category",
        ],
        {
            "units": "SELECT category, SUM(quantity) FROM stock JOIN purchase USING (product_id) GROUP BY category",
        },
    ),
    Migration(
        "move_a_column_to_a_new_table",
        [
            "CREATE TABLE code AS SELECT customer_id, cust_cd FROM customer",
            "ALTER TABLE customer DROP COLUMN cust_cd",
        ],
        {"codes": "SELECT code.cust_cd FROM customer JOIN code USING (customer_id) WHERE birth_year > 1990"},
    ),
    Migration(
        "view_in_place_of_a_table",
        [
            "ALTER TABLE customer RENAME TO customer_rows",
            "CREATE VIEW customer AS SELECT * FROM customer_rows",
        ],
    ),
    Migration(
        "view_under_the_old_names",
        [
            "CREATE TABLE kunde AS SELECT customer_id AS k_nr, full_name AS k_name, city AS ort, birth_year AS jahr, "
            "cust_cd AS code FROM customer",
            "DROP TABLE customer",
            "CREATE VIEW customer AS SELECT k_nr AS customer_id, k_name AS full_name, ort AS city, "
            "jahr AS birth_year, code AS cust_cd FROM kunde",
        ],
    ),
    Migration(
        "columns_in_another_order",
        [
            "CREATE TABLE c2 AS SELECT cust_cd, city, birth_year, full_name, customer_id FROM customer",
            "DROP TABLE customer",
            "ALTER TABLE c2 RENAME TO customer",
        ],
    ),
    Migration(
        "case_of_names_changed",
        [
            "ALTER TABLE customer RENAME TO tmp",
            "ALTER TABLE tmp RENAME TO CUSTOMER",
            "ALTER TABLE CUSTOMER RENAME COLUMN city TO tmp",
            "ALTER TABLE CUSTOMER RENAME COLUMN tmp TO City",
        ],
    ),
]

VALUES = [
    Migration(
        "codes_for_words",
        ["UPDATE purchase SET status = CASE status WHEN 'open' THEN 'O' WHEN 'paid' THEN 'P' ELSE 'V' END"],
        {},
        {"open": "values_recoded"},
    ),
    Migration("case_of_values", ["UPDATE customer SET city = upper(city)"], {}, {"in_paris": "values_recoded"}),
    Migration("another_unit", ["UPDATE product SET price = price * 1000"], {}, {"dear": "values_recoded"}),
    Migration(
        "numbers_for_words",
        [
            "CREATE TABLE p2 AS SELECT purchase_id, customer_id, product_id, quantity, day, "
            "CASE status WHEN 'open' THEN 1 WHEN 'paid' THEN 2 ELSE 3 END AS status FROM purchase",
            "DROP TABLE purchase",
            "ALTER TABLE p2 RENAME TO purchase",
        ],
        {},
        {"open": "values_recoded"},
    ),
    Migration(
        "keys_numbered_anew_on_both_sides",
        [
            "UPDATE purchase SET customer_id = customer_id + 5000",
            "UPDATE customer SET customer_id = customer_id + 5000",
        ],
    ),
    Migration(
        "keys_numbered_anew_on_one_side",
        ["UPDATE staff SET boss_id = boss_id + 5000"],
        {},
        {"bosses": "empty"},
    ),
    Migration(
        "a_column_emptied",
        ["UPDATE product SET category = NULL"],
        {},
        {"units": "column_emptied"},
    ),
    Migration(
        "backup_and_new_prices",
        [
            "ALTER TABLE product ADD COLUMN price_before REAL",
            "UPDATE product SET price_before = price",
            "UPDATE product SET price = price * 1.5",
        ],
        {},
        {"dear": "column_gone"},
    ),
]

MIGRATIONS = [*RENAMES, *SWAPS, *LOSSES, *ADDITIONS, *TYPES, *SHAPES, *VALUES]
