"""`agro ask`: the steps, the SQL and the table, or why there is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from making import add_damaged, make_school, run_sqlite
from train.scripted import Scripted, agent, one_database, turn

from agro_data.config import ConfigError
from agro_data.databases.types import Database
from agro_train.agents.agent import Agent
from agro_train.asking import Reply, ask, find_database
from agro_train.cli import agro
from agro_train.rollouts import Limits
from agro_train.runs.store import NoRun
from agro_train.tasks import PromptFormat

GOLD = "SELECT name, founded FROM school WHERE founded > 1930"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    return one_database(make_school(tmp_path_factory.mktemp("ask") / "school.sqlite"))


def looks_first(text: str, number: int, seed: int) -> str:
    if "</observation>" not in text:
        return turn("sql", "SELECT MAX(founded) FROM school", "I look how late.")
    return turn("solution", GOLD, "I know.")


def test_a_question_is_answered_with_its_steps(database: Database, tmp_path: Path) -> None:
    sampler, told = Scripted(looks_first), list[str]()
    reply = ask(
        "Which schools are young?",
        database,
        agent(sampler),
        tmp_path,
        evidence="Young is after 1930.",
        doing=told.append,
    )
    assert told == ["reads the tables of school.sqlite", f"{reply.model} writes", "runs and checks the answer"]
    assert "Evidence: Young is after 1930." in sampler.calls[0][0]
    assert " school( school_id*, name, city, founded)" in sampler.calls[0][0]
    assert [step.turn.thought for step in reply.steps] == ["I look how late.", "I know."]
    assert "1942" in (reply.steps[0].observation or "")
    assert reply.sql == GOLD
    assert reply.result is not None
    assert reply.result.rows == (("School 5", 1935), ("School 6", 1942))
    shown = json.loads(json.dumps(reply.as_dict()))
    assert shown["rows"] == [["School 5", 1935], ["School 6", 1942]]


def test_a_model_looks_under_the_limits_of_its_training_and_a_person_waits_longer(
    database: Database, tmp_path: Path
) -> None:
    counting = "SELECT COUNT(*) FROM school AS a, school AS b, school AS c, school AS d, school AS e, school AS f"
    slow = f"{counting}, school AS g, school AS h, school AS i WHERE h.name <> i.name"

    def looks(text: str, number: int, seed: int) -> str:
        return turn("solution" if "</observation>" in text else "sql", slow)

    reply = ask("How many?", database, agent(Scripted(looks)), tmp_path, check=False)
    assert "over 30000000 steps" in (reply.steps[0].observation or "")
    assert reply.result is not None
    assert reply.result.rows == ((5 * 6**8,),)


def test_what_speaks_against_an_answer_is_said(database: Database, tmp_path: Path) -> None:
    """By the verifier of pairs: the value is stored otherwise, and nothing comes out."""
    answers = {
        "lower": "SELECT founded FROM school WHERE name = 'school 5'",
        "stored": "SELECT founded FROM school WHERE name = 'School 5'",
    }

    def asked(name: str, check: bool = True) -> Reply:
        sampler = Scripted(lambda *_: turn("solution", answers[name]))
        return ask("When was School 5 founded?", database, agent(sampler), tmp_path, check=check)

    found = asked("lower").findings
    assert found is not None
    assert [one.kind for one in found] == ["empty", "literal_other_case"]
    assert found[1].mended == answers["stored"]
    assert asked("stored").findings == ()
    assert asked("lower", check=False).findings is None
    told = asked("lower").as_dict()["findings"][1]
    assert (told["severity"], told["says"]) == (
        "warning",
        "No row has school.name = 'school 5'; the data have 'School 5'.",
    )


def test_what_json_cannot_say_is_text(tmp_path: Path) -> None:
    connection = duckdb.connect(str(tmp_path / "odd.duckdb"))
    connection.execute("CREATE TABLE odd (id INTEGER PRIMARY KEY, x DOUBLE, b BLOB)")
    connection.execute("INSERT INTO odd VALUES (1, 'nan', 'ab'::BLOB), (2, '-inf', NULL)")
    connection.close()
    odd = one_database(tmp_path / "odd.duckdb")
    answer = turn("solution", "SELECT x, b FROM odd ORDER BY id")
    reply = ask("Which?", odd, agent(Scripted(lambda *_: answer)), tmp_path)
    assert json.loads(json.dumps(reply.as_dict(), allow_nan=False))["rows"] == [["nan", "6162"], ["-inf", None]]


def test_no_answer_says_why(database: Database, tmp_path: Path) -> None:
    reply = ask("Which?", database, agent(Scripted(lambda *_: "well")), tmp_path)
    assert (reply.sql, reply.result) == ("", None)
    assert reply.ending.startswith("malformed (no_tag)")
    assert reply.last_turn == reply.as_dict()["transcript"] == "well"


def test_what_is_no_answer_is_shown(says: Callable[..., Any]) -> None:
    babble = "I think\nthat it is 42. " * 40
    done = says(wrote=babble)
    assert done.exit_code == 1
    assert f"it wrote: {' '.join(babble.split())[:500]}…\n" in done.stderr
    assert json.loads(says("", "--json", wrote=babble).stdout)["transcript"] == babble.strip()


def test_a_model_may_be_given_room_and_is_told_to_lack_it(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that reasons before it answers writes more than others."""
    monkeypatch.setenv("AGRO_CACHE", str(tmp_path))

    def opened(*_: object, limits: Limits, **__: object) -> Agent:
        return replace(agent(Scripted(lambda *_: turn("solution", GOLD, "so " * 40))), limits=limits)

    monkeypatch.setattr("agro_train.agents.opening.open_agent", opened)
    asked = ["ask", "--database", str(database.path), "Which?", "--any-names", "--turn-tokens"]
    assert CliRunner().invoke(agro, [*asked, "600"]).exit_code == 0
    done = CliRunner().invoke(agro, [*asked, "60"])
    assert done.exit_code == 1
    assert "gave no answer: truncated (by --turn-tokens, --rollout-tokens" in done.stderr


