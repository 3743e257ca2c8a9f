"""Tables and columns that are called otherwise, and names that have gone to something else."""

from __future__ import annotations

from migration.scripted.migration import CLIENT, OPEN, SHELF, Migration, all_broken

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
