"""Gen-as-Check of a version by models: `agro align`, and `python -m agro_train.aligning --config settings.json`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agro_data.config import RunConfig, cache_folder
from agro_data.progress import Lines, Reporter, silent
from agro_data.publish.read import Version, open_version
from agro_train.programs.settings import (
    SettingsError,
    check_counts,
    check_finite,
    check_seed,
    settings_of_program,
)

if TYPE_CHECKING:
    from agro_data.alignment.solvers import Solver
    from agro_data.databases.hostile.sandbox import Sandbox
    from agro_data.llm.accounting import Spending
    from agro_data.stages.aligned import Referees
    from agro_train.agents.opening import Found

Told = Callable[[str], object]


@dataclass(frozen=True)
class AlignConfig:
    """The corpus to check, the models that check it, and their paths."""

    corpus: str = ""  # a corpus version; the newest below `data`, if empty
    databases: str = ""  # its databases; where they were when it was built, if empty
    solvers: tuple[str, ...] = ()  # who answers: runs, folders, Hub ids, addresses of servers; at least one
    samples: int = 5  # answers of each solver in a cycle
    temperature: float = 0.7  # of the solvers
    direct: bool = False  # ask solvers that were not trained here for a query at once, not in turns
    need: int = 3  # answers that must agree
    cycles: int = 3  # at most so many rounds
    judge: str = ""  # model that judges divergences and mends: an address, a Hub id or a folder
    seed: int = 0  # same seed, same answers
    models: str = "models"  # the folder of trained runs
    data: str = "datasets"  # the folder of the corpora
    cache: str = ""  # answers and finished databases; `$AGRO_CACHE` or beside `data`, if empty
    workers: int = 2  # processes that run SQL

    def __post_init__(self) -> None:
        if not self.solvers:
            raise SettingsError("solvers is empty: name at least one that answers, such as promoted or an address")
        check_counts(self, "samples", "need", "cycles", "workers")
        check_seed(self)
        check_finite(self)
        self.check_need(len(set(self.solvers)))
        if self.temperature < 0:
            raise SettingsError(f"temperature is {self.temperature}: 0 or more")
        if self.samples > 1 and self.temperature == 0:
            raise SettingsError(
                f"{self.samples} samples at temperature 0 are all the same: give a temperature, say 0.7"
            )

    def check_need(self, solvers: int) -> None:
        """Raise `SettingsError` where so many `solvers` give fewer answers than must agree."""
        asked = self.samples * solvers
        if self.need > asked:
            raise SettingsError(
                f"need is {self.need}, but only {asked} answers are asked for (samples of each solver): nothing could "
                "be confirmed; ask for more samples, or need fewer answers"
            )


def align(
    config: AlignConfig,
    progress: Reporter = silent,
    refused: Told = lambda said: None,
    note: Told = lambda said: None,
) -> tuple[Version, Mapping[str, Spending]]:
    """The version that holds what was confirmed, and what the judge's model took by stage.

    `refused` is told what a solver's server said, for each question that it would not answer, and `note` what is worth
    knowing of the solvers. After an interruption finished parts are not asked again. Raises `ConfigError` and
    `NoVersion` for what is not there, `SettingsError` where too few solvers differ, like `find_sources` and like
    `align_version`.
    """
    from agro_data.databases.hostile.sandbox import Sandbox  # noqa: PLC0415 (so that --help is quick)
    from agro_data.databases.types import STEPS, Limits  # noqa: PLC0415
    from agro_data.stages.aligned import align_version  # noqa: PLC0415
    from agro_train.runs.corpora import find_corpus, find_databases_of  # noqa: PLC0415
    from agro_train.tasks import find_sources  # noqa: PLC0415

    out = Path(config.data)
    run = RunConfig(out=out, cache=Path(config.cache) if config.cache else None, workers=config.workers)
    cache = cache_folder(run)
    version = find_corpus(out, config.corpus)
    sources = find_sources(version, find_databases_of(version, config.databases), cache / "profiles")
    homes = {name: (source.database, source.profile) for name, source in sources.items()}
    limits = Limits(seconds=run.seconds, steps=STEPS)  # as in a build: a gold that it verified runs here, too
    with ExitStack() as open_, Sandbox(run.workers, limits) as sandbox:
        referees = _referees(config, open_, sandbox, cache, refused, note)
        made = align_version(version, homes, out, referees, sandbox, cache, progress=progress)
    return open_version(made), referees.spent


def _referees(
    config: AlignConfig, open_: ExitStack, sandbox: Sandbox, cache: Path, refused: Told, note: Told
) -> Referees:
    """The checkers: the solvers, and the judge's model for everything else that a model does. `open_` closes them.

    A model that has two names, or stands in two folders, is asked once: its answers would be the same twice, and seem
    to confirm each other.
    """
    from agro_data.alignment.cycles import Rule  # noqa: PLC0415
    from agro_data.alignment.judge import Referee  # noqa: PLC0415
    from agro_data.alignment.regenerate import Regenerator  # noqa: PLC0415
    from agro_data.alignment.tournament import model_prefers  # noqa: PLC0415
    from agro_data.llm.client import Client  # noqa: PLC0415
    from agro_data.llm.writers import open_writer  # noqa: PLC0415
    from agro_data.prompts.judge import JUDGE  # noqa: PLC0415
    from agro_data.stages.aligned import Referees  # noqa: PLC0415
    from agro_train.agents.choosing import told_apart  # noqa: PLC0415

    called = _of_other_weights(told_apart(config.solvers, Path(config.models), cache))
    if len(called) < len(config.solvers):
        few = f"{len(config.solvers)} solvers are named, of which {len(called)} differ"
        note(f"{few}: {', '.join(called)}; each of these is asked once")
    config.check_need(len(called))
    asked = [_solver(own, found, config, open_, sandbox, cache, refused) for own, found in called.items()]
    rule = Rule(config.need, config.cycles)
    if not config.judge:
        return Referees(asked, rule, Regenerator(sandbox), facts={"judge": "outvoted", "seed": config.seed})
    client = open_.enter_context(Client(open_writer(config.judge), cache))
    facts = {"judge": dict(client.backend.identity), "prompt": JUDGE.version, "seed": config.seed}
    regenerate = Regenerator(sandbox, model_prefers(client), client)
    return Referees(asked, rule, regenerate, Referee(client, sandbox), facts, client.spent)


def _of_other_weights(called: dict[str, Found]) -> dict[str, Found]:
    """The first of each of the models that are copies of one."""
    from agro_train.agents.endpoint import Server  # noqa: PLC0415
    from agro_train.language_model.loading import hash_as_read  # noqa: PLC0415
    from agro_train.runs.store import ModelRun  # noqa: PLC0415

    first: dict[str, str] = {}
    for own, found in called.items():
        if isinstance(found, Server):  # whose weights nobody sees
            first[own] = own
        else:
            first.setdefault(hash_as_read(found.model if isinstance(found, ModelRun) else found.path), own)
    return {own: called[own] for own in first.values()}


def _solver(
    own: str, found: Found, config: AlignConfig, open_: ExitStack, sandbox: Sandbox, cache: Path, refused: Told
) -> Solver:
    """A model as a solver that is called its `own` name."""
    from agro_train.agents.opening import open_agent  # noqa: PLC0415
    from agro_train.solving import agent_solver  # noqa: PLC0415
    from agro_train.tasks import PromptFormat  # noqa: PLC0415

    prompt_format = PromptFormat(direct=config.direct)
    agent = replace(open_agent(found, Path(config.models), cache, prompt_format=prompt_format), name=own)
    open_.callback(agent.close)
    return agent_solver(
        agent,
        sandbox,
        cache,
        samples=config.samples,
        temperature=config.temperature,
        seed=config.seed,
        refused=refused,
    )


def refusals(said: Sequence[str]) -> list[str]:
    """A line on the questions that servers refused, or that models cannot read, if there are any."""
    return [f"refused were {len(said):,} questions, which count as not answered; first: {said[0]}"] if said else []


def _say(line: str) -> None:
    print(line, flush=True)


def main() -> None:
    """Align as a settings file says; the last line is JSON: the version's folder, and what its judge took."""
    config = settings_of_program(AlignConfig, "agro_train.aligning", __doc__)
    said: list[str] = []
    try:
        made, spent = align(config, Lines(_say), said.append, _say)
    finally:
        print("".join(f"{line}\n" for line in refusals(said)), end="", flush=True)
    told = {"phase": "alignment", "version": str(made.path)}
    print(json.dumps(told | {"spent": {stage: asdict(took) for stage, took in spent.items()}}), flush=True)


if __name__ == "__main__":
    main()
