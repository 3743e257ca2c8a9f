"""What a school's people have asked of the database of `making.make_school`, with values that must not be told."""

from __future__ import annotations

SECRETS = ("Zq7f03a91", "Zq5511cc0", "Zq90210ee", "4711980211", "Zq0000b0b")

LOG = f"""2024-01-01 08:00:01 LOG: SELECT name FROM school WHERE city = '{SECRETS[0]}'
2024-01-01 08:00:02 LOG: SELECT name FROM school WHERE city = 'Oslo'
2024-01-01 08:00:03 LOG: SELECT name FROM school WHERE city = 'Lyon'
SELECT COUNT(*) FROM teacher WHERE subject = '{SECRETS[1]}' AND salary > {SECRETS[3]};
SELECT subject, AVG(salary) FROM teacher GROUP BY subject;
SELECT t.name, s.city FROM teacher t JOIN school s ON t.school_id = s.school_id WHERE t.salary < 3000 ORDER BY t.name;
SELECT city FROM school WHERE school_id NOT IN (SELECT school_id FROM teacher WHERE subject LIKE '%{SECRETS[2]}%');
SELECT s.name, COUNT(*) FROM teacher t JOIN school s ON t.school_id = s.school_id
GROUP BY s.school_id HAVING COUNT(*) > 2;
SELECT name FROM teacher ORDER BY salary DESC LIMIT 3;
SELECT room, COUNT(*) FROM lesson WHERE pupils BETWEEN 10 AND 40 GROUP BY room;
SELECT day FROM lesson WHERE pupils > 60 UNION SELECT day FROM lesson WHERE pupils < 20;
SELECT name FROM teacher WHERE salary > (SELECT AVG(salary) FROM teacher);
WITH big AS (SELECT school_id, COUNT(*) AS n FROM teacher GROUP BY school_id) SELECT MAX(n) FROM big;
SELECT '{SECRETS[4]}' || name FROM teacher;
DELETE FROM teacher WHERE name = '{SECRETS[0]}';
SELECT nothing FROM nowhere;
"""
