"""How often people word things in which way: every rate in one place.

The figures lean on 5,110 questions that people asked of 107 databases (the training part of Spider): 36 % open with
"what is" or "what are", 16 % with "find", 11 % with "how many", 10 % with "show", 7 % with "list", 4 % with "return",
2 % each with "count" and "give", 2 % with "for each"; half of them end in a question mark. Weights are relative to
the others of their table.
"""

from __future__ import annotations

from collections.abc import Mapping

Weights = Mapping[str, float]

# How a style asks. "direct": a question of its own ("how many singers ...", "which country ..."); where the content
# has none, "what". "what": "what are the names ...". "told": a command. "bare": the phrase alone.
FORMS: dict[str, Weights] = {
    "interrogative": {"direct": 70, "what": 30},
    "imperative": {"told": 100},
    "formal": {"direct": 20, "told": 45, "what": 35},
    "colloquial": {"direct": 75, "what": 5, "told": 20},
    "concise": {"direct": 45, "told": 53, "bare": 2},
    "descriptive": {"direct": 25, "told": 37, "what": 38},
}

_PLAIN = {"Find": 40, "Show": 24, "List": 20, "Return": 10, "Give": 4, "Give me": 2}
COMMANDS: dict[str, Weights] = {
    "interrogative": _PLAIN,
    "imperative": _PLAIN,
    "formal": {"Return": 40, "Find": 25, "List": 15, "Please show": 8, "Give": 6, "Report": 2, "Please list": 2,
               "Please find": 2},
    "colloquial": {"Find": 30, "Show": 20, "Give me": 25, "Tell me": 10, "Show me": 10, "Find me": 5},
    "concise": {"Show": 45, "Find": 25, "List": 30},
    "descriptive": {**_PLAIN, "Find out": 4},
}  # fmt: skip
# What a direct question leaves to be named: "Which singers ...? Give me their names."
NAMING: Weights = {"List": 35, "Give me": 30, "Return": 13, "Show": 10, "Find": 8, "Give": 4}

COUNTED = 0.3  # a command for a number says "count the singers"
ALL_COMMAND = 0.20  # "show all names of singers"
ARTICLE_DROPPED = 0.4  # a concise command says "show names"
TAIL_COMMA = 0.25  # a comma before "sorted by age"
NUMBER_WORD = 0.5  # "three", not "3"

# Columns of rows: "the names of all singers", "the name of singers", ...
LISTED_ALL: Weights = {
    "many": 46,
    "all": 14,
    "all the": 12,
    "singular": 5,
    "singular all": 5,
    "each": 4,
    "for all": 7,
    "for all the": 3,
}
LISTED_SOME: Weights = {"many": 30, "the": 32, "all": 12, "all the": 8, "singular": 7, "singular the": 6, "each": 1,
                        "for": 2, "for the": 2}  # fmt: skip

# Bounds of a number.
BOUNDS: dict[str, Weights] = {
    ">": {"more than": 34, "greater than": 18, "above": 16, "higher than": 14, "larger than": 10, "over": 8},
    "<": {"less than": 36, "below": 22, "lower than": 16, "smaller than": 14, "under": 12},
    ">=": {"at least": 90, "greater than or equal to": 10},
    "<=": {"at most": 90, "less than or equal to": 10},
}
AVERAGE: Weights = {"average": 96, "mean": 4}
ENDS: dict[tuple[str, str], float] = {
    ("minimum", "maximum"): 60,
    ("lowest", "highest"): 25,
    ("smallest", "largest"): 15,
}
LARGEST: Weights = {"highest": 38, "largest": 40, "maximum": 15, "greatest": 7}
SMALLEST: Weights = {"lowest": 55, "smallest": 30, "minimum": 15}
MOST: Weights = {"most": 80, "largest number of": 10, "highest number of": 6, "greatest number of": 4}
FEWEST: Weights = {"fewest": 50, "least number of": 25, "smallest number of": 25}
LATEST: Weights = {"most recent": 60, "latest": 40}
DIFFERENT: Weights = {"different": 55, "distinct": 43, "unique": 2}
BARE_NAME = 0.8  # a proper name stands without quotation marks
BARE_NUMBER = 0.8  # so does a number that is stored as text
QUOTE_DOUBLE = 0.7

# Forms of one condition on a noun.
REDUCED: Weights = {"after": 80, "verb": 20}  # "older than 56", "that are older than 56"
# "own" is a verb of its own ("who live in Rome"), "verb" a mere "that have a price above 5".
CONDITION: Weights = {"with": 50, "own": 70, "verb": 38, "whose": 12}
PERSON_CONDITION: Weights = {"with": 36, "own": 110, "verb": 52, "whose": 12}
COUNTED_VERB = 0.65  # "how many bridges have a length above 5", else "how many bridges with a length above 5 are there"
ARTICLE_LEFT_OUT = 0.85  # "with price above 5", not "with a price above 5"
WITH_PATTERN = 0.3  # "with a name containing", else "whose name contains"
WITHOUT = 0.3  # "without any orders", else "that do not have any orders"
NONE: Weights = {"do not have any": 50, "do not have a": 8, "have no": 42}
NONE_OF: Weights = {"have no": 60, "do not have any": 40}
BUT_NOT: Weights = {"no": 70, "do not have any": 30}
SOME: Weights = {"plural": 45, "a": 15, "at least one": 30, "some": 10}

# Questions by those who do not speak as the schema does, and of what they could call otherwise, what they do.
OTHER_WORDS = 0.5
OTHER_WORD = 0.7

AVERAGE_ALONE = 0.5  # "above the average price", else "above the average price of all products"
SINGULAR_LIST = 0.2  # "the name and age of all singers", else "the names and ages"
COMPOUND = 0.6  # "the stadium name" beside columns of a concert, else "the name of its stadium"
# Columns of rows and of what they belong to, and columns of the latter alone.
BESIDE: Weights = {"together": 84, "of each": 10, "for each": 6}
ELSEWHERE: Weights = {"compound": 80, "of each": 12, "for each": 8}
CORRESPONDING: Weights = {"their": 75, "the corresponding": 20, "their corresponding": 5}
EACH: Weights = {"each": 95, "every": 5}
DIRECT_LIST = 0.4  # a direct style asks "which singers ...?" for a list
SUPERLATIVE: Weights = {"with": 74, "has": 26}  # "the singer with the most concerts", "the singer that has the most"
APPOSED = 0.65  # "of the club Alpha", else "of the club named Alpha"
BEFORE = 0.6  # "Private institutions", else "institutions with type Private"
OF_KIND = 0.5  # "of type X", not "with type X"

# Figures of each group. A form that does not fit a group gives way to "for".
GROUP_FIRST: Weights = {"different": 10, "plain": 12, "each with": 56, "lead": 22}
FIGURE_NAMED_FIRST = 0.4  # "the number of singers for each country", else "each country and the number of its singers"
FIGURE_FIRST: Weights = {"for": 38, "in": 42, "with": 9, "per": 5, "different": 6}
OF_ENTITY: Weights = {"of each": 28, "plural": 60, "lead": 12}
HAVE = 0.6  # "the number of players it has", else "the number of its players"
ARE_IN = 0.6  # "how many rooms are there in each building", else "how many rooms does each building have"
ALONG: Weights = {"and": 76, "along with": 18, "as well as": 6}
MONTH_BY_NAME = 0.4  # "April 11, 2011", in all dates of a question; else as it is stored
BARE_WORD = 0.5  # so does a code or a single word
TOTAL_NUMBER = 0.15  # "the total number of singers"
