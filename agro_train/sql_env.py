"""The environment: an agent writes turns, the database answers, the verifier scores the answer. No torch.

`SqlEnv` is one rollout as a state machine that touches no engine. `step` and `score` move many at once, with one call
of the sandbox for all SQL that is pending: GRPO steps hundreds of rollouts together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import STEPS, Result
from agro_data.databases.types import Limits as SqlLimits
from agro_data.protocol import (
    BOUNDS,
    MAX_TURNS,
    Bounds,
    Malformed,
    Step,
    parse_turn,
    render_observation,
    wrap_observation,
)
from agro_data.sql.concealing import NotThere, conceal
from agro_data.sql.facts import SqlFacts, sql_facts
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import SqlRefused, parse_select
from agro_data.verify.equivalence import Mode
from agro_data.verify.execution import execute
from agro_data.verify.failures import failure_class
from agro_data.verify.golds import Case, GoldResults, Grade
from agro_data.verify.grade import grade_many
from agro_train.advantages import anchor_key
from agro_train.clarifying import points_at
from agro_train.direct import read_direct
from agro_train.rewards import AGRO, Finished, Outcome, Preset, reward
from agro_train.tasks import Task

SQL_LIMITS = SqlLimits(steps=STEPS)  # of a model's statement, as in a build
NAMES_TOLD = 3  # that a query gets wrong, in the observation of its error
WRONGLY_ANSWERED = Grade(0.0, "an answer, where what is shown has none: something is hidden", "unanswerable")
RAN = frozenset({"", "empty", "columns", "wrong_rows", "order", "constant", "ungradable"})  # error classes


@dataclass(frozen=True)
class Look:
    """One query of a rollout and what became of it. `error_class` is one of `verify.failures.ERROR_CLASSES`, or ""."""

    sql: str
    digest: str
    rows: int
    error_class: str


class SqlEnv:
    """One rollout. `reset`, then `act` and `observe` in turn until `outcome` is set, then `score`.

    A rollout ends `answered` by a solution, `clarified` by asking back, `malformed` by a turn that cannot be read, or
    `truncated`: no turns are left for its query, or generation was cut. Only an answer can be right, or asking back
    where there is none.
    """

    def __init__(self, *, max_turns: int = MAX_TURNS, bounds: Bounds = BOUNDS) -> None:
        self.max_turns = max_turns
        self.bounds = bounds
        self.task: Task | None = None

    def reset(self, task: Task) -> str:
        """Begin `task`, forgetting all that was; gives the prompt."""
        self.task = task
        self.steps: list[Step] = []
        self.looks: list[Look] = []
        self.outcome: Outcome | None = None
        self.malformed: Malformed | None = None
        self.grade: Grade | None = None
        self._pending: str | None = None
        return task.prompt

    @property
    def turns(self) -> int:
        """Well-formed turns so far."""
        return len(self.steps)

    @property
    def solution(self) -> str:
        """The answer, "" if there is none."""
        return self.steps[-1].turn.text if self.outcome == "answered" else ""

    @property
    def clarification(self) -> str:
        """Its clarification, "" if it does not ask back."""
        return self.steps[-1].turn.text if self.outcome == "clarified" else ""

    def before(self, turns: int) -> SqlEnv:
        """A copy of the rollout as it stood before its turn number `turns` (from 0), which another turn may follow.

        Raises `ValueError` where it has had fewer observations.
        """
        if self.task is None or turns > len(self.looks):
            seen = 0 if self.task is None else len(self.looks)
            raise ValueError(f"a rollout with {seen} observations has no prefix of {turns} turns")
        env = SqlEnv(max_turns=self.max_turns, bounds=self.bounds)
        env.reset(self.task)
        env.steps, env.looks = self.steps[:turns], self.looks[:turns]
        return env

    def act(self, text: str, *, cut: bool = False) -> str | None:
        """Take the agent's turn; gives the SQL to run, or None when the rollout has ended.

        `cut`: generation met its token limit, so that a turn that is not well formed is truncated, not malformed.
        Raises `RuntimeError` when it is not the agent's turn.
        """
        if self.task is None or self.outcome is not None or self._pending is not None:
            raise RuntimeError("act() out of turn: reset first, and observe what was asked before")
        turn = read_direct(text, cut=cut) if self.task.direct else parse_turn(text)
        if isinstance(turn, Malformed):
            self.outcome, self.malformed = ("truncated", None) if cut else ("malformed", turn)
            return None
        self.steps.append(Step(turn))
        if turn.action == "solution":
            self.outcome = "answered"
        elif turn.action == "clarify":
            self.outcome = "clarified"
        elif self.turns >= self.max_turns:
            self.outcome = "truncated"
        else:
            self._pending = turn.text
        return self._pending

    def observe(self, result: Result) -> str:
        """The observation of the pending query's result (fetched with its rows), with tags, to be appended.

        Raises `RuntimeError` when no query is pending.
        """
        if self._pending is None:
            raise RuntimeError("observe() without a query that waits for its result")
        told = result if result.ok or self.task is None else _explained(result, self._pending, self.task)
        body = render_observation(told, self.max_turns - self.turns, self.bounds)
        self.looks.append(
            Look(self._pending, result.digest, result.row_count, "" if result.ok else failure_class(result)[0])
        )
        self.steps[-1] = Step(self.steps[-1].turn, body)
        self._pending = None
        return wrap_observation(body)

    def cut_short(self) -> None:
        """End where there is no room for another turn."""
        self.outcome = "truncated"

    def cases(self) -> list[Case]:
        """The verifier's cases: one, or one for each reading; none if something is hidden.

        Raises `RuntimeError` before the end.
        """
        if self.task is None or self.outcome is None:
            raise RuntimeError("a rollout is scored when it has ended")
        task = self.task
        if task.hidden:
            return []
        golds = [(one.sql, (task.database, *one.instances)) for one in task.readings] or [(task.gold, task.databases)]
        return [
            Case(sql, self.solution, databases, task.ordered, task.alternatives, task.schema)
            for sql, databases in golds
        ]

    def score(self, grade: Grade, *, details: bool = False) -> Finished:
        """The rollout's outcome, given the best grade of its `cases()`. `details` are what some rewards need."""
        self.grade = grade
        task, outcome = self.task, self.outcome
        if task is None or outcome is None:
            raise RuntimeError("a rollout is scored when it has ended")
        executed = outcome == "answered" and grade.error_class in RAN
        guessed = executed and grade.right and not task.answerable
        right = grade.right and not guessed
        if not details:
            return Finished(outcome, right, executed, answerable=task.answerable, guessed=guessed)
        gold = sql_facts(task.gold, task.database.dialect, task.whole or task.schema)
        own = _facts(self.solution, task)
        exact = right and own is not None and own.canonical == gold.canonical
        return Finished(
            outcome,
            right,
            executed,
            exact,
            _overlap(own, gold),
            self._exploration(gold),
            answerable=task.answerable,
            guessed=guessed,
        )

    def anchors(self) -> list[str]:
        """The state in which each turn was written, for GiGPO: the first alike for all, then by what was last seen."""
        return ["", *map(self._seen, self.looks)][: self.turns]

    @property
    def state(self) -> str:
        """The state in which the next turn is written, as `anchors` names it."""
        return self._seen(self.looks[-1]) if self.looks else ""

    def _seen(self, look: Look) -> str:
        tables = _tables(look.sql, self.task) if self.task is not None else ()
        return anchor_key(sorted(tables), look.digest, look.error_class)

    def _exploration(self, gold: SqlFacts) -> float:
        if self.task is None or not self.looks:
            return 0.0
        seen: set[str] = set()
        useful = 0
        for look in self.looks:
            new = look.sql not in seen
            seen.add(look.sql)
            if new and not look.error_class and look.rows and _tables(look.sql, self.task) & set(gold.tables):
                useful += 1
        return useful / len(self.looks)


