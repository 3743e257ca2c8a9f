"""Trajectories from decompositions: what an example's steps would look like when an agent takes them.

No model: thoughts are the intents of the steps, queries are executed for real, and the observation is what came back.
Some trajectories look first (values of a column, whether two tables join), some begin with a mistake (a name that is
not there, a mutant of the gold) and correct it. A question without one answer is asked back, after a look where only
the data can tell. Kept only when the answer is right on all instances, or asking back names why there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

import polars as pl
from sqlglot import exp

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.quoting import folded, quoted
from agro_data.populate.schema import stream
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.serialising.asked import Source
from agro_data.protocol import MAX_TURNS, Turn, inert, render_turn
from agro_data.sql.concealing import Hidden
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.identifiers import identifier, needs_quotes
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import SqlRefused, parse_select
from agro_data.verify.golds import GoldResults
from agro_data.verify.mutants import mutants_of
from agro_train.rewards import Finished
from agro_train.sql_env import SqlEnv, score, step
from agro_train.tasks import Task
from agro_train.trajectories.schema_links import schema_links
from agro_train.trajectories.store import DROPPED, TRAJECTORY, drop_of, trajectory_of

TEACHER = "decomposition"
RESPELT = "respelt"  # the feature of one about a database whose names are spelt otherwise; such a row says so
FEATURES = ("steps", "look_at_values", "check_join", "wrong_table", "wrong_column", "wrong_query")
ASKED_BACK = "asked_back"  # the feature of a trajectory that ends so

Expected = Literal["runs", "fails", "differs"]  # "differs": runs, and does not give the gold's result


@dataclass(frozen=True)
class Habits:
    """How often an agent works step by step, looks first, goes wrong first, and runs its answer before it gives it;
    and how often it says the tables and columns of a query before it writes one."""

    explore: float = 0.4
    mistake: float = 0.35
    rehearse: float = 0.5
    max_turns: int = MAX_TURNS
    decompose: float = 1.0
    link: float = 1.0


@dataclass(frozen=True)
class Plan:
    """Turns to be taken, with what is expected of each query; the last turn is the answer."""

    turns: tuple[Turn, ...]
    expected: tuple[Expected, ...]
    features: tuple[str, ...]


@dataclass(frozen=True)
class _Move:
    """A look at the data. Without a thought of its own it is meant as the answer, and thinks what leads to it."""

    feature: str
    sql: str
    thought: str = ""
    expected: Expected = "runs"
    lesson: str = ""  # begins the next thought


def plan_trajectory(row: Mapping[str, Any], profile: DatabaseProfile, seed: int, habits: Habits = Habits()) -> Plan:
    """Turns for one row of `records.EXAMPLE`, the same for the same arguments; at most `habits.max_turns`.

    Raises `ValueError` when its SQL holds a tag, which no turn can, and `SqlRefused` when it cannot be read.
    """
    if not row["answerable"]:
        return _asking_back(row, profile, seed, habits)
    chance = stream(seed, "trajectory", row["example_id"])
    names = resolve(parse_select(row["sql"], profile.dialect), profile.dialect, profile.schema)
    first = [_draw(chance, list(_explorations(names, profile)))] if chance.random() < habits.explore else []
    wrong = [_draw_kind(chance, list(_mistakes(names, profile)))] if chance.random() < habits.mistake else []
    extra = [move for move in [*first, *wrong] if move is not None]
    if len(extra) + 2 > habits.max_turns:  # a mistake is followed by what is right, and that by the answer
        extra = []
    mistaken = any(move.lesson for move in extra)
    rehearsed = mistaken or (habits.max_turns > 1 and chance.random() < habits.rehearse)
    stepwise = chance.random() < habits.decompose
    room = habits.max_turns - 1 - len(extra) - rehearsed
    linked = stream(seed, "links", row["example_id"]).random() < habits.link
    *steps, answer = _said(row, names, profile, room if stepwise else 0, linked)
    moves = [
        *(move for move in extra if not move.lesson),
        *(_Move("steps", step.sql, step.thought) for step in steps),
        *(move for move in extra if move.lesson),
        *([_Move("", answer.sql, answer.thought)] if rehearsed else []),
    ]
    turns, lesson = [], ""
    for move in moves:
        turns.append(Turn(f"{lesson} {move.thought or answer.plan}".strip(), "sql", move.sql))
        lesson = move.lesson
    closing = "The result answers the question." if rehearsed else answer.thought
    turns.append(Turn(closing, "solution", row["sql"].strip()))
    found = {move.feature for move in moves}
    features = (*(feature for feature in FEATURES if feature in found), *([RESPELT] if row.get(RESPELT) else []))
    return Plan(tuple(turns), tuple(move.expected for move in moves), features)


def _draw(chance: Random, moves: Sequence[_Move]) -> _Move | None:
    return moves[chance.randrange(len(moves))] if moves else None


def _draw_kind(chance: Random, moves: Sequence[_Move]) -> _Move | None:
    """A kind of mistake, then one of that kind: there are many mutants, and few names to get wrong."""
    kinds = sorted({move.feature for move in moves})
    kind = kinds[chance.randrange(len(kinds))] if kinds else ""
    return _draw(chance, [move for move in moves if move.feature == kind])


@dataclass(frozen=True)
class _Said:
    """A step that has a turn: what it does, and the tables and columns of its query, "" where they are not said."""

    plan: str
    links: str
    sql: str

    @property
    def thought(self) -> str:
        return _thought(f"{self.plan} {self.links}")


def _said(row: Mapping[str, Any], names: Resolution, profile: DatabaseProfile, room: int, linked: bool) -> list[_Said]:
    """The last `room` steps before the answer, and the answer, whose query is `names`. The first says the plan of those
    that have no turn, too: else the condition of a step that nobody takes would be in the query, and in no thought.
    """
    intents = [step["intent"] for step in row["steps"]] or ["Answer the question."]
    first = max(len(intents) - 1 - room, 0)
    plans = [" ".join(intents[: first + 1]), *intents[first + 1 :]]
    earlier = [step["sql"] for step in row["steps"][first:-1]]
    links = [""] * len(plans)
    if linked:
        read = [resolve(parse_select(sql, profile.dialect), profile.dialect, profile.schema) for sql in earlier]
        links = [schema_links(one, profile) for one in (*read, names)]
    return [
        _Said(_thought(plan), link, sql.strip())
        for plan, link, sql in zip(plans, links, (*earlier, row["sql"]), strict=True)
    ]


def _thought(text: str) -> str:
    return " ".join(inert(text).split()) or "Next."


# --- asking back -------------------------------------------------------------------------------------------------


def _asking_back(row: Mapping[str, Any], profile: DatabaseProfile, seed: int, habits: Habits) -> Plan:
    """Ends with the row's clarification; a value is looked for first, a column now and then."""
    looks: list[Turn] = []
    why = f"This can mean several things. {' Or: '.join(reading['says'] for reading in row['readings'])}"
    for hidden in map(Hidden.of, row["hidden"]):
        table = profile.table(hidden.table)
        why = f"The question needs {table.plural}, and no table of the schema holds them."
        if hidden.column:
            phrase, name = table.column(hidden.column).phrase, quoted(hidden.table)
            why = f"The question needs the {phrase} of {table.plural}, and no column of the schema holds it."
            sql = f"SELECT * FROM {name} ORDER BY 1 LIMIT 3"
            wanted = f"I look at what there is of {table.plural}."
            chance = stream(seed, "asking", row["example_id"]).random()
            if hidden.value:
                why = f"No {table.singular} has the {phrase} '{hidden.value}'."
                value = exp.Literal.string(hidden.value).sql(dialect=profile.dialect)
                sql = f"SELECT COUNT(*) FROM {name} WHERE {quoted(hidden.column)} = {value}"
                wanted = f"I look whether there is the {phrase} '{hidden.value}'."
            if habits.max_turns > 1 and (hidden.value or chance < habits.explore):
                looks.append(Turn(_thought(wanted), "sql", sql))
    last = Turn(_thought(why), "clarify", inert(row["clarification"]).strip())
    features = (*(["look_at_values"] if looks else []), ASKED_BACK)
    ran: Expected = "runs"
    return Plan((*looks, last), tuple(ran for _ in looks), features)


