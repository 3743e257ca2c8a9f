"""Tables, columns and rows that are gone, and those that are new."""

from __future__ import annotations

from migration.scripted.migration import PRODUCT, Migration, all_broken

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