def step(
    envs: Sequence[SqlEnv], texts: Sequence[str], sandbox: Sandbox, *, cut: Sequence[bool] = ()
) -> list[str | None]:
    """One turn of each environment: the observation to append, or None for those that have ended with it.

    One call of the sandbox, whatever their number; what several ask of one database runs once.
    """
    cuts = cut or [False] * len(texts)
    queries = [env.act(text, cut=short) for env, text, short in zip(envs, texts, cuts, strict=True)]
    shown = [
        (env, env.task, _as_shown(sql, env.task)) for env, sql in zip(envs, queries, strict=True) if sql and env.task
    ]
    results = iter(execute([(task.database, sql) for _, task, sql in shown if isinstance(sql, str)], sandbox, "rows"))
    seen = {id(env): env.observe(next(results) if isinstance(sql, str) else sql) for env, _, sql in shown}
    return [seen.get(id(env)) for env in envs]


def _explained(result: Result, sql: str, task: Task) -> Result:
    """An error as our own reader of names tells it, which knows what the schema has instead; else as it is."""
    try:
        problems = resolve(parse_select(sql, task.database.dialect), task.database.dialect, task.schema).problems
    except Exception:  # whatever our reader makes of it: the engine has said what is wrong
        return result
    told = dict.fromkeys(detail for reason, detail in problems if reason in ("unknown_table", "unknown_column"))
    return replace(result, error="; ".join(list(told)[:NAMES_TOLD])) if told else result


def _as_shown(sql: str, task: Task) -> str | Result:
    """A query as it is run where something is hidden; or the error that it meets at once."""
    if not task.hidden:
        return sql
    try:
        return conceal(sql, task.database.dialect, task.whole, task.hidden)
    except NotThere as error:
        return Result("error", error=str(error))
    except SqlRefused as refusal:
        return Result("error", error=refusal.detail)