# --- looking first -----------------------------------------------------------------------------------------------


def _explorations(names: Resolution, profile: DatabaseProfile) -> Iterator[_Move]:
    seen: set[tuple[str, str]] = set()
    for column, _ in _compared_with_text(names):
        binding = names.binding(column)
        if binding is None or binding.source is None or not binding.source.table:
            continue
        name = binding.source.table, binding.name
        if name not in seen:
            seen.add(name)
            table = profile.table(name[0])
            phrase = table.column(name[1]).phrase if name[1] in table.by_name else name[1]
            sql = f"SELECT DISTINCT {quoted(name[1])} FROM {quoted(name[0])} ORDER BY 1 LIMIT 5"
            yield _Move("look_at_values", sql, _thought(f"I look at how the {phrase} is written."))
    for key in profile.foreign_keys:
        if key.table in names.tables and key.ref_table in names.tables and key.table != key.ref_table:
            pairs = zip(key.columns, key.ref_columns, strict=True)
            on = " AND ".join(f"a.{quoted(child)} = b.{quoted(parent)}" for child, parent in pairs)
            sql = f"SELECT COUNT(*) FROM {quoted(key.table)} AS a JOIN {quoted(key.ref_table)} AS b ON {on}"
            child, parent = profile.table(key.table).plural, profile.table(key.ref_table).plural
            yield _Move("check_join", sql, _thought(f"I check that {child} match {parent}."))


