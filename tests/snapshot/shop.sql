CREATE TYPE mood AS ENUM ('glad', 'sad');
CREATE DOMAIN email AS text CHECK (VALUE LIKE '%@%');
CREATE TABLE customer (
    id bigint PRIMARY KEY,
    name varchar(40) NOT NULL,
    mail email UNIQUE,
    code char(5),
    mood mood,
    born date,
    seen timestamptz,
    wakes time,
    balance numeric(10, 2),
    rate numeric,
    huge numeric,
    ratio double precision,
    vip boolean,
    tags text[],
    about jsonb,
    token uuid,
    photo bytea,
    price money
);
COMMENT ON TABLE customer IS 'Who has bought something.';
COMMENT ON COLUMN customer.code IS 'The branch''s code';
COMMENT ON COLUMN customer.photo IS 'A picture';
INSERT INTO customer VALUES
    (1, 'Ana', 'ana@x', 'ab', 'glad', '1990-02-03', '2024-01-01 12:00+02', '07:30', 12.50, 0.125, 1e60, 'NaN', true,
     '{a,"b c"}', '{"k": [1, 2]}', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '\xdead', 3.5),
    (2, E'quote " comma , line\nbreak', NULL, '', NULL, NULL, NULL, NULL, -0.01, 12, 1, 1e300, false,
     NULL, NULL, NULL, NULL, NULL),
    (3, '', 'c@x', NULL, 'sad', '2000-12-31', '1999-12-31 23:59:59.123456Z', '23:59:59', NULL, NULL, NULL, NULL, NULL,
     '{}', '[]', NULL, NULL, 0);
CREATE TABLE staff (id int PRIMARY KEY, boss int REFERENCES staff, leads int);
CREATE TABLE team (id int PRIMARY KEY, head int REFERENCES staff);
ALTER TABLE staff ADD CONSTRAINT led FOREIGN KEY (leads) REFERENCES team (id);
INSERT INTO staff VALUES (2, NULL, NULL), (1, 2, NULL), (3, 1, NULL);
INSERT INTO team VALUES (7, 1);
UPDATE staff SET leads = 7 WHERE id = 1;
CREATE TABLE sale (
    year int, number int, customer_id bigint NOT NULL REFERENCES customer (id), customer_mail email REFERENCES customer (mail),
    day date NOT NULL, PRIMARY KEY (year, number)
);
INSERT INTO sale SELECT 2020 + n % 3, n, 1 + n % 3, NULL, DATE '2020-01-01' + n FROM generate_series(1, 2000) n;
CREATE TABLE shelf (id numeric PRIMARY KEY);
CREATE TABLE box (id int PRIMARY KEY, shelf numeric REFERENCES shelf, customer int REFERENCES customer (id));
INSERT INTO shelf VALUES (1), (12345);
INSERT INTO box VALUES (1, 1, 2), (2, NULL, 3);
CREATE TABLE line (
    year int, number int, place int, PRIMARY KEY (year, number, place), FOREIGN KEY (year, number) REFERENCES sale
);
INSERT INTO line SELECT year, number, 1 FROM sale;
CREATE TABLE visit (id int, day date) PARTITION BY RANGE (day);
CREATE TABLE visit_2024 PARTITION OF visit FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE TABLE visit_2025 PARTITION OF visit FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
INSERT INTO visit VALUES (1, '2024-05-01'), (2, '2025-05-01');
CREATE TABLE place (id int PRIMARY KEY);
CREATE TABLE city (people int) INHERITS (place);
INSERT INTO place VALUES (1);
INSERT INTO city VALUES (2, 100);
CREATE TABLE "Odd "" name" ("a ""b" int, "A ""B" int, "%s {}" text);
INSERT INTO "Odd "" name" VALUES (1, 2, 'x');
CREATE VIEW best AS SELECT name FROM customer WHERE vip;
CREATE SCHEMA stock;
CREATE TABLE stock.item (id int PRIMARY KEY, owner bigint REFERENCES public.customer);
CREATE TABLE stock.part (id int, item int REFERENCES stock.item);
CREATE TABLE stock.visit (id int);
INSERT INTO stock.item VALUES (5, 1);
INSERT INTO stock.part VALUES (1, 5), (2, 5);
CREATE TABLE late (day date, moment timestamp, at timestamptz);
INSERT INTO late VALUES
    ('0044-03-15 BC', '0044-03-15 10:00:00.5 BC', '0044-03-15 10:00:00+01 BC'), ('infinity', NULL, '2024-01-01Z');
CREATE TABLE odd (id int, part numeric(3, 2));
INSERT INTO odd VALUES (1, 'NaN');
CREATE TABLE word (said text);
INSERT INTO word VALUES (NULL), (''), (E'\n'), ('\.'), ('"'), (NULL), (',');
CREATE TABLE bytes (raw bytea);
CREATE VIEW broken AS SELECT 1 / (SELECT COUNT(*) - COUNT(*) FROM place) AS x;