def score(
    envs: Sequence[SqlEnv], sandbox: Sandbox, golds: GoldResults, *, details: bool = False, mode: Mode = "strict"
) -> list[Finished]:
    """The outcome of each ended rollout; answers are graded on all instances, in one pass of the verifier."""
    asked = [(env, case) for env in envs if env.outcome == "answered" for case in env.cases()]
    grades = grade_many([case for _, case in asked], sandbox, golds, mode, guarded=True)
    found: dict[int, Grade] = {}
    for (env, _), grade in zip(asked, grades, strict=True):
        if id(env) not in found or grade.right:
            found[id(env)] = grade
    return [env.score(found.get(id(env)) or _ungraded(env), details=details) for env in envs]


def _ungraded(env: SqlEnv) -> Grade:
    """The grade of a rollout whose answer, if it has one, is compared with no gold."""
    if env.outcome == "answered":
        return WRONGLY_ANSWERED
    if env.outcome == "clarified" and env.task is not None:
        if points_at(env.clarification, env.task.question, env.task.points):
            return Grade(1.0)
        what = "does not name what is missing or meant" if env.task.points else "where there is an answer"
        return Grade(0.0, f"asks back {what}", "missing")
    if env.malformed is not None:
        return Grade(0.0, f"malformed ({env.malformed.kind}): {env.malformed.detail}", "missing")
    return Grade(0.0, f"truncated after {env.turns} turns: no answer", "missing")


# --- gold self-check ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GoldFault:
    """An example whose own gold does not earn the most that can be earned."""

    example_id: str
    db_id: str
    earned: float
    highest: float
    reason: str

    def __str__(self) -> str:
        return f"{self.db_id} {self.example_id}: the gold earns {self.earned:g} of {self.highest:g}: {self.reason}"


def check_golds(tasks: Sequence[Task], sandbox: Sandbox, golds: GoldResults, preset: Preset = AGRO) -> list[GoldFault]:
    """Play every gold through the environment, looked at once and then given as the answer; or asked back.

    An empty list means that the reward is 1.0 or the preset's highest on every row, and that every gold runs on each of
    its instances: where it does not, answers would be held to fewer of them. No training step before that.
    """
    envs = [SqlEnv() for _ in tasks]
    for env, task in zip(envs, tasks, strict=True):
        env.reset(task)
    for action in ("sql", "solution"):
        left = [env for env in envs if env.outcome is None]
        step(left, [_gold_turn(env.task, action) for env in left if env.task is not None], sandbox)
    faults: list[GoldFault] = []
    for env, task, finished in zip(envs, tasks, score(envs, sandbox, golds, details=preset.details), strict=True):
        earned, highest = reward(finished, preset).total, preset.highest if task.answerable else preset.asked_back
        why = ""
        if earned < highest:
            why = (
                env.grade.reason if env.grade and env.grade.reason else "looking at it gives no row, or reads no table"
            )
        elif env.outcome == "answered":
            why = _failing(env.cases(), sandbox, golds)
        if why:
            faults.append(GoldFault(task.example_id, task.database.db_id, earned, highest, why))
    return faults


def _failing(cases: Sequence[Case], sandbox: Sandbox, golds: GoldResults) -> str:
    """Where golds do not run, in words; "" when they run everywhere."""
    held = golds.standards(cases, sandbox, "strict")
    every = [database for case in cases for database in case.databases]
    failing = [d for case, one in zip(cases, held, strict=True) for d in case.databases if d not in one.databases]
    return f"it fails on {len(failing)} of {len(every)} databases, first {failing[0].path.name}" if failing else ""


def _gold_turn(task: Task, action: str) -> str:
    if not task.answerable:
        return f"<think>gold</think><clarify>{task.clarification}</clarify>"
    return f"<think>gold</think><{action}>{task.gold}</{action}>"


def _facts(sql: str, task: Task) -> SqlFacts | None:
    try:
        return sql_facts(sql, task.database.dialect, task.schema) if sql else None
    except Exception:  # refused; or our reader fails on it, and one reply never stops a training
        return None


def _tables(sql: str, task: Task) -> set[str]:
    try:
        return resolve(parse_select(sql, task.database.dialect), task.database.dialect, task.schema).tables
    except Exception:  # as in `_facts`
        return set()


def _overlap(own: SqlFacts | None, gold: SqlFacts) -> float:
    """F1 of tables and columns."""
    if own is None:
        return 0.0
    mine, theirs = {*own.tables, *own.columns}, {*gold.tables, *gold.columns}
    return 2 * len(mine & theirs) / (len(mine) + len(theirs)) if mine or theirs else 1.0
