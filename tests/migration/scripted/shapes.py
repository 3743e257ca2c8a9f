"""Tables that were split, merged, or became views."""

from __future__ import annotations

from migration.scripted.migration import SHELF, Migration

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
