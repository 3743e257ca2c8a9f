"""`values=synthetic`: nothing of the source's values is in any byte that is written or said."""

from __future__ import annotations

import random
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import polars as pl
import pytest
from click.testing import CliRunner
from making import packed

import agro_data
from agro_data import cli
from agro_data.pipeline import STAGES, open_work, run_stage

pytestmark = pytest.mark.ci

TEXTS, NUMBERS, REALS, DATES, BLOBS, CODES, SCHEMA = 380, 240, 150, 150, 50, 15, 15

SEMANTICS = """
domain: health care
tables:
  client:
    description: 'Clients, such as {codes[0]}.'
    columns:
      city: {{description: 'Where; {codes[1]} is the capital.', codes: {{'{texts[0]}': '{codes[2]}'}}}}
      grade: {{codes: {{{stubs}}}}}
      shoe_size: {{unit: cm}}
  absent_{texts[1]}: {{}}
metrics:
  fame: {{table: client, sql: "COUNT(CASE WHEN city = '{texts[2]}' THEN 1 END)", definition: 'Those of {texts[2]}.'}}
  wealth: {{table: client, sql: 'SUM(CASE WHEN account > {numbers[0]} THEN 1 END)', definition: 'Over {numbers[0]}.'}}
  average income in thousands: {{table: client, sql: AVG(income) / 1000, definition: Average income by thousand.}}
"""


@dataclass(frozen=True)
class Canaries:
    """Values that occur nowhere else."""

    texts: list[str]
    numbers: list[int]
    reals: list[float]
    dates: list[str]
    blobs: list[bytes]
    codes: list[str]  # written in semantics.yml beside the source
    schema: list[str]  # written in CHECK constraints, DEFAULTs, views and comments of the schema

    def written(self) -> list[bytes]:
        """The values as a file would hold them."""
        texts = [*self.texts, *map(str, self.numbers), *self.dates, *self.codes, *self.schema]
        return [t.encode() for t in texts] + [str(int(r)).encode() for r in self.reals] + self.blobs


def draw_canaries(seed: int) -> Canaries:
    draw = random.Random(seed)

    def words(count: int) -> list[str]:
        return [f"Zq{draw.getrandbits(60):015x}" for _ in range(count)]

    days = draw.sample([(y, m, d) for y in range(2301, 2399) for m in range(1, 13) for d in range(1, 28)], DATES)
    return Canaries(
        words(TEXTS),
        [draw.randrange(10**12, 10**13) for _ in range(NUMBERS)],
        [draw.randrange(10**9, 10**10) + 0.37 for _ in range(REALS)],
        [f"{year}-{month:02d}-{day:02d}" for year, month, day in days],
        [draw.randbytes(12) for _ in range(BLOBS)],
        words(CODES),
        words(SCHEMA),
    )


def client_rows(c: Canaries) -> list[tuple[object, ...]]:
    return [
        (n, c.texts[n], c.texts[250 + n % 30], c.codes[n % 10], c.reals[n % REALS], c.numbers[n % NUMBERS])
        for n in range(250)
    ]


def visit_rows(c: Canaries) -> list[tuple[object, ...]]:
    return [(n, n % 250, c.dates[n % DATES], c.texts[280 + n % 100], c.blobs[n % BLOBS]) for n in range(600)]


def sqlite_source(folder: Path, c: Canaries) -> None:
    """Values in cells, constraints, defaults, comments, a view and the undecodable part of a text."""
    s = c.schema
    connection = sqlite3.connect(folder / "clients.sqlite")
    connection.executescript(
        f"""
        CREATE TABLE client (id INTEGER PRIMARY KEY, full_name TEXT NOT NULL, city TEXT DEFAULT '{s[0]}',
            grade TEXT CHECK (grade <> '{s[1]}'), income REAL, account INTEGER /* as {s[2]} */,
            shoe_size INTEGER -- {s[3]}
        );
        CREATE TABLE visit (id INTEGER PRIMARY KEY, client_id INTEGER NOT NULL REFERENCES client(id),
                            visit_date TEXT NOT NULL, reason TEXT, picture BLOB);
        CREATE TABLE odd (note TEXT, amount);
        CREATE VIEW rich AS SELECT * FROM client WHERE city <> '{s[4]}';
        CREATE VIEW broken AS SELECT * FROM gone WHERE city = '{s[5]}';
        CREATE INDEX some ON client (city) WHERE city <> '{s[6]}';
        CREATE TRIGGER watch AFTER INSERT ON client BEGIN SELECT '{s[7]}'; END;
        """
    )
    connection.executemany(
        "INSERT INTO client VALUES (?,?,?,?,?,?,?)", [(*row, n % 12) for n, row in enumerate(client_rows(c))]
    )
    connection.executemany("INSERT INTO visit VALUES (?,?,?,?,?)", visit_rows(c))
    for n in range(40):
        connection.execute(
            "INSERT INTO odd VALUES (CAST(? AS TEXT), ?)", (c.texts[n].encode() + b"\xff", c.texts[n] if n % 2 else n)
        )
    connection.commit()
    connection.close()


