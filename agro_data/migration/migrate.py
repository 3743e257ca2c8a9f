"""The examples of one database, taken to its present state: kept, repaired or broken, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import Any, Literal

from agro_data.config import BuildConfig
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Result
from agro_data.fingerprint import example_id
from agro_data.hashing import seed_of
from agro_data.migration.changes import Change, concerning, schema_changes
from agro_data.migration.evidence import Place, Side
from agro_data.migration.matching import Matching, match
from agro_data.migration.meanings import used_places
from agro_data.migration.rewriting import CannotFollow, rewrite
from agro_data.migration.values import Values
from agro_data.migration.wording import NotTrue, Renamed, Said, renames, said_again
from agro_data.sql.facts import sql_facts
from agro_data.stages.certifying import BATCH, BATCHES
from agro_data.stages.shard.certified import stored_columns
from agro_data.verify.certificates.budget import budget_of
from agro_data.verify.certificates.certifier import Certifier
from agro_data.verify.certificates.pool import Certificate
from agro_data.verify.check import StatementVerdict, verify_statements

Outcome = Literal["kept", "repaired", "broken"]
Row = dict[str, Any]

AGAIN = 0.25  # of a database's files, for golds that fail at first


@dataclass(frozen=True)
class Certification:
    """How rows are certified again. `folder` is where their instances go; None: no certificates were asked for."""

    sandbox: Sandbox
    folder: Path | None
    seed: int = 0
    min_kill_rate: float = BuildConfig.min_kill_rate


@dataclass(frozen=True)
class ExampleFate:
    """The outcome for one example.

    `reason` is the class of what broke it, else ""; `says` tells it, or how it was repaired. `new` is the row as it
    is now, None where it is broken. `changes` are the differences that it meets; `answer` says how its answer differs
    ("" where it is the same). `certificate` is None where it was not made.
    """

    row: Row
    outcome: Outcome
    _: KW_ONLY
    reason: str = ""
    says: str = ""
    new: Row | None = None
    changes: tuple[Change, ...] = ()
    answer: str = ""
    certificate: Certificate | None = None


@dataclass(frozen=True)
class Migrated:
    """All examples of one database, in the order given, and the differences between its old and its present state."""

    fates: tuple[ExampleFate, ...]
    changes: tuple[Change, ...]
    problems: tuple[str, ...] = ()  # instances that could not be made


@dataclass
class _Case:
    """An example on its way."""

    row: Row
    sql: str = ""
    question: Said | None = None
    evidence: Said | None = None
    hidden: list[Row] = field(default_factory=list)
    clarification: str | None = None
    changes: tuple[Change, ...] = ()
    places: frozenset[Place] = frozenset()
    reason: str = ""
    says: str = ""
    result: Result | None = None
    certificate: Certificate | None = None

    def broken(self, reason: str, says: str) -> None:
        if not self.reason:
            self.reason, self.says = reason, says

    @property
    def rewritten(self) -> bool:
        return self.sql != str(self.row["sql"])


@dataclass
class Migration:
    """Takes examples from the database that `before` describes to `database`, described by `after`.

    `shuffled` holds the same rows in another order, to tell which queries depend on it; None: none could be made.
    """

    before: Side
    after: Side
    database: Database
    sandbox: Sandbox
    shuffled: Database | None
    certification: Certification
    matching: Matching = field(init=False)
    changes: list[Change] = field(init=False)
    values: Values = field(init=False)
    places: dict[str, Place | None] = field(init=False)  # of now, by the `table.column` of the old schema
    problems: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.matching = match(self.before, self.after)
        self.changes = schema_changes(self.before, self.after, self.matching)
        self.values = Values(self.before, self.after, self.matching)
        self.places = {".".join(old): column.new for old, column in self.matching.columns.items()}

    def run(self, rows: Sequence[Row]) -> Migrated:
        """The outcome for the examples `rows` (of `records.EXAMPLE`).

        Each is written for the new schema where that is certain, passes the checks that a new example passes, and is
        certified again. An uncertain example is broken, with the reason; no single example makes this raise.
        """
        cases = [_Case(row) for row in rows]
        for case in cases:
            self._follow(case)
        self._execute([case for case in cases if not case.reason])
        self._certify([case for case in cases if not case.reason])
        new = self._rows([case for case in cases if not case.reason])
        fates = tuple(self._fate(case, new.get(id(case))) for case in cases)
        return Migrated(fates, tuple(self.changes), tuple(self.problems))

    # --- text ---

    def _follow(self, case: _Case) -> None:
        """The example's SQL and question for the new schema, or why they cannot follow."""
        row, dialect, old = case.row, self.database.dialect, self.before.profile.schema
        try:
            tables, case.places = used_places(row["sql"], dialect, old)
            case.changes = tuple(concerning(self.changes, tables, case.places))
            case.sql = self._rewritten(row["sql"])
            for says in self.values.emptied(case.places):
                case.broken("column_emptied", says)
            for says in self.values.lost(row["sql"]):
                case.broken("values_recoded", says)
            renamed = renames(tables, case.places, self.before.profile, self.after.profile, self.matching)
            case.question = said_again(row["question"], renamed)
            case.evidence = said_again(row["evidence"], renamed) if row["evidence"] else None
            case.hidden = [self._hidden(one) for one in row["hidden"]]
            case.clarification = self._clarification(row)
        except CannotFollow as reason:
            case.broken(reason.reason, reason.says)
        except NotTrue as reason:
            case.broken("question_untrue", f"the question is not true any more: {reason}")
        except ValueError as error:  # `SqlRefused`, and what sqlglot cannot read
            case.broken("unresolved", str(error))
        if row["readings"]:
            case.broken("several_readings", "each of its readings needs a certificate of its own: build it again")

    def _hidden(self, one: Row) -> Row:
        """What is taken away from a database before it is shown, under its name of now."""
        table, column = one["table"], one["column"]
        if not column:
            match = self.matching.tables[table]
            if match.new is None:
                raise CannotFollow("table_gone", match.why)
            return one | {"table": match.new}
        place = self.matching.columns[table, column]
        if place.new is None:
            raise CannotFollow("column_gone", place.why)
        return one | {"table": place.new[0], "column": place.new[1]}

    def _clarification(self, row: Row) -> str | None:
        """The clarification to give instead of an answer. It names the hidden thing by its present words."""
        if not row["hidden"]:
            return None if row["clarification"] is None else str(row["clarification"])
        tables = {one["table"] for one in row["hidden"]}
        places = [(one["table"], one["column"]) for one in row["hidden"] if one["column"]]
        renamed = renames(tables, places, self.before.profile, self.after.profile, self.matching)
        return said_again(row["clarification"], [replace(one, misleading=True) for one in renamed]).text

    def _rewritten(self, sql: str) -> str:
        schemas = self.before.profile.schema, self.after.profile.schema
        return rewrite(sql, self.database.dialect, *schemas, self.matching)

    # --- execution and certificates ---

    def _execute(self, cases: Sequence[_Case]) -> None:
        statements = list(dict.fromkeys(case.sql for case in cases))
        verdicts = verify_statements(self.database, self.after.profile.schema, statements, self.sandbox, self.shuffled)
        by_sql = dict(zip(statements, verdicts, strict=True))
        for case in cases:
            self._judge(case, by_sql[case.sql])

    def _judge(self, case: _Case, verdict: StatementVerdict) -> None:
        case.result = verdict.result
        if not verdict.ok:
            why = [change.says for change in case.changes if change.kind in ("type_changed", "values_recoded")]
            case.broken(verdict.reason, "; ".join([verdict.detail, *why]))
        elif self._answer(case) and (computed := self.values.computed_otherwise(case.row["sql"])):
            case.broken("type_changed", f"it computes with {computed}, whose values are of another type now")
        elif case.rewritten and self._answer(case) and self._untouched(case):
            case.broken("answer_differs", "nothing that it reads seems to have changed, and it answers otherwise now")

    def _untouched(self, case: _Case) -> bool:
        """Whether no change of what the query reads can be seen but names."""
        schema = self.before.profile
        return all(
            self.matching.columns[place].same and not self._type_changed(place)
            for place in case.places
            if place[0] in schema.by_name
        )

    def _type_changed(self, place: Place) -> bool:
        return any((c.kind, c.table, c.column) == ("type_changed", *place) for c in self.changes)

    def _answer(self, case: _Case) -> str:
        """How the answer differs from the stored one; "" where it is the same."""
        row, result = case.row, case.result
        if result is None or not result.ok or result.digest_if(row["order_matters"]) == row["result_digest"]:
            return ""
        if result.column_count != row["result_columns"]:
            return f"{result.column_count:,} columns come out, there were {row['result_columns']:,}"
        if result.row_count != row["result_rows"]:
            return f"{result.row_count:,} rows come out, there were {row['result_rows']:,}"
        return f"as many rows come out ({result.row_count:,}), and they differ"

    def _certify(self, cases: Sequence[_Case]) -> None:
        """A certificate for each case; golds that fail among many get files with few others once more."""
        if self.certification.folder is None or not cases:
            return
        golds = sorted({case.sql for case in cases})
        count = min(max(ceil(len(golds) / BATCH), 1), BATCHES)
        found: dict[str, Certificate] = {}
        for number in range(count):
            found |= self._certificates(golds[number::count], f"0{number}-", (1 - AGAIN) / count)
        if failed := [sql for sql in golds if not found[sql].ok]:
            found |= self._certificates(failed, "10-", AGAIN)
        for case in cases:
            case.certificate = found[case.sql]
            if not found[case.sql].ok:
                case.broken(found[case.sql].reason, f"it could not be certified again: {found[case.sql].detail}")

    def _certificates(self, golds: Sequence[str], prefix: str, share: float) -> dict[str, Certificate]:
        """By SQL. `share` is the part of the files and bytes that a database's instances may have."""
        own = self.certification
        if own.folder is None:
            return {}
        certifier = Certifier(
            self.database,
            self.after.profile,
            own.sandbox,
            own.folder / self.database.db_id,
            seed_of(own.seed, "migrated", self.database.db_id, prefix),
            budget_of(len(self.after.profile.tables)).part(share),
            prefix,
            own.min_kill_rate,
        )
        pool = certifier.certify(golds)
        self.problems += pool.problems
        return {certificate.sql: certificate for certificate in pool.certificates}

    # --- rows ---

    def _rows(self, cases: Sequence[_Case]) -> dict[int, Row]:
        """The new row of each case, by `id`; a second row that says the same is broken."""
        steps = self._steps(cases)
        others = self._alternatives(cases)
        made: dict[int, Row] = {}
        seen: set[str] = set()
        for case, plan, alternatives in zip(cases, steps, others, strict=True):
            new = self._row(case, plan, alternatives)
            if new["example_id"] in seen:
                case.broken("duplicate", "another example says the same now")
                continue
            seen.add(new["example_id"])
            made[id(case)] = new
        return made

    def _row(self, case: _Case, steps: list[Row], alternatives: list[str]) -> Row:
        row, result = case.row, case.result
        question = case.question.text if case.question is not None else row["question"]
        evidence = case.evidence.text if case.evidence is not None else row["evidence"]
        facts = sql_facts(case.sql, self.database.dialect, self.after.profile.schema)
        new = row | {
            "db_id": self.database.db_id,
            "dialect": self.database.dialect,
            "question": question,
            "evidence": evidence,
            "sql": case.sql,
            **facts.stored(),
            "steps": steps,
            "alternatives": alternatives,
            "hidden": case.hidden,
            "clarification": case.clarification,
        }
        new["example_id"] = example_id(self.database.content_hash, new, case.sql, case.hidden)
        if result is not None:
            new |= {
                "result_digest": result.digest_if(row["order_matters"]),
                "result_rows": result.row_count,
                "result_columns": result.column_count,
            }
        if question != row["question"] and row["alignment_method"] == "verified":
            new |= {"alignment_method": "construction", "alignment_score": None}  # nobody has read the new words
        return new | stored_columns(case.certificate)

    def _steps(self, cases: Sequence[_Case]) -> list[list[Row]]:
        """The decomposition of each case; only its last step where another cannot follow or gives nothing, with a line
        that says what all do.
        """
        plans = [[self._step(step) for step in case.row["steps"][:-1]] for case in cases]
        asked = [step["sql"] for plan in plans for step in plan if step is not None]
        results = iter(self.sandbox.run(self.database, asked))
        made: list[list[Row]] = []
        for case, plan in zip(cases, plans, strict=True):
            inner = [step for step in plan if step is not None]
            given = [next(results) for _ in inner]
            holds = len(inner) == len(plan) and all(result.ok and result.row_count > 0 for result in given)
            untaken = [] if holds else [now or old for now, old in zip(plan, case.row["steps"], strict=False)]
            last = [self._last_step(case, step, untaken) for step in case.row["steps"][-1:]]
            made.append([*(inner if holds else []), *last])
        return made

    def _step(self, step: Row) -> Row | None:
        try:
            return self._followed(step)
        except (CannotFollow, NotTrue):
            return None

    def _last_step(self, case: _Case, step: Row, untaken: Sequence[Row]) -> Row:
        """The answer, which does what `untaken` steps would have done."""
        line = " ".join(one["intent"] for one in (*untaken, self._step(step) or step))
        columns = sorted(".".join(place) for place in self._now(step["columns"]))
        return step | {"intent": line, "sql": case.sql, "inputs": [] if untaken else step["inputs"], "columns": columns}

    def _followed(self, step: Row) -> Row:
        old = self.before.profile
        sql = self._rewritten(step["sql"])
        tables, columns = used_places(step["sql"], self.database.dialect, old.schema)
        renamed: list[Renamed] = renames(tables, columns, old, self.after.profile, self.matching)
        columns_now = sorted(".".join(place) for place in self._now(step["columns"]))
        return step | {"intent": said_again(step["intent"], renamed).text, "sql": sql, "columns": columns_now}

    def _now(self, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """`table.column` of the old schema as places of the new one; what is no such place stays as it is."""
        for column in columns:
            yield self.places.get(column) or (column,)

    def _alternatives(self, cases: Sequence[_Case]) -> list[list[str]]:
        """Other SQL known to be right, as far as it can follow and runs."""
        asked: list[list[str]] = []
        for case in cases:
            found: list[str] = []
            for sql in case.row["alternatives"]:
                try:
                    found.append(self._rewritten(sql))
                except CannotFollow:
                    continue  # it is another way to be right: without it the example holds
            asked.append(found)
        results = iter(self.sandbox.run(self.database, [sql for some in asked for sql in some]))
        return [[sql for sql in some if next(results).ok] for some in asked]

    def _fate(self, case: _Case, new: Row | None) -> ExampleFate:
        answer = self._answer(case)
        if case.reason:
            fate = broken(case.row, case.reason, case.says)
            return replace(fate, changes=case.changes, answer=answer)
        said = [one for one in (case.question, case.evidence) if one is not None]
        moved = self.database.db_id != case.row["db_id"]
        outcome: Outcome = "repaired" if case.rewritten or moved or any(one.note for one in said) else "kept"
        says = [change.says for change in case.changes if change.kind in _RENAMES]
        if case.rewritten and not says:
            says = [_SPELT_OUT]
        if moved:
            says.append(f"database {case.row['db_id']} is {self.database.db_id} now")
        says += [f"question: {text}" for one in said for text in (one.note, one.stays) if text]
        told = "; ".join(says) if outcome == "repaired" else ""
        return ExampleFate(
            case.row, outcome, says=told, new=new, changes=case.changes, answer=answer, certificate=case.certificate
        )


_SPELT_OUT = "a name in it could mean something else on the new schema, so it says which table is meant"
_RENAMES = frozenset(("table_renamed", "table_merged", "table_split", "column_renamed", "column_moved"))


def broken(row: Row, reason: str, says: str) -> ExampleFate:
    """An example that nothing can be tried with."""
    return ExampleFate(row, "broken", reason=reason, says=says)
