"""`agro align`: models answer the questions of a corpus without its SQL; what they confirm is its next version."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agro_data.config import RunConfig, cache_folder
from agro_data.progress import Bars
from agro_data.shown import print_json
from agro_data.terminal import Verb, notes, show_table, tell

if TYPE_CHECKING:
    from agro_data.alignment.solvers import Solver
    from agro_data.databases.sandbox import Sandbox
    from agro_data.stages.aligned import Referees

A_PATH = click.Path(path_type=Path)


@click.command(name="align", cls=Verb)
@click.option("--corpus", default="", metavar="VERSION", help="A corpus version.  [default: the newest below --data]")
@click.option(
    "--databases", type=A_PATH, default=None, help="Its databases.  [default: where they were when it was built]"
)
@click.option(
    "--solver", "solvers", multiple=True, required=True, metavar="NAME", help="Run, folder, Hub id or URL (repeatable)."
)
@click.option("--samples", type=click.IntRange(1), default=5, show_default=True, help="Answers of each solver a cycle.")
@click.option("--temperature", type=click.FloatRange(0.0), default=0.7, show_default=True, help="Of the solvers.")
@click.option("--need", type=click.IntRange(1), default=3, show_default=True, help="Answers that must agree.")
@click.option("--cycles", type=click.IntRange(1), default=3, show_default=True, help="At most so many rounds.")
@click.option(
    "--judge", default="", metavar="NAME", help="Model that judges divergences and mends: URL, Hub id, folder."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same answers.")
@click.option("--models", "models_root", type=A_PATH, default=Path("models"), show_default=True, help="Trained runs.")
@click.option("--data", type=A_PATH, default=Path("datasets"), show_default=True, help="The folder of the corpora.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes that run SQL.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON on standard output.")
def align_command(corpus: str, databases: Path | None, as_json: bool, data: Path, **settings: Any) -> None:
    """Have models answer the questions of a corpus, and keep what they confirm.

    A row is confirmed when --need answers give its SQL's result on every instance. Where they do not, a judge says
    whose fault it is, the faulty part is made anew, and the next cycle asks again. The next version of the corpus holds
    what is confirmed, and what a judge keeps as hard; the rest is in its rejected/, every cycle in its alignment/. What
    is finished when this is interrupted is not asked again.

    \b
    Examples:
      agro align --corpus corpus --solver promoted
      agro align --corpus corpus --solver promoted --solver http://localhost:8000/v1 --judge http://localhost:8000/v1
    """
    from agro_data.databases.sandbox import Sandbox  # noqa: PLC0415 (so that --help is quick)
    from agro_data.llm.accounting import FREE, spending_table  # noqa: PLC0415
    from agro_data.publish.read import open_version  # noqa: PLC0415
    from agro_data.stages.aligned import align_version  # noqa: PLC0415
    from agro_data.verify.pool import LIMITS  # noqa: PLC0415
    from agro_train.corpora import find_corpus, find_databases_of  # noqa: PLC0415
    from agro_train.tasks import find_sources  # noqa: PLC0415

    cache = cache_folder(RunConfig(out=data))
    version = find_corpus(data, corpus)
    folder = find_databases_of(version, str(databases) if databases else "")
    sources = find_sources(version, folder, cache / "profiles")
    homes = {name: (source.database, source.profile) for name, source in sources.items()}
    with ExitStack() as open_, Bars(notes) as progress, Sandbox(settings["workers"], LIMITS) as sandbox:
        referees = _referees(open_, sandbox, cache, **settings)
        made = open_version(align_version(version, homes, data, referees, sandbox, cache, progress=progress))
    found = made.manifest["alignment"]
    spent = spending_table(referees.spent, FREE).to_dicts()
    figures = {"version": made.name, "rows": made.manifest["counts"]["examples"], **found, "spent": spent}
    print_json(figures) if as_json else show_table(found["acceptance"])
    tell([f"{made.path}: {figures['rows']:,} rows"], "dim")


def _referees(
    open_: ExitStack,
    sandbox: Sandbox,
    cache: Path,
    solvers: tuple[str, ...],
    judge: str,
    need: int,
    cycles: int,
    **settings: Any,
) -> Referees:
    """Who checks: the solvers, and the judge's model in all that a model does. `open_` closes them."""
    from agro_data.alignment.cycles import Rule  # noqa: PLC0415
    from agro_data.alignment.judge import Referee  # noqa: PLC0415
    from agro_data.alignment.regenerate import Regenerator  # noqa: PLC0415
    from agro_data.alignment.tournament import model_prefers  # noqa: PLC0415
    from agro_data.llm.client import Client  # noqa: PLC0415
    from agro_data.llm.prompts.judge import JUDGE  # noqa: PLC0415
    from agro_data.llm.writers import open_writer  # noqa: PLC0415
    from agro_data.stages.aligned import Referees  # noqa: PLC0415

    asked = [_solver(name, open_, sandbox, cache, **settings) for name in solvers]
    rule = Rule(need, cycles)
    if not judge:
        return Referees(asked, rule, Regenerator(sandbox), facts={"judge": "outvoted", "seed": settings["seed"]})
    client = open_.enter_context(Client(open_writer(judge), cache))
    facts = {"judge": dict(client.backend.identity), "prompt": JUDGE.version, "seed": settings["seed"]}
    regenerate = Regenerator(sandbox, model_prefers(client), client)
    return Referees(asked, rule, regenerate, Referee(client, sandbox), facts, client.spent)


def _solver(
    name: str,
    open_: ExitStack,
    sandbox: Sandbox,
    cache: Path,
    *,
    models_root: Path,
    samples: int,
    temperature: float,
    seed: int,
    workers: int,
) -> Solver:
    from agro_train.agents import open_agent  # noqa: PLC0415
    from agro_train.solving import agent_solver  # noqa: PLC0415

    agent = open_agent(name, models_root, cache)
    open_.callback(agent.close)
    return agent_solver(agent, sandbox, cache, samples=samples, temperature=temperature, seed=seed)
