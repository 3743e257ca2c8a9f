"""What can be wrong with a pair: the classes, how sure and how grave each is, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agro_data.evaluation.loaded import Pair

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Kind:
    """A class of findings. `certain`: what it says holds without a person's judgement; else it asks for a look.

    error: the pair cannot be used as it is; warning: it may mislead training or scoring; note: worth knowing.
    """

    name: str
    severity: Severity
    certain: bool
    title: str
    remedy: str


@dataclass(frozen=True)
class Finding:
    """One fault of one pair. `says` is a sentence with the evidence; `witness` is what shows it (rows, SQL), or "".

    `mended` is the SQL without the fault where that follows (`pairs.mending`), else "".
    """

    kind: str
    says: str
    witness: str = ""
    mended: str = ""

    def as_dict(self) -> dict[str, Any]:
        """As JSON values, with what its class says."""
        kind = KINDS[self.kind]
        return {
            "kind": self.kind,
            "severity": kind.severity,
            "certain": kind.certain,
            "says": self.says,
            "witness": self.witness,
            "mended": self.mended,
            "remedy": kind.remedy,
        }


@dataclass(frozen=True)
class Certified:
    """A gold's mutants, and the instances (`<db_id>/<file>`) on which its answer is unambiguous, with its digests."""

    mutants_total: int
    mutants_killed: int
    mutants_equivalent: int
    instances: tuple[str, ...]
    digests: tuple[str, ...]


@dataclass(frozen=True)
class Checked:
    """A pair and what was found; no finding: nothing is known against it. `certificate` only if one was asked for.

    `unchecked` says why its SQL was not looked at: it is neither sound nor at fault. What other pairs say may be found.
    """

    pair: Pair
    findings: tuple[Finding, ...] = ()
    certificate: Certified | None = None
    unchecked: str = ""

    @property
    def grave(self) -> bool:
        """Whether anything certain and more than a note was found."""
        return any(counts_against(finding.kind) for finding in self.findings)

    @property
    def unusable(self) -> bool:
        """Whether anything of severity `error` was found: the pair cannot be used as it is."""
        return any(KINDS[finding.kind].severity == "error" for finding in self.findings)