def duckdb_source(folder: Path, c: Canaries) -> None:
    """The same, with an enumeration of values, comments and a view that cannot convert its values."""
    s = c.schema
    grades = ", ".join(f"'{code}'" for code in c.codes)
    with duckdb.connect(folder / "clients.duckdb") as connection:
        connection.execute(
            f"""
            CREATE TYPE grade AS ENUM ({grades});
            CREATE TABLE client (id INTEGER PRIMARY KEY, full_name VARCHAR NOT NULL, city VARCHAR DEFAULT '{s[0]}',
                grade grade, income DOUBLE, account BIGINT CHECK (account <> 5), shoe_size INTEGER);
            CREATE TABLE visit (id INTEGER PRIMARY KEY, client_id INTEGER NOT NULL REFERENCES client(id),
                                visit_date DATE NOT NULL, reason VARCHAR CHECK (reason <> '{s[1]}'), picture BLOB);
            COMMENT ON COLUMN client.city IS '{s[2]}';
            COMMENT ON TABLE client IS '{s[3]}';
            CREATE VIEW broken AS SELECT CAST(full_name AS INTEGER) AS number FROM client;
            CREATE VIEW rich AS SELECT * FROM client WHERE city <> '{s[4]}';
            """
        )
        clients = [(*row, n % 12) for n, row in enumerate(client_rows(c))]
        connection.executemany("INSERT INTO client VALUES (?,?,?,?,?,?,?)", clients)
        connection.executemany("INSERT INTO visit VALUES (?,?,?,?,?)", visit_rows(c))


def files_source(folder: Path, c: Canaries) -> None:
    """A folder of CSV and Parquet, and a CSV that cannot be read."""
    place = folder / "clients"
    place.mkdir()
    columns = ["id", "full_name", "city", "grade", "income", "account", "shoe_size"]
    clients = [(*row, n % 12) for n, row in enumerate(client_rows(c))]
    pl.DataFrame(clients, schema=columns, orient="row").write_csv(place / "client.csv")
    visits = [row[:4] for row in visit_rows(c)]
    pl.DataFrame(visits, schema=["id", "client_id", "visit_date", "reason"], orient="row").write_parquet(
        place / "visit.parquet"
    )
    (place / "torn.csv").write_bytes(b"a,b\n1," + c.texts[0].encode() + b"\xff\n")  # not UTF-8


SOURCES = {"sqlite": sqlite_source, "duckdb": duckdb_source, "files": files_source}


@dataclass(frozen=True)
class Private:
    """A build in privacy mode, and everything that a person or a log saw of it."""

    place: Path
    version: agro_data.Version
    canaries: Canaries
    said: str


