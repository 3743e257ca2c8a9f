"""A model that writes about the school of `making`: what it says follows from the text and the seed that it is sent."""

from __future__ import annotations

import json

from recording import RecordingModel

from agro_data.diversity.normal_forms import literals
from agro_data.hashing import seed_of

# What the model writes: some that an intent says, some that none does, some that the gate refuses.
QUERIES = (
    "SELECT name FROM school WHERE city = 'Oslo'",
    "SELECT AVG(salary) FROM teacher WHERE subject = 'Physics'",
    "SELECT subject, COUNT(*) FROM teacher GROUP BY subject HAVING COUNT(*) > 2",
    "SELECT name FROM teacher ORDER BY salary DESC LIMIT {n}",
    "SELECT COUNT(*) FROM lesson WHERE pupils > {n}0",
    "SELECT COUNT(*) FROM lesson WHERE pupils < {n}5",
    "WITH per AS (SELECT school_id, COUNT(*) AS n FROM teacher GROUP BY school_id)"
    " SELECT s.name FROM school s JOIN per ON per.school_id = s.school_id WHERE per.n > 4",
    "SELECT name, CASE WHEN salary > {n}000 THEN 'high' ELSE 'low' END AS band FROM teacher WHERE subject = 'Music'",
    "SELECT s.city, MAX(t.salary) - MIN(t.salary) FROM school s JOIN teacher t ON t.school_id = s.school_id"
    " GROUP BY s.city",
    "SELECT wages FROM teacher",
    "DROP TABLE teacher",
)  # fmt: skip


class Model(RecordingModel):
    """Answers by the text that it is sent; `said` keeps that text."""

    def answer(self, text: str, seed: int) -> str:
        drawn = seed_of(text, seed)
        if "What it means:" in text:
            sql = text.partition("Query:\n")[2].partition("\n\nWhat it means")[0]
            word = "".join(chr(97 + int(digit)) for digit in str(drawn % 10**6))
            values = " and ".join(literals(sql)) or "nothing"
            return json.dumps({"question": f"What does number {word} stand for with {values}?", "evidence": None})
        if drawn % 9 == 0:
            return "I would rather not."
        return f"```sql\n{QUERIES[drawn % len(QUERIES)].format(n=1 + drawn // 100 % 4)}\n```"

    @property
    def asked(self) -> list[str]:
        """What it was asked, apart from the words that find out how it can be asked."""
        return [text for text in self.said if "Database:" in text]
