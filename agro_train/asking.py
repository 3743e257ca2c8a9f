"""A person's question about a database, answered by a model: its steps, its SQL, the result, what speaks against it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agro_data.config import ConfigError
from agro_data.databases.discovery.catalog import usable_databases
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Cell, Database, Result
from agro_data.databases.types import Limits as SqlLimits
from agro_data.pairs.finding import Finding
from agro_data.pairs.verify import SOURCE
from agro_data.protocol import Step
from agro_train.agents.agent import Agent
from agro_train.decoding import GREEDY, Decoding, decode
from agro_train.language_model.tokens import text_of
from agro_train.objections import Answered, objections
from agro_train.questions import one_question
from agro_train.rollouts import Rollout
from agro_train.sql_env import SQL_LIMITS
from agro_train.tasks import Task

SHOWING_LIMITS = SqlLimits(seconds=30.0)  # of the answer, whose rows a person waits for
_NOT_SHOWN = re.compile(r"^-- (\d+) more tables are not shown$", re.MULTILINE)  # as `serialise` writes it
_CUT = "the model was shown the tables that the question seems to be about; {} more are not shown to it"


@dataclass(frozen=True, kw_only=True)
class Reply:
    """`sql` is "" when the model gave no answer; `ending` then says why, and `result` is None.

    `steps` are the chosen attempt's, with the database's reply to each. `findings` are what the verifier of pairs
    (`agro verify`) has against question and SQL, None where it was not asked. `notes` are worth knowing: which tables
    cannot be read, and how many (`not_shown`) the prompt had no room for. `transcript` is what stands after the prompt,
    as it was written.
    """

    question: str
    model: str
    steps: tuple[Step, ...]
    sql: str
    result: Result | None
    ending: str
    written: int
    seconds: float
    findings: tuple[Finding, ...] | None = None
    notes: tuple[str, ...] = ()
    transcript: str = ""
    not_shown: int = 0

    @property
    def last_turn(self) -> str:
        """The last turn that the model wrote."""
        return self.transcript.rpartition("</observation>")[2].strip()

    def as_dict(self) -> dict[str, Any]:
        """As JSON values."""
        result = self.result
        return {
            "question": self.question,
            "model": self.model,
            "steps": [
                {"thought": s.turn.thought, "action": s.turn.action, "sql": s.turn.text, "observation": s.observation}
                for s in self.steps
            ],
            "sql": self.sql,
            "columns": list(result.columns) if result else [],
            "rows": [list(map(_plain, row)) for row in result.rows] if result else [],
            "error": "" if result is None or result.ok else result.error or result.status,
            "findings": None if self.findings is None else [one.as_dict() for one in self.findings],
            "transcript": self.transcript,
            "notes": list(self.notes),
            "ending": self.ending,
            "tokens_written": self.written,
            "seconds": round(self.seconds, 3),
        }


def _plain(cell: Cell) -> Cell:
    """A cell as JSON can hold it: JSON has no bytes, NaN or infinity."""
    if isinstance(cell, bytes):
        return cell.hex()
    return str(cell) if isinstance(cell, float) and not math.isfinite(cell) else cell


def find_database(path: Path) -> tuple[Database, list[str]]:
    """The one database at `path`, and what there could not be read. Raises `ConfigError` when there is none, or when
    there are several."""
    catalog = usable_databases(path)
    own = (".", path.name)
    problems = [str(replace(one, path=str(path)) if one.path in own else one) for one in catalog.problems]
    if len(catalog.databases) > 1:
        there = ", ".join(one.relative_path for one in catalog.databases[:5])
        raise ConfigError(f"{path}: {len(catalog.databases)} databases are here ({there}); give the file of one")
    return catalog.databases[0], problems


def ask(
    question: str,
    database: Database,
    agent: Agent,
    cache: Path,
    *,
    evidence: str | None = None,
    decoding: Decoding = GREEDY,
    seed: int = 0,
    check: bool = True,
    doing: Callable[[str], object] = lambda what: None,
) -> Reply:
    """The answer of `agent`, and with `check` the findings against it. All SQL runs in the sandbox; the database is
    only read. What takes long is told to `doing` when it begins.

    Raises `ConfigError` when no table can be read, or none fits into the agent's budget.
    """
    doing(f"reads the tables of {database.path.name}")
    asked = one_question(question, database, cache, evidence)
    doing(f"{agent.name} writes")
    [task] = asked.tasks(agent.prompt_format)
    with Sandbox(1, SQL_LIMITS) as sandbox:
        [found] = decode([task], agent.policy, sandbox, decoding, seed)
    findings = result = None
    if found.answer:
        doing("runs and checks the answer")
        with Sandbox(1, SHOWING_LIMITS) as sandbox:
            [result] = sandbox.run(database, [found.answer], "rows")
    if check and found.answer:
        with Sandbox(1, SOURCE) as sandbox:
            [findings] = objections([Answered.of(task, found.answer)], sandbox)
    first = found.leaves[0].rollout
    not_shown = _not_shown(task)
    return Reply(
        question=question,
        model=agent.name,
        steps=tuple(first.env.steps),
        sql=found.answer,
        result=result,
        ending=_ending(first),
        written=found.written,
        seconds=found.seconds,
        findings=findings,
        notes=(*asked.notes, *([_CUT.format(not_shown)] if not_shown else [])),
        transcript=text_of(first.tokens.ids, agent.tokenizer).strip(),
        not_shown=not_shown,
    )


def _not_shown(task: Task) -> int:
    """The prompt's count of tables for which it has no room."""
    found = _NOT_SHOWN.search(task.prompt)
    return int(found[1]) if found else 0


def _ending(rollout: Rollout) -> str:
    """How a rollout ended, and why where it gave no answer."""
    if rollout.refusal:
        return f"refused: {rollout.refusal}"
    malformed = rollout.env.malformed
    return f"malformed ({malformed.kind}): {malformed.detail}" if malformed else str(rollout.env.outcome)