def _compared_with_text(names: Resolution) -> Iterator[tuple[exp.Column, exp.Literal]]:
    for node in names.tree.find_all(exp.EQ, exp.NEQ, exp.Like):
        sides = (node.this, node.expression)
        columns = [side for side in sides if isinstance(side, exp.Column)]
        texts = [side for side in sides if isinstance(side, exp.Literal) and side.is_string]
        if columns and texts:
            yield columns[0], texts[0]


# --- going wrong first -------------------------------------------------------------------------------------------


def _mistakes(names: Resolution, profile: DatabaseProfile) -> Iterator[_Move]:
    """Wrong queries. Whoever writes one means the right one, and thinks what leads to it."""
    yield from _wrong_tables(names, profile)
    yield from _wrong_columns(names, profile)
    for mutant in mutants_of(names, profile.dialect, profile.schema):
        right, arrow, wrong = _thought(mutant.what).partition(" -> ")
        lesson = "That is not what is asked."
        if arrow:
            lesson = f"{right} is missing." if wrong == "dropped" else f"{lesson} Not {wrong}, but {right}."
        yield _Move("wrong_query", mutant.sql, "", "differs", lesson)


def _wrong_tables(names: Resolution, profile: DatabaseProfile) -> Iterator[_Move]:
    """A table called by what its rows are: `cinemas` for `cinema`."""
    known = {table.lower() for table in profile.schema}
    for name in sorted(names.tables):
        table = profile.table(name)
        for phrase in (table.plural, table.singular):
            guess = "_".join(phrase.lower().split())
            if not guess.isidentifier() or guess in known:
                continue
            tree = names.tree.copy()
            for node in tree.find_all(exp.Table, exp.Column):
                part = "this" if isinstance(node, exp.Table) else "table"
                if folded(node.text(part)) == folded(name):
                    node.set(part, identifier(guess))
            lesson = _thought(f"There is no table {guess}; it is {name}.")
            yield _Move("wrong_table", sql_text(tree, profile.dialect), "", "fails", lesson)