def test_a_hostile_answer_runs_in_the_sandbox_only(database: Database, tmp_path: Path) -> None:
    before = database.path.read_bytes()
    reply = ask("Drop it", database, agent(Scripted(lambda *_: turn("solution", "DROP TABLE school"))), tmp_path)
    assert reply.result is not None
    assert not reply.result.ok
    assert database.path.read_bytes() == before


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (GOLD, "Nothing speaks against it."),
        ("SELECT founded FROM school WHERE name = 'school 5'", "mended: SELECT founded FROM school WHERE name = "),
        ("SELECT nam FROM school", "mended: SELECT name FROM school"),
    ],
)
def test_the_command_says_what_speaks_against_its_answer(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sql: str, said: str
) -> None:
    monkeypatch.setenv("AGRO_CACHE", str(tmp_path))
    answers = Scripted(lambda *_: turn("solution", sql))
    monkeypatch.setattr("agro_train.agents.opening.open_agent", lambda *_, **__: agent(answers))
    done = CliRunner().invoke(agro, ["ask", "--database", str(database.path), "Which were founded after 1930?"])
    assert said in done.output


def test_a_database_that_was_replaced_meanwhile_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is not at fault, and another one would not mend it."""
    monkeypatch.setenv("AGRO_CACHE", str(tmp_path / "cache"))
    file, other = make_school(tmp_path / "school.sqlite"), tmp_path / "other.sqlite"

    def replaces(*_: object) -> str:
        run_sqlite(other, "CREATE TABLE lesson (name TEXT)")
        other.replace(file)
        return turn("solution", GOLD)

    monkeypatch.setattr("agro_train.agents.opening.open_agent", lambda *_, **__: agent(Scripted(replaces)))
    done = CliRunner().invoke(agro, ["ask", "--database", str(file), "Which were founded after 1930?"])
    assert done.exit_code == 1
    assert f"{file}: was changed while it was asked about; ask again" in done.stderr
    assert "--decoding vote" not in done.stderr


@pytest.mark.parametrize("as_json", [True, False])
def test_from_the_command_line(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    monkeypatch.setenv("AGRO_CACHE", str(tmp_path))
    monkeypatch.setattr("agro_train.agents.opening.open_agent", lambda *_, **__: agent(Scripted(looks_first)))
    flags = ["--json"] if as_json else []
    done = CliRunner().invoke(agro, ["ask", "--database", str(database.path), "Which schools are young?", *flags])
    assert done.exit_code == 0, done.output
    if as_json:
        assert json.loads(done.stdout)["sql"] == GOLD
    else:
        for said in ("I look how late.", "SELECT MAX(founded) FROM school", GOLD, "School 6", "2 rows"):
            assert said in done.output


def test_without_a_trained_model_it_is_said_what_to_run(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGRO_CACHE", str(tmp_path / "cache"))

    def asked(path: Path) -> str:
        flags = ["--database", str(path), "--models", str(tmp_path / "models"), "How many schools are there?"]
        done = CliRunner().invoke(agro, ["ask", *flags])
        assert isinstance(done.exception, NoRun if path.is_file() else ConfigError)
        return str(done.exception)

    assert "dagster job execute -j train_grpo" in asked(database.path)
    (tmp_path / "two").mkdir()
    for name in ("one", "other"):
        make_school(tmp_path / "two" / f"{name}.sqlite", f" {name}")
    assert "2 databases are here" in asked(tmp_path / "two")


@pytest.fixture
def says(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`agro ask` of a model that answers with this SQL, or `wrote` something else."""
    monkeypatch.setenv("AGRO_CACHE", str(tmp_path / "cache"))

    def run_verb(sql: str = "", *flags: str, at: Path = database.path, wrote: str = "") -> Any:
        one = agent(Scripted(lambda *_: wrote or turn("solution", sql)))

        def opened(*_: object, prompt_format: PromptFormat, **__: object) -> Agent:
            return replace(one, prompt_format=prompt_format)

        monkeypatch.setattr("agro_train.agents.opening.open_agent", opened)
        return CliRunner().invoke(agro, ["ask", "--database", str(at), "--no-check", "Which?", *flags])

    return run_verb


