"""Pairs on the market that have a fault, by its class, each with one like it that has not."""

from __future__ import annotations

# class, faulty pair, sound twin
CASES: list[tuple[str, tuple[str, str], tuple[str, str]]] = [
    ("syntax", ("Names?", "SELECT name FROM WHERE"), ("Names?", "SELECT name FROM stall")),
    ("not_a_query", ("Names?", "DELETE FROM stall"), ("Names?", "SELECT name FROM stall")),
    ("not_a_query", ("Names?", "SELECT name FROM stall; SELECT 1"), ("Names?", "SELECT name FROM stall;")),
    ("unknown_name", ("Names?", "SELECT nane FROM stall"), ("Names?", "SELECT NAME FROM STALL")),
    ("unknown_name", ("Names?", "SELECT name FROM stalls"), ("Names?", "SELECT name FROM stall")),
    ("does_not_run", ("Names?", "SELECT no_such(name) FROM stall"), ("Names?", "SELECT upper(name) FROM stall")),
    ("reads_clock", ("Today?", "SELECT date('now'), name FROM stall"), ("Days?", "SELECT date(day) FROM sale")),
    (
        "empty",
        ("Stalls opened before 1900?", "SELECT name FROM stall WHERE opened < 1900"),
        ("Stalls opened before 2000?", "SELECT name FROM stall WHERE opened < 2000"),
    ),
    ("null_only", ("Notes?", "SELECT note FROM sale"), ("Days?", "SELECT day FROM sale")),
    (
        "zero",
        ("How many sales above 500?", "SELECT count(*) FROM sale WHERE amount > 500"),
        ("How many sales above 8?", "SELECT count(*) FROM sale WHERE amount > 8"),
    ),
    (
        "tie_at_limit",
        ("The largest sale's day?", "SELECT sale_id FROM sale ORDER BY amount DESC LIMIT 1"),
        ("The smallest sale's day?", "SELECT sale_id FROM sale ORDER BY amount LIMIT 1"),
    ),
    (
        "tie_in_order",
        ("Stalls by opening year?", "SELECT name FROM stall ORDER BY opened"),
        ("Stalls by name?", "SELECT name FROM stall ORDER BY name"),
    ),
    (
        "tie_in_order",  # what is beyond the LIMIT is in no answer
        ("Stalls by opening year, three?", "SELECT name FROM stall ORDER BY opened LIMIT 3"),
        ("The two smallest sales?", "SELECT sale_id FROM sale ORDER BY amount LIMIT 2"),
    ),
    (
        "unordered_limit",
        ("Three stalls?", "SELECT name FROM stall LIMIT 3"),
        ("Three stalls by name?", "SELECT name FROM stall ORDER BY name LIMIT 3"),
    ),
    (
        "bare_column",
        ("Days by stall?", "SELECT stall_id, day, count(*) FROM sale GROUP BY stall_id"),
        ("Days by stall?", "SELECT stall_id, max(day), count(*) FROM sale GROUP BY stall_id"),
    ),
    (
        "bare_extreme",
        ("Last day of each stall?", "SELECT stall_id, amount, max(day) FROM sale GROUP BY stall_id"),
        ("Last day of each stall?", "SELECT stall_id, max(day) FROM sale GROUP BY stall_id"),
    ),
    (
        "unlinked_join",
        ("Sales with stalls?", "SELECT T1.name, T2.day FROM stall AS T1 JOIN sale AS T2"),
        ("Sales with stalls?", "SELECT T1.name, T2.day FROM stall AS T1, sale AS T2 WHERE T1.stall_id = T2.stall_id"),
    ),
    (
        "join_without_key",
        ("Sales of stalls?", "SELECT T1.name, T2.day FROM stall AS T1 JOIN sale AS T2 ON T1.stall_id = T2.sale_id"),
        ("Sales of stalls?", "SELECT T1.name, T2.day FROM stall AS T1 JOIN sale AS T2 ON T1.stall_id = T2.stall_id"),
    ),
    (
        "useless_distinct",
        ("Not sold?", "SELECT stall_id FROM stall EXCEPT SELECT DISTINCT stall_id FROM sale"),
        ("Not sold?", "SELECT stall_id FROM stall EXCEPT SELECT stall_id FROM sale"),
    ),
    (
        "useless_join",
        ("Amounts?", "SELECT T1.amount FROM sale AS T1 JOIN stall AS T2 ON T1.stall_id = T2.stall_id"),
        ("Amounts?", "SELECT T1.amount, T2.name FROM sale AS T1 JOIN stall AS T2 ON T1.stall_id = T2.stall_id"),
    ),
    (
        "useless_predicate",
        ("Which stalls?", "SELECT name FROM stall WHERE stall_id IS NOT NULL"),
        ("Which stalls?", "SELECT name FROM stall WHERE opened > 2000 OR town = 'York'"),
    ),
    (
        "untested_distinct",
        ("Which names?", "SELECT DISTINCT name FROM stall"),
        ("Which stalls sold?", "SELECT DISTINCT stall_id FROM sale"),
    ),
    (
        "untested_predicate",
        ("Towns of Okafor in Leeds?", "SELECT town FROM stall WHERE name = 'Okafor' AND town = 'Leeds'"),
        ("Town of Okafor?", "SELECT town FROM stall WHERE name = 'Okafor'"),
    ),
    (
        "untested_join",
        ("Which of the first two?", "SELECT DISTINCT T2.name FROM sale AS T1 JOIN stall AS T2 "
         "ON T1.stall_id = T2.stall_id WHERE T2.opened < 2002"),
        ("Towns?", "SELECT DISTINCT T2.town FROM sale AS T1 JOIN stall AS T2 ON T1.stall_id = T2.stall_id"),
    ),
    (
        "literal_other_case",
        ("Stalls in hull?", "SELECT name FROM stall WHERE town = 'hull' OR town = 'York'"),
        ("Stalls in Hull?", "SELECT name FROM stall WHERE town = 'Hull' OR town = 'York'"),
    ),
    (
        "literal_misspelt",
        ("Town of Pearsen or Novak?", "SELECT town FROM stall WHERE name IN ('Pearsen', 'Novak')"),
        ("Town of Pearson or Novak?", "SELECT town FROM stall WHERE name IN ('Pearson', 'Novak')"),
    ),
    (
        "literal_absent",
        ("Town of Quimby or Novak?", "SELECT town FROM stall WHERE name IN ('Quimby', 'Novak')"),
        ("Town of Daan or Novak?", "SELECT town FROM stall WHERE name IN ('Daan', 'Novak')"),
    ),
    (
        "value_differs",
        ("Which town is Dean in?", "SELECT town FROM stall WHERE name = 'Daan'"),
        ("Which town is Daan in?", "SELECT town FROM stall WHERE name = 'Daan'"),
    ),
    (
        "value_differs",  # a slip in the last letter, which is no ending of a name in capitals
        ("Which town is PEARSO in?", "SELECT town FROM stall WHERE upper(name) = 'PEARSON'"),
        ("Which towns are the PEARSONS in?", "SELECT town FROM stall WHERE upper(name) = 'PEARSON'"),
    ),
    (
        "number_differs",
        ("Stalls opened after 2004?", "SELECT name FROM stall WHERE opened > 2000"),
        ("Stalls opened after 2000?", "SELECT name FROM stall WHERE opened > 2000"),
    ),
    (
        "bound_differs",
        ("Stalls opened in 2001 or later, at least 2001?", "SELECT name FROM stall WHERE opened > 2001"),
        ("Stalls opened in 2001 or later, at least 2001?", "SELECT name FROM stall WHERE opened >= 2001"),
    ),
    (
        "number_not_used",
        ("Sales of 3 weeks?", "SELECT amount FROM sale WHERE day > date('2020-01-09', '-8 days')"),
        ("Sales of 3 weeks?", "SELECT amount FROM sale WHERE day > date('2020-01-09', '-21 days')"),
    ),
    (
        "number_not_used",
        ("Stalls with 17 chairs?", "SELECT name FROM stall"),
        ("Stalls opened from 2001?", "SELECT name FROM stall WHERE opened > 2000"),
    ),
    (
        "number_not_asked",
        ("Which stalls?", "SELECT name FROM stall WHERE opened > 2000"),
        ("Which stalls opened after two thousand?", "SELECT name FROM stall WHERE opened > 2000"),
    ),
    (
        "value_not_used",
        ('Stalls in "Bradford"?', "SELECT name FROM stall"),
        ('Stalls in "York"?', "SELECT name FROM stall WHERE town = 'York'"),
    ),
    (
        "value_as_code",
        ("Stalls of 'northern kind'?", "SELECT name FROM stall WHERE town = 'York'"),
        ("Stalls of 'york' kind?", "SELECT name FROM stall WHERE town = 'York'"),
    ),
    (
        "value_not_asked",
        ("Which stalls?", "SELECT name FROM stall WHERE town = 'York'"),
        ("Which stalls in York?", "SELECT name FROM stall WHERE town = 'York'"),
    ),
    *(
        (
            "value_not_asked",
            ("Which stalls?", f"SELECT name FROM stall WHERE town <> '{value}'"),
            (f"Which {said} stalls?", f"SELECT name FROM stall WHERE town <> '{value}'"),
        )
        for said, value in [("Canadian", "Canada"), ("US", "United States"), ("French", "France")]
    ),
    (
        "value_not_asked",  # a code stands for words of any kind
        ("Which stalls that are open?", "SELECT name FROM stall WHERE town <> 'open_now' AND town <> 'Leeds'"),
        ("Which kitten stalls?", "SELECT name FROM stall WHERE town <> 'cat'"),
    ),
    (
        "value_not_asked",
        ("Sales of May?", "SELECT amount FROM sale WHERE note IS NULL AND day <> 'Friday'"),
        ("Sales but on the day before Saturday?", "SELECT amount FROM sale WHERE note IS NULL AND day <> 'Friday'"),
    ),
    (
        "limit_not_asked",
        ("The first names?", "SELECT name FROM stall ORDER BY name LIMIT 3"),
        ("The first three names?", "SELECT name FROM stall ORDER BY name LIMIT 3"),
    ),
    (
        "order_reversed",
        ("Names in descending order?", "SELECT name FROM stall ORDER BY name"),
        ("Names in ascending order?", "SELECT name FROM stall ORDER BY name"),
    ),
    (
        "extreme_reversed",
        ("The sale of the lowest amount?", "SELECT day FROM sale ORDER BY amount DESC LIMIT 1"),
        ("The sale of the lowest amount?", "SELECT day FROM sale ORDER BY amount LIMIT 1"),
    ),
    (
        "extreme_reversed",  # what comes after the first key settles ties
        ("The sale of the lowest amount?", "SELECT day FROM sale ORDER BY amount DESC, day LIMIT 1"),
        ("The sale of the lowest amount?", "SELECT day FROM sale ORDER BY amount, day DESC LIMIT 1"),
    ),
    (
        "extreme_reversed",
        ("The oldest?", "SELECT name FROM (SELECT name, 2020 - opened AS age FROM stall) ORDER BY age, name LIMIT 1"),
        ("The oldest?", "SELECT name FROM stall ORDER BY opened, name LIMIT 1"),
    ),
    (
        "extreme_reversed",
        ("First name of the stall with the most sales?",
         "SELECT name FROM stall JOIN sale USING (stall_id) GROUP BY stall_id, name ORDER BY count(*), name LIMIT 1"),
        ("Stall with sales of at most 9?",
         "SELECT name FROM stall JOIN sale USING (stall_id) GROUP BY stall_id, name ORDER BY count(*), name LIMIT 1"),
    ),
    (
        "extreme_reversed",  # what is left out is not asked for
        ("Which sale is the largest?", "SELECT sale_id FROM sale ORDER BY amount, sale_id LIMIT 1"),
        ("Three sales, but the largest, by amount?", "SELECT sale_id FROM sale ORDER BY amount, sale_id LIMIT 3"),
    ),
    (
        "extreme_reversed",
        ("Which is the most popular stall?",
         "SELECT stall_id FROM sale GROUP BY stall_id ORDER BY count(*), stall_id LIMIT 1"),
        ("Which stall isn't among the most popular?",
         "SELECT stall_id FROM sale GROUP BY stall_id ORDER BY count(*), stall_id LIMIT 1"),
    ),
    (
        "extreme_reversed",
        ("Which stall has the most sales?",
         "SELECT stall_id FROM sale GROUP BY stall_id ORDER BY count(*), stall_id LIMIT 1"),
        ("Which stall is the most distant from the best sellers?",
         "SELECT stall_id FROM sale GROUP BY stall_id ORDER BY count(*), stall_id LIMIT 1"),
    ),
    (
        "extreme_reversed",
        ("The top two stalls by sales?",
         "SELECT stall_id, sum(amount) AS total FROM sale GROUP BY stall_id ORDER BY total, stall_id LIMIT 2"),
        ("The top 3 cheapest stalls?",
         "SELECT stall_id, sum(amount) AS total FROM sale GROUP BY stall_id ORDER BY total, stall_id LIMIT 3"),
    ),
    (
        "extreme_reversed",
        ("Who made the largest sale?",
         "SELECT name FROM stall WHERE stall_id = (SELECT stall_id FROM sale ORDER BY amount, sale_id LIMIT 1)"),
        ("Who made the smallest sale?",
         "SELECT name FROM stall WHERE stall_id = (SELECT stall_id FROM sale ORDER BY amount, sale_id LIMIT 1)"),
    ),
    (
        "extreme_reversed",
        ("What is the smallest amount?", "SELECT max(amount) FROM sale"),
        ("What is the smallest amount?", "SELECT min(amount) FROM sale"),
    ),
    (
        "extreme_reversed",
        ("The day of the largest sale?", "SELECT day FROM sale WHERE amount = (SELECT min(amount) FROM sale)"),
        ("Which day has the largest number?", "SELECT min(day_rank) FROM (SELECT sale_id AS day_rank FROM sale)"),
    ),
    (
        "extreme_reversed",
        ("The minimum?", "SELECT max(amount) FROM sale"),
        ("The minimum of the maximum?", "SELECT max(top) FROM (SELECT amount AS top FROM sale)"),
    ),
    (
        "extreme_reversed",
        ("On which day was the earliest sale?", "SELECT max(day) FROM sale"),
        ("On which day was the earliest sale?", "SELECT min(day) FROM sale"),
    ),
    (
        "extreme_reversed",
        ("What is the amount of the most recent sale?", "SELECT amount FROM sale ORDER BY day, sale_id LIMIT 1"),
        ("What is the amount of the most recent sale?", "SELECT amount FROM sale ORDER BY day DESC, sale_id LIMIT 1"),
    ),
    (
        "extreme_reversed",
        ("When was the first sale?", "SELECT max(day) FROM sale"),
        ("When was the first name sold?", "SELECT max(day) FROM sale"),
    ),
    (
        "extreme_reversed",  # of days of birth the oldest has the least
        ("Which is the oldest sale?", "SELECT sale_id FROM sale ORDER BY day DESC, sale_id LIMIT 1"),
        ("Which is the oldest sale?", "SELECT sale_id FROM sale ORDER BY day, sale_id LIMIT 1"),
    ),
    (
        "extreme_reversed",  # both ends are said
        ("When was the newest sale?", "SELECT min(day) FROM sale"),
        ("When was the last sale of the oldest stall?", "SELECT max(day) FROM sale"),
    ),
    (
        "extreme_reversed",
        ("What is the day of the latest sale?", "SELECT min(day) FROM sale"),
        ("What is the earliest day by which all sales were made?", "SELECT max(day) FROM sale"),
    ),
    (
        "average_missing",
        ("What is the average amount?", "SELECT amount FROM sale"),
        ("What is the average amount?", "SELECT avg(amount) FROM sale"),
    ),
    (
        "total_missing",
        ("What is the total amount of all sales?", "SELECT avg(amount) FROM sale"),
        ("What is the total amount of all sales?", "SELECT sum(amount) FROM sale"),
    ),
    (
        "total_missing",
        ("For each stall, the total of all sale amounts?", "SELECT stall_id, avg(amount) FROM sale GROUP BY stall_id"),
        ("For each stall show the average total amount.", "SELECT stall_id, avg(amount) FROM sale GROUP BY stall_id"),
    ),
    (
        "total_missing",
        ("How much do all sales of stall 1 bring in total?", "SELECT avg(amount) FROM sale WHERE stall_id = 1"),
        ("How many sales are there in total, and what do they bring?", "SELECT COUNT(*), avg(amount) FROM sale"),
    ),
    (
        "total_missing",  # another total
        ("Which stalls have a total sale amount over 5?",
         "SELECT stall_id FROM sale GROUP BY stall_id HAVING avg(amount) > 5"),
        ("What is the total number of stalls, and what amount do they take?",
         "SELECT avg(amount) FROM sale"),
    ),
    (
        "total_missing",
        ("How many sales are there, and what is the combined amount?", "SELECT COUNT(*), avg(amount) FROM sale"),
        ("What is the combined amount?", "SELECT avg(amount) * count(amount) FROM sale"),
    ),
    (
        "count_missing",
        ("How many stalls are there?", "SELECT name FROM stall"),
        ("How many stalls are there?", "SELECT count(*) FROM stall"),
    ),
    (
        "groups_counted",
        ("How many stalls have more than one sale?", "SELECT count(*) FROM sale GROUP BY stall_id HAVING count(*) > 1"),
        (
            "How many sales has each stall with more than one?",
            "SELECT count(*) FROM sale GROUP BY stall_id HAVING count(*) > 1",
        ),
    ),
    (
        "count_not_asked",
        ("What are the towns?", "SELECT count(DISTINCT town) FROM stall"),
        ("How many towns?", "SELECT count(DISTINCT town) FROM stall"),
    ),
    (
        "integer_division",
        ("What share of sales is of stall 1?", "SELECT SUM(stall_id = 1) / COUNT(*) FROM sale"),
        ("What share of sales is of stall 1?", "SELECT SUM(stall_id = 1) * 1.0 / COUNT(*) FROM sale"),
    ),
    (
        "integer_division",
        ("Sales per stall?", "SELECT (SELECT COUNT(*) FROM sale) / COUNT(*) FROM stall"),
        ("Amount per sale?", "SELECT SUM(amount) / COUNT(*) FROM sale"),  # of reals
    ),
    (
        "integer_division",
        ("Sales per stall?", "SELECT COUNT(*) / COUNT(DISTINCT stall_id) * 100 FROM sale"),
        ("Decades?", "SELECT DISTINCT opened / 10 * 10, CAST(opened / stall_id AS INTEGER) FROM stall"),
    ),
    (
        "extreme_missing",
        ("Which stall is the oldest?", "SELECT name FROM stall"),
        ("Which stall is the oldest?", "SELECT name FROM stall ORDER BY opened LIMIT 1"),
    ),
    (
        "extreme_missing",
        ("What are the amounts above the maximum?", "SELECT amount FROM sale"),
        ("What are the maximum amounts?", "SELECT max_amount FROM (SELECT amount AS max_amount FROM sale)"),
    ),
    (
        "negation_missing",
        ("Which towns have a stall, without York?", "SELECT DISTINCT town FROM stall"),
        ("Which towns have a stall, without repeats?", "SELECT DISTINCT town FROM stall"),
    ),
    (
        "negation_missing",
        ("Which stalls are not in York?", "SELECT name FROM stall WHERE town = 'York'"),
        ("Which stalls are not in York?", "SELECT name FROM stall WHERE town <> 'York'"),
    ),
    (
        "negation_missing",
        ("Which stalls have never sold?", "SELECT name FROM stall JOIN sale USING (stall_id)"),
        ("Which stalls have never sold?", "SELECT name FROM stall LEFT JOIN sale USING (stall_id) GROUP BY name"),
    ),
    (
        "negation_missing",
        ("Which stalls are without a town?", "SELECT name FROM stall"),
        ("Which stall is called Without?", "SELECT name FROM stall WHERE name = 'Without'"),
    ),
    (
        "negation_missing",
        ("Which stalls haven't sold?", "SELECT name FROM stall NATURAL JOIN sale"),
        ("Stalls with sales? Ignore those who haven't any.", "SELECT DISTINCT name FROM stall NATURAL JOIN sale"),
    ),
    (
        "negation_missing",
        ("How many are not in York?", "SELECT count(*) FROM stall"),
        ("How many are in York and how many are not?", "SELECT town, count(*) FROM stall GROUP BY town"),
    ),
    (
        "extreme_missing",
        ("Which is the minimum amount?", "SELECT day FROM sale"),
        ("What are the maximum amounts of stalls?", "SELECT amount FROM sale"),
    ),
    (
        "value_left_out",
        ("Which stalls are in York or Leeds?", "SELECT name FROM stall WHERE town = 'York'"),
        ("Which stalls are in York or Leeds?", "SELECT name FROM stall WHERE town IN ('York', 'Leeds')"),
    ),
    (
        "value_left_out",
        ("Which stalls of York or Hull?", 'SELECT name FROM stall WHERE town = "York"'),
        ("Which stall of York, Leeds' rival?", "SELECT name FROM stall WHERE town = 'York' AND name <> 'Leeds'"),
    ),
]  # fmt: skip