def _wrong_columns(names: Resolution, profile: DatabaseProfile) -> Iterator[_Move]:
    """A column called by its phrase, as someone who has not looked would call it."""
    known = {folded(column) for table in profile.schema.values() for column in table}
    for table_name, column_name in sorted(names.columns):
        table = profile.table(table_name)
        phrase = table.column(column_name).phrase if column_name in table.by_name else ""
        guess = "_".join(phrase.lower().split())
        taken = guess in known or needs_quotes(guess)  # bare it is no name, in quotes a text to SQLite
        guess = guess if guess.isidentifier() and not taken else f"{table.singular}_{column_name}".lower()
        guess = "_".join(guess.split())
        if not guess.isidentifier() or guess in known:
            continue
        tree = names.tree.copy()
        named = [one for one in tree.find_all(exp.Column) if not isinstance(one.this, exp.Star)]
        meant = [one for one in named if folded(one.name) == folded(column_name)]
        for column in meant:
            column.this.set("this", guess)
            column.this.set("quoted", False)
        if not meant:  # a star, or a natural join, has it
            continue
        lesson = _thought(f"There is no column {guess}; it is {column_name}.")
        yield _Move("wrong_column", sql_text(tree, profile.dialect), "", "fails", lesson)


# --- for real ----------------------------------------------------------------------------------------------------


def make_trajectories(
    rows: Sequence[Mapping[str, Any]],
    tasks: Sequence[Task],
    sources: Mapping[str, Source],
    sandbox: Sandbox,
    *,
    seed: int = 0,
    habits: Habits = Habits(),
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Trajectories (`TRAJECTORY`) and what was dropped (`DROPPED`), for rows of `records.EXAMPLE` and their tasks.

    All take their turns together. A trajectory is dropped if its answer is not right on all instances, or if a query
    misses its purpose: a step that fails, a mistake that does not show.
    """
    dropped: list[dict[str, str]] = []
    open_: list[tuple[Mapping[str, Any], SqlEnv, Plan]] = []
    for row, task in zip(rows, tasks, strict=True):
        try:
            plan = plan_trajectory(row, sources[row["db_id"]].profile, seed, habits)
        except (ValueError, SqlRefused) as error:
            dropped.append(drop_of(row, "not_writable", str(error)))
            continue
        env = SqlEnv(max_turns=habits.max_turns)
        env.reset(task)
        open_.append((row, env, plan))
    for place in range(habits.max_turns):
        moving = [(env, plan.turns[place]) for _, env, plan in open_ if env.outcome is None]
        step([env for env, _ in moving], [render_turn(turn) for _, turn in moving], sandbox)
    golds = GoldResults()
    kept: list[dict[str, Any]] = []
    finished = score([env for _, env, _ in open_], sandbox, golds)
    for (row, env, plan), shown in zip(open_, finished, strict=True):
        reason, detail = _fault(env, plan, shown, golds)
        if reason:
            dropped.append(drop_of(row, reason, detail))
        else:
            prompt = env.task.prompt if env.task else ""
            mistakes = [place for place, expected in enumerate(plan.expected) if expected != "runs"]
            kept.append(trajectory_of(row, env, prompt, plan.features, TEACHER, mistakes))
    return pl.DataFrame(kept, schema=TRAJECTORY), pl.DataFrame(dropped, schema=DROPPED)


def _fault(env: SqlEnv, plan: Plan, shown: Finished, golds: GoldResults) -> tuple[str, str]:
    """Why a trajectory is of no use; ("", "") if it is."""
    if not shown.right:
        return "not_right", env.grade.reason if env.grade else ""
    for look, expected in zip(env.looks, plan.expected, strict=True):
        if expected == "fails" and look.error_class != "schema":
            return "mistake_unseen", f"{look.sql}: expected an unknown name, got {look.error_class or 'a result'}"
        if expected != "fails" and look.error_class:
            return "step_failed", f"{look.sql}: {look.error_class}"
        if expected == "differs" and env.task and look.digest == golds.shape(env.task.database, env.task.gold).digest:
            return "mistake_unseen", f"{look.sql}: gives the gold's result"
    return "", ""