_RUN = "mend the SQL, or drop the pair"
_CHANCE = "add a key that settles the order, or let the question and the grading allow any of the tied answers"
_WEAK = "another condition would pass as well: score it on instances where the part matters, or take it out"
_KINDS = (
    Kind("no_database", "error", True, "The database is not there", "give its folder with --databases"),
    Kind("not_a_query", "error", True, "Not one read-only SELECT", _RUN),
    Kind("syntax", "error", True, "The SQL does not parse", _RUN),
    Kind("unknown_name", "error", True, "A table or column does not exist", _RUN),
    Kind(
        "name_as_text", "warning", True, "A name in quotes is no column, but a text", "write the column as it is called"
    ),
    Kind("no_table", "warning", True, "The SQL reads no table", "ask the data, or drop the pair"),
    Kind("does_not_run", "error", True, "The SQL fails", _RUN),
    Kind("over_limit", "warning", True, "The SQL met a limit", "write it cheaper: nobody can grade it as it is"),
    Kind("reads_clock", "warning", True, "The answer is another at every run", "put the moment into the SQL"),
    Kind("null_compared", "error", True, "A comparison with NULL is never true", "use IS NULL, or IS NOT NULL"),
    Kind(
        "text_against_number",
        "error",
        True,
        "A text is compared with a number, which it never equals",
        "write the number as the text is ('2010', '03'), or CAST the text",
    ),
    Kind(
        "date_not_read",
        "error",
        True,
        "A function of dates reads none of the column's values",
        "put them into ISO's form in the SQL (SUBSTR), or store them so; of numbers of seconds say 'unixepoch'",
    ),
    Kind(
        "null_in_list",
        "warning",
        True,
        "NOT IN a list that has a NULL is true of no row",
        "leave the NULLs out of the list, or use NOT EXISTS",
    ),
    Kind(
        "null_first",
        "warning",
        True,
        "NULL comes first where LIMIT keeps the first rows",
        "leave the rows without a value out (IS NOT NULL), or say NULLS LAST",
    ),
    Kind(
        "null_left_out",
        "warning",
        False,
        "Rows without a value fail `<>`, NOT IN or NOT LIKE",
        "add OR x IS NULL if they count, x IS NOT NULL if they do not",
    ),
    Kind(
        "null_averaged",
        "warning",
        False,
        "An average divides by rows that have no value",
        "use AVG, or COUNT of the column; say it if what is not known counts as 0",
    ),
    Kind("not_analysed", "note", True, "Runs, but could not be analysed", "look at it yourself"),
    Kind(
        "empty", "warning", True, "No row comes out", "a wrong SQL is empty as well: add data, or ask for other values"
    ),
    Kind("null_only", "warning", True, "Nothing but NULL comes out", "ask for what has values, or add data"),
    Kind("zero", "note", True, "Only a 0 comes out", "every wrong condition counts 0 as well: ask for other values"),
    Kind(
        "text_as_number",
        "warning",
        True,
        "Numbers or dates kept as text are sorted, compared or averaged as text",
        "read them as what they are (CAST, NULLIF for what is missing, julianday), or store them so",
    ),
    Kind(
        "integer_division",
        "warning",
        False,
        "A quotient of whole numbers loses its fraction",
        "divide reals (CAST(x AS REAL)), or say that a whole number is meant",
    ),
    Kind("tie_at_limit", "warning", True, "LIMIT cuts between equal rows", _CHANCE),
    Kind("tie_in_order", "note", True, "Rows that compare equal are ordered by chance", _CHANCE),
    Kind("unordered_limit", "warning", True, "LIMIT without ORDER BY", "add an ORDER BY"),
    Kind("unordered_rows", "warning", True, "Values gathered or numbered without an order", "add an ORDER BY"),
    Kind("bare_column", "warning", True, "A column that varies within its group", "group by it, or aggregate it"),
    Kind(
        "bare_extreme", "note", True, "A column is taken from the row of MIN or MAX", "only SQLite does: use a subquery"
    ),
    Kind("unlinked_join", "warning", True, "A join without a condition: all pairs of rows", "add the join condition"),
    Kind(
        "join_without_key", "warning", False, "A join over columns that are no key", "look whether they hold the same"
    ),
    Kind(
        "counted_again",
        "warning",
        False,
        "What is counted or averaged stands in several rows",
        "count each once (COUNT(DISTINCT key), or a subquery with IN), or ask for the rows",
    ),
    Kind(
        "left_join_undone",
        "warning",
        False,
        "A condition drops the rows that LEFT JOIN keeps",
        "move the condition to ON; write JOIN if those rows are not meant",
    ),
    Kind(
        "none_counted",
        "warning",
        True,
        "A row that LEFT JOIN finds no match for counts as one",
        "count a column of the joined table",
    ),
    Kind(
        "namesakes",
        "warning",
        False,
        "Rows that are called the same are taken for one",
        "go by the key: IN or NOT IN over it, GROUP BY it",
    ),
    Kind(
        "other_value_passes",
        "warning",
        False,
        "None with a value are asked for, and those pass that have another, too",
        "use NOT IN or NOT EXISTS over the rows that have it",
    ),
    Kind("scalar_rows", "warning", True, "A subquery for one value has several rows", "use IN, or make it one row"),
    Kind("row_order", "warning", True, "The answer depends on how rows are stored", _CHANCE),
    Kind("useless_predicate", "note", True, "A condition that never changes the answer", "take it out"),
    Kind("useless_join", "note", True, "A join that never changes the answer", "take it out"),
    Kind("useless_distinct", "note", True, "A DISTINCT that never changes the answer", "take it out"),
    Kind("untested_predicate", "note", True, "A condition that changes nothing on this data", _WEAK),
    Kind("untested_join", "note", True, "A join that changes nothing on this data", _WEAK),
    Kind("untested_distinct", "note", True, "A DISTINCT that changes nothing on this data", _WEAK),
    Kind(
        "literal_other_case",
        "warning",
        True,
        "A value differs from the data in case or spacing",
        "write it as the data do",
    ),
    Kind("literal_misspelt", "warning", True, "A value is absent, one like it is there", "write it as the data do"),
    Kind(
        "literal_other_form",
        "warning",
        True,
        "A date is in another form than the column's, which changes the answer",
        "write it as the data do; of moments ask up to the end of a day, or from there",
    ),
    Kind(
        "day_cut_short",
        "note",
        True,
        "Moments are to be no later than a day, which ends at its first",
        "compare with the day after it by <",
    ),
    Kind("literal_absent", "note", True, "A value is absent from the data", "ask for a value that is there"),
    Kind("value_differs", "warning", True, "Question and SQL spell a value differently", "make them agree"),
    Kind("number_differs", "warning", True, "Question and SQL name different numbers", "make them agree"),
    Kind(
        "bound_differs",
        "warning",
        True,
        "A bound is counted in, or not, other than asked",
        "turn > and >=, or < and <=; ask from the first day of a month or year to its last",
    ),
    Kind("number_not_used", "warning", False, "A number of the question is not in the SQL", "look whether it is meant"),
    Kind("number_not_asked", "warning", True, "A number of the SQL is not in the question", "say it, or drop it"),
    Kind("value_not_used", "warning", True, "A quoted value of the question is not in the SQL", "make them agree"),
    Kind("value_as_code", "note", False, "A quoted value is another in the SQL", "say the code in the evidence"),
    Kind("value_not_asked", "note", False, "A value of the SQL is not in the question", "say it, or give evidence"),
    Kind("limit_not_asked", "warning", True, "LIMIT keeps a number that nobody asked for", "say it in the question"),
    Kind(
        "distinct_missing",
        "warning",
        True,
        "Different values or rows are asked for, and some come out or are counted several times",
        "add DISTINCT, or reword",
    ),
    Kind("order_reversed", "warning", True, "Sorted the other way than asked", "turn ASC and DESC"),
    Kind("extreme_reversed", "warning", True, "The other end than asked", "turn ASC and DESC, or MIN and MAX"),
    Kind(
        "reference_reversed",
        "warning",
        False,
        "Rows that refer to others of their table stand for those",
        "turn the join: the key of the one is what the other refers by",
    ),
    Kind(
        "sorted_by_no_date",
        "warning",
        False,
        "What came first or last is asked for, and what is sorted by is no date",
        "sort by the date",
    ),
    Kind("average_missing", "warning", True, "An average is asked for and not computed", "use AVG, or reword"),
    Kind("total_missing", "warning", True, "A total is asked for and an average computed", "use SUM, or reword"),
    Kind("count_missing", "warning", True, "A count is asked for and not computed", "use COUNT, or reword"),
    Kind(
        "groups_counted",
        "warning",
        True,
        "One number is asked for and a count of each group comes out",
        "count the groups (SELECT COUNT(*) FROM (...)), leave GROUP BY out, or ask for each",
    ),
    Kind("count_not_asked", "warning", True, "A count comes out and nobody asked for one", "reword, or select rows"),
    Kind("extreme_missing", "warning", False, "An extreme is asked for and not taken", "look whether it is meant"),
    Kind("negation_missing", "warning", False, "The question negates, the SQL does not", "look whether it is meant"),
    Kind("value_left_out", "warning", False, "A further value of a column is asked for", "look whether it is meant"),
    Kind("duplicate", "note", True, "The same question and SQL again", "keep one"),
    Kind("contradiction", "error", True, "The same question with another answer", "decide which SQL is right"),
    Kind("same_question", "note", True, "The same question with another SQL", "keep one"),
    Kind("split_leak", "error", True, "The same question in two splits", "keep it in one split"),
    Kind("uncertifiable", "warning", False, "No instance could be made that settles its answer", _CHANCE),
    Kind("unexamined", "note", True, "A fault of agro left it unexamined", "report it: the pair may be sound"),
    Kind("weak", "note", True, "Wrong SQL passes on every instance", "add what tells the survivors apart, or drop it"),
)
KINDS: dict[str, Kind] = {kind.name: kind for kind in _KINDS}
TIES = frozenset({"tie_at_limit", "tie_in_order"})  # less than any fault that makes an answer wrong
_NOTHING = frozenset({"empty", "null_only", "zero"})
_IDLE = frozenset(f"{how}_{part}" for how in ("useless", "untested") for part in ("predicate", "join", "distinct"))
# What is not told beside its cause: it says nothing more, and may be gone with it.
FOLLOWS = {
    "null_compared": _NOTHING | _IDLE | {"negation_missing"},
    "null_in_list": _NOTHING | _IDLE,
    "text_against_number": _NOTHING | _IDLE,
    "date_not_read": _NOTHING | _IDLE,
    "literal_other_form": frozenset({"literal_absent", "zero"}),
    "distinct_missing": frozenset({"counted_again"}),
    "extreme_reversed": frozenset({"null_first"}),  # at the other end stands a value
}


def causes(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings without those that follow from another among them."""
    told = {kind for one in findings for kind in FOLLOWS.get(one.kind, ())}
    return tuple(one for one in findings if one.kind not in told)


def counts_against(kind: str) -> bool:
    """Whether a finding of this class counts against a pair: certain, and an error or a warning."""
    found = KINDS[kind]
    return found.certain and found.severity != "note"


def gravity(findings: Iterable[Finding]) -> int:
    """0: nothing is found; 1: notes, and what asks for a look; 2: what counts against a pair."""
    return max((1 + counts_against(one.kind) for one in findings), default=0)
