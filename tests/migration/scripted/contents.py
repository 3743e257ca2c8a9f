"""Types, keys and values that have changed where they stand."""

from __future__ import annotations

from migration.scripted.migration import Migration, all_broken

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
