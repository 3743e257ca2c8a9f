"""`agro ask`: a trained model answers a question about a database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from agro_data.config import ConfigError, RunConfig, cache_folder
from agro_data.databases.discovery.watching import glance
from agro_data.databases.files.data_files import is_utf8
from agro_data.pairs.finding import KINDS
from agro_data.protocol import number_text
from agro_data.shown import print_json
from agro_data.terminal.running import FAILED_SOME
from agro_data.terminal.showing import doing, say, shortened, show_result, tell
from agro_data.terminal.streams import screen
from agro_data.terminal.verb import Verb
from agro_data.verbs.options import A_PATH, json_of
from agro_data.words import counted
from agro_train.verbs import options

if TYPE_CHECKING:
    from agro_data.databases.types import Database
    from agro_train.asking import Reply

SHOWN_ROWS = 20
WROTE = 500  # characters of what is no answer


@click.command(name="ask", cls=Verb)
@click.argument("question")
@click.option("--database", type=A_PATH, required=True, help="A SQLite or DuckDB file, or a folder of Parquet or CSV.")
@click.option("--model", default="promoted", show_default=True, help="A trained run, a folder, a Hub id or a URL.")
@click.option("--evidence", default=None, help="Knowledge that the question needs and does not say.")
@options.decoding
@options.samples
@click.option(
    "--names/--any-names",
    default=None,
    help="SQL may name only what the schema has.  [default: names, with a model that runs here]",
)
@click.option(
    "--check/--no-check",
    default=True,
    show_default=True,
    help="Show `agro verify`'s findings; of several answers only those with the least grave ones vote.",
)
@options.style
@options.budget
@options.direct
@options.turn_tokens
@options.rollout_tokens
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Same seed, same answer.")
@options.models_root
@json_of("answer")
def ask_command(
    question: str,
    database: Path,
    model: str,
    evidence: str | None,
    decoding: str,
    samples: int,
    names: bool | None,
    check: bool,
    style: str,
    budget: int,
    direct: bool,
    turn_tokens: int,
    rollout_tokens: int,
    seed: int,
    models_root: Path,
    as_json: bool,
) -> None:
    """Answer a question about a database, showing each step, the SQL, the result, and findings against it.

    The promoted model answers; --model names another. Ends with 1 when there is no answer, or it does not run.

    \b
    Examples:
      agro ask --database shop.sqlite "Which customers have never ordered anything?"
      agro ask --database shop.sqlite --model HuggingFaceTB/SmolLM2-135M-Instruct "How many orders are there?"
    """
    from agro_train.agents.opening import open_agent  # noqa: PLC0415 (so that --help is quick)
    from agro_train.asking import ask, find_database  # noqa: PLC0415
    from agro_train.decoding import decoding_named  # noqa: PLC0415
    from agro_train.rollouts import Limits  # noqa: PLC0415
    from agro_train.runs.prompt_format import prompt_format_named  # noqa: PLC0415
    from agro_train.sampling.types import RestrictedSampler  # noqa: PLC0415

    if not question.strip():
        raise ConfigError("the question is empty: say in words what the database is to be asked")
    for what, said in (("the question", question), ("--evidence", evidence or "")):
        if not is_utf8(said):
            raise ConfigError(f"{what} is not UTF-8: {said!r}; write it in a terminal that is")
    prompt_format = prompt_format_named(style, budget, direct=direct)
    found, problems = find_database(database)
    cache = cache_folder(RunConfig())
    with doing() as told:
        told(f"loads {model}")
        limits = Limits(turn_tokens, rollout_tokens)
        agent = open_agent(model, models_root, cache, prompt_format=prompt_format, dtype="auto", limits=limits)
        if names is None:
            names = isinstance(agent.sampler, RestrictedSampler) and not agent.prompt_format.direct
        how = decoding_named(decoding, samples, names=names, checks=check, direct=agent.prompt_format.direct)
        seen = glance(found.path)
        reply = ask(
            question,
            found,
            agent,
            cache,
            evidence=evidence,
            decoding=how,
            seed=seed,
            check=check,
            doing=told,
        )
    print_json(reply.as_dict()) if as_json else _show(reply)
    tell([*problems, *reply.notes], "dim")
    if reply.not_shown and agent.run is None:
        tell([f"--budget shows it more than {budget:,} tokens of the schema"], "dim")
    if reply.result is None:
        ending = options.TRUNCATED if reply.ending == "truncated" else reply.ending
        tell([f"{reply.model} gave no answer: {ending}"], "yellow")
        if reply.last_turn:
            tell([f"it wrote: {shortened(' '.join(reply.last_turn.split()), WROTE)}"], "dim")
        if agent.run is None and not agent.prompt_format.direct and reply.ending.startswith("malformed"):
            tell([options.ASK_DIRECTLY], "dim")
    ran = reply.result is not None and reply.result.ok
    if not ran and _changed(database, found, seen):
        tell([f"{database}: was changed while it was asked about; ask again"], "yellow")
    elif reply.findings and decoding == "greedy":
        tell(["--decoding vote draws several answers; only those with the least grave findings vote"], "dim")
    if not ran:
        raise SystemExit(FAILED_SOME)


def _changed(path: Path, before: Database, seen: str) -> bool:
    """Whether the database at `path` is another one now than it was at that glance."""
    from agro_train.asking import find_database  # noqa: PLC0415

    try:
        return glance(before.path) != seen and find_database(path)[0].content_hash != before.content_hash
    except (OSError, ConfigError):  # it is gone, or one that cannot be used
        return True


def _show(reply: Reply) -> None:
    for number, step in enumerate(reply.steps, start=1):
        say(step.turn.thought, first=f"{number}. ", rest="   ")
        if step.observation is not None:
            say(step.turn.text, first="   ", rest="     ", style="bold")
            for line in step.observation.splitlines():
                say(line, first="   ", rest="     ", style="dim")
    if reply.result is None:
        return
    screen.print()
    say(reply.sql, rest="  ", style="bold")
    screen.print()
    if not reply.result.ok:
        say(f"Error: {reply.result.error or reply.result.status}", style="red")
        _show_findings(reply)
        return
    names = [name or f"column {place}" for place, name in enumerate(reply.result.columns, start=1)]
    show_result(names, [[*map(_cell, row)] for row in reply.result.rows[:SHOWN_ROWS]])
    rows, seconds = reply.result.row_count, f"{reply.seconds:.1f} s"
    more = f", the first {SHOWN_ROWS} shown" if rows > SHOWN_ROWS else ""
    say(f"{counted(rows, 'rows')}{more}; {reply.model}, {seconds}", style="dim")
    _show_findings(reply)


def _show_findings(reply: Reply) -> None:
    """Shows an answer's findings; if the answer does not run, only mended SQL."""
    if reply.result is None or reply.findings is None:
        return
    if reply.result.ok and not reply.findings:
        say("Nothing speaks against it.", style="dim")
    for finding in reply.findings:
        severity = KINDS[finding.kind].severity
        style = "dim" if severity == "note" else "yellow"
        if reply.result.ok:
            say(finding.says, first=f"{severity}: ", rest="  ", style=style)
        if finding.mended:
            say(finding.mended, first="mended: ", rest="  ", style=style)


def _cell(cell: object) -> str:
    """As it is stored: a year is no amount, and gets no separators."""
    if cell is None:
        return "NULL"
    if isinstance(cell, float):
        return number_text(cell)
    return f"x'{cell.hex()}'" if isinstance(cell, bytes) else str(cell)