def agro(*arguments: object, code: int = 0) -> str:
    """What a verb says on both streams."""
    done = CliRunner().invoke(cli.data, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture(
    scope="module",
    params=[pytest.param(one, marks=() if one == "sqlite" else pytest.mark.slow) for one in sorted(SOURCES)],
)
def private(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Private]:
    place = tmp_path_factory.mktemp("private")
    source = place / "source"
    source.mkdir()
    (place / "tmp").mkdir()
    canaries = draw_canaries(20)
    SOURCES[request.param](source, canaries)
    stubs = ", ".join(f"{code}: '{code}'" for code in canaries.codes)
    beside = source / "clients" if request.param == "files" else source
    text = SEMANTICS.format(codes=canaries.codes, texts=canaries.texts, numbers=canaries.numbers, stubs=stubs)
    (beside / "semantics.yml").write_text(text, encoding="utf-8")
    (source / "noise.sqlite").write_bytes(canaries.texts[0].encode() * 100)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGRO_CACHE", str(place / "cache"))
        patch.setenv("TMPDIR", str(place / "tmp"))
        patch.setattr(tempfile, "tempdir", None)
        settings = ("--databases", source, "--values", "synthetic", "--embedding-model", "structural", "--workers", 1)
        said = [agro("build", *settings, "--out", place / "out", "--size", 40, code=1)]  # 1: noise.sqlite is left out
        version = agro_data.open_version(next((place / "out" / "corpus").glob("v*")))
        example = version.examples().collect()["example_id"][0]
        said += [
            agro("build", *settings, "--preview", 3, "--json", code=1),  # the same file is left out
            agro("build", *settings, "--dry-run", "--size", 5),
            agro("databases", source, "--draft", "--values", "synthetic", code=1),
            agro("explain", example, "--out", place / "out"),
            agro("report", "--out", place / "out", "--html", place / "out" / "report.html"),
            *dagster_says(place),
        ]
        yield Private(place, version, canaries, "\n".join(said))


def dagster_says(place: Path) -> list[str]:
    """The metadata that the assets of this build would show."""
    from agro_data.defs.metadata import of_databases, of_stage, of_version

    works = sorted(
        (work for work in (place / "cache" / "work").iterdir() if (work / "selection.json").exists()),
        key=lambda work: work.stat().st_mtime,
    )
    context = open_work(works[0], place / "cache")
    version = agro_data.open_version(next((place / "out" / "corpus").glob("v*")))
    shown = [of_databases(context), *(of_stage(context, run_stage(name, context, 1)) for name in STAGES)]
    return [repr(metadata) for metadata in (*shown, of_version(version, context))]


def test_the_canaries_are_a_thousand_and_in_the_source(private: Private) -> None:
    canaries = private.canaries.written()
    assert len(set(canaries)) == 1_000
    source = b"".join(p.read_bytes() for p in (private.place / "source").rglob("*") if p.is_file())
    texts = [c.encode() for c in private.canaries.codes]
    assert [c for c in texts if c not in source] == []


def test_no_canary_is_in_any_byte_written(private: Private) -> None:
    written = [p for folder in ("out", "cache", "tmp") for p in (private.place / folder).rglob("*") if p.is_file()]
    kinds = {p.suffix for p in written}
    assert {".parquet", ".json", ".md", ".html"} < kinds
    assert kinds & {".sqlite", ".duckdb"}
    haystack = [(p.name, content) for p in written for content in contents(p)]
    found = [(name, canary) for name, content in haystack for canary in private.canaries.written() if canary in content]
    assert found == []


def contents(path: Path) -> list[bytes]:
    """A file's bytes, and where these are compressed what they hold: pages hide what a search would find."""
    held = [path.read_bytes()]
    if path.suffix == ".parquet":
        held.append(repr(pl.read_parquet(path, glob=False).rows()).encode())
    elif path.suffix == ".html":
        held.append(repr(packed(path)).encode())
    elif path.suffix == ".duckdb":
        with duckdb.connect(path, read_only=True) as connection:
            tables = [row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
            held += [repr(connection.execute(f'SELECT * FROM "{table}"').fetchall()).encode() for table in tables]
            held.append(repr(connection.execute("SELECT sql FROM duckdb_tables()").fetchall()).encode())
    return held


def test_no_canary_is_said(private: Private) -> None:
    said = private.said.encode()
    assert b"noise.sqlite" in said
    assert b"cannot be used" in said  # what is wrong with semantics.yml is told, though not what stands there
    assert [canary for canary in private.canaries.written() if canary in said] == []


def test_the_corpus_is_whole_and_its_formula_survives(private: Private) -> None:
    examples = private.version.examples().collect()
    assert examples.height == 40
    assert {database["values"] for database in private.version.manifest["databases"]} == {"synthetic"}
    assert {table for row in examples["tables"] for table in row} >= {"client", "visit"}
    assert examples.filter(pl.col("question").str.contains("_")).is_empty()
