"""The columns that hold the values of a question, as a line of its prompt: `airports( AirportName = 'Alton')`.

A model that is shown a schema without values cannot know that Alton is the name of an airport. So before a question is
asked, its words are matched with the values of the database, without a model (BRIDGE, 2012.12627; CodeS, 2402.16347).
It is a hint: a word may be a value and not be meant as one, and what is paraphrased is not found. To name the columns
whose words are said, too, was tried: more queries run, and no more are right (docs/experiments.md, E12).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from agro_data.databases.quoting import literal
from agro_data.profiling.serialising.linking import Links, Name
from agro_data.profiling.serialising.texts import LONGEST
from agro_data.sql.identifiers import spelled

_MOST = 12  # columns


def said_values(links: Links, shown: Collection[Name]) -> str:
    """The `shown` columns that hold a value of the question, by table, the most wanted first, each with the values as
    they are stored. "" where there is none.
    """
    tables: dict[str, list[str]] = defaultdict(list)
    for name in [name for name in links.ranked if name in shown and name in links.values][:_MOST]:
        if sayable := [value for value in links.values[name] if len(value) <= LONGEST and value.isprintable()]:
            tables[name[0]].append(f"{spelled(name[1])} = {' or '.join(map(literal, sayable))}")
    return ", ".join(f"{spelled(table)}( {', '.join(columns)})" for table, columns in tables.items())