def test_a_result_has_its_own_names(says: Callable[..., Any]) -> None:
    """As the engine gives them, also where two are alike, and where no row comes out."""
    done = says("SELECT school_id, name AS a_b, city AS a_b FROM school WHERE school_id = 1")
    assert "school_id  a_b       a_b" in done.stdout
    none = says("SELECT school_id, name AS a_b FROM school WHERE school_id = 99")
    assert "school_id  a_b" in none.stdout
    assert "0 rows" in none.stdout


def test_cells_cannot_steer_the_terminal_nor_fill_it(says: Callable[..., Any]) -> None:
    sql = "SELECT char(27) || '[31mred' || char(155), 'a' || char(10) || 'b', hex(zeroblob(300)) FROM school"
    done = says(sql)
    row = done.stdout.splitlines()[-2]
    assert row.split() == [r"\x1b[31mred\x9b", "a…", "0" * 200 + "…"]
    whole = json.loads(says(sql, "--json").stdout)["rows"][0]
    assert whole == ["\x1b[31mred\x9b", "a\nb", "0" * 600]
    assert "\x1b" not in says("SELECT '\x1b[31m'").stdout


def test_what_was_left_out_is_said(says: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "people.csv").write_text("id,name\n1,Ann\n2,Bob\n")
    (folder / "odd.csv").write_bytes(b"\xff\xfe\x00,\n")
    done = says("SELECT name FROM people", at=folder)
    assert "odd.csv: cannot be read as a table" in done.stderr
    assert done.exit_code == 0
    few = says("SELECT name FROM school", "--json", "--budget", "32")
    assert "more are not shown to it" in few.stderr
    assert "--budget shows it more than 32 tokens" in few.stderr
    assert len(json.loads(few.stdout)["notes"]) == 1


def test_tables_that_cannot_be_read_are_told(says: Callable[..., Any], tmp_path: Path) -> None:
    """And nothing of what only a build should know, nor of a larger budget."""
    damaged = add_damaged(make_school(tmp_path / "damaged.sqlite"), "pupil")
    done = says("SELECT name FROM school", "--json", at=damaged)
    [note] = json.loads(done.stdout)["notes"]
    assert note.startswith("table 'pupil': cannot be read, left out: ")
    assert note in done.stderr
    assert "--budget" not in done.stderr
    closed = says("SELECT 1", at=add_damaged(tmp_path / "closed.sqlite", "pupil"))
    assert isinstance(closed.exception, ConfigError)
    assert "closed: none of its tables can be read (table 'pupil': cannot be read, left out: " in str(closed.exception)
    assert "budget" not in str(closed.exception)


def test_no_question_is_refused(database: Database) -> None:
    done = CliRunner().invoke(agro, ["ask", "--database", str(database.path), " "])
    assert isinstance(done.exception, ConfigError)
    assert "the question is empty" in str(done.exception)


@pytest.mark.parametrize(
    ("given", "what"), [(["caf\udce9?"], "the question"), (["Why?", "--evidence", "caf\udce9"], "--evidence")]
)
def test_a_question_that_is_not_utf8_is_refused(database: Database, given: list[str], what: str) -> None:
    done = CliRunner().invoke(agro, ["ask", "--database", str(database.path), *given])
    assert isinstance(done.exception, ConfigError)
    assert f"{what} is not UTF-8: 'caf\\udce9" in str(done.exception)


def test_a_database_that_cannot_be_used_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "empty.sqlite").touch()
    with pytest.raises(ConfigError, match=r"^\S*empty\.sqlite: empty file$"):
        find_database(tmp_path / "empty.sqlite")
