"""The experiments of docs/experiments.md: each arm is trained with each seed, and all are asked the same questions.

    python -m bench.experiments E1 --corpus OUT/bench/v0001-... --databases ../shared/data/spider/database \
        --pairs ../shared/data/spider/train.json --questions ../shared/data/spider/dev.json --examples 2400

An arm is a list of stages, each with the settings that it changes. Arms that begin alike share what they begin with: a
run that was made with the same settings is not made again. The table gives, for each arm, means over seeds and the
paired difference to the first arm, of all seeds together, clustered by database.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from agro_data.errors import InWords
from agro_data.evaluation.statistics import paired
from agro_data.models import DEFAULT_WRITER
from agro_data.publish.read import open_version
from agro_train import cold_start, grpo
from agro_train.comparison.figures import Compared
from agro_train.evaluate import EvaluationConfig, evaluate_models
from agro_train.programs.settings import SettingsError, settings_from
from agro_train.questions import SeenInTraining, questions_of_file
from agro_train.reinforcement.config import GrpoConfig
from agro_train.runs.corpora import held_back
from agro_train.runs.store import ModelRun
from bench.parts.machine import description

Stage = tuple[str, Mapping[str, Any]]  # "cold_start" or "grpo", and settings
Arm = Sequence[Stage]

# Settings in capitals are files that the command line names.
OURS: Stage = ("cold_start", {})
HUMAN: Stage = ("cold_start", {"corpus": "", "pairs": "PAIRS"})
BOTH: Stage = ("cold_start", {"pairs": "PAIRS"})  # as many of each as the others have
CERTIFIED: Stage = ("cold_start", {"corpus": "", "pairs": "CERTIFIED"})
LUCKY: Stage = ("cold_start", {"corpus": "", "pairs": "LUCKY"})
NEXT: Stage = ("cold_start", {"corpus": "NEXT"})
START: Stage = ("cold_start", {"leave": 0.2})  # databases that GRPO then learns about
SIZES = (250, 1_000, 4_000, 16_000)

EXPERIMENTS: Mapping[str, Mapping[str, Arm]] = {
    "E1": {"human": [HUMAN], "ours": [OURS], "both": [BOTH]},
    "E2": {"random": [("cold_start", {"selection": "random"})], "diverse": [OURS]},
    "E3": {"certified golds": [CERTIFIED], "lucky golds": [LUCKY]},
    "E3-rewards": {
        "reward on one database": [START, ("grpo", {"instances": 0.0})],
        "reward on all instances": [START, ("grpo", {})],
    },
    "E4": {"cold start": [START], "GRPO alone": [("grpo", {})], "cold start, GRPO": [START, ("grpo", {})]},
    "E6": {advantage: [START, ("grpo", {"advantage": advantage})] for advantage in ("grpo", "gigpo", "spa", "pav")},
    "E7": {
        "rows on all instances": [START, ("grpo", {})],
        "rows on half of the instances": [START, ("grpo", {"instances": 0.5})],
        "rows on the database": [START, ("grpo", {"instances": 0.0})],
        "sets of rows on the database": [START, ("grpo", {"instances": 0.0, "comparison": "bird"})],
    },
    "E8": {
        f"{name} {size:,}": [(kind, {**settings, "examples": size})]
        for size in SIZES
        for name, (kind, settings) in (
            ("human", HUMAN),
            ("ours", OURS),
            ("ours at random", ("cold_start", {"selection": "random"})),
        )
    },
    "E9": {"round 1": [OURS], "round 2": [NEXT]},
    "E10": {
        "names as they are": [OURS],
        "names spelt otherwise": [("cold_start", {"respell": 0.75})],
        "names as they are, read twice": [("cold_start", {"epochs": 2.0})],
        "each question with its names and with others": [("cold_start", {"respell": 1.0, "respell_beside": True})],
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("experiment", choices=sorted(EXPERIMENTS))
    parser.add_argument("--corpus", required=True, help="a version's folder")
    parser.add_argument("--databases", required=True)
    parser.add_argument("--pairs", default="", help="human questions with SQL, on databases of the corpus' train split")
    parser.add_argument("--lucky", type=Path, help="the folder that bench.lucky_golds has written (E3)")
    parser.add_argument("--next", default="", help="the version that follows --corpus, by its focus (E9)")
    parser.add_argument("--questions", nargs="+", default=[], help="files that the models are asked, beside the corpus")
    parser.add_argument("--model", default=DEFAULT_WRITER)
    parser.add_argument("--examples", type=int, default=2_400)
    parser.add_argument("--steps", type=int, default=100, help="of GRPO")
    parser.add_argument("--limit", type=int, default=0, help="questions of each set; 0: all")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--arms", nargs="+", default=[], help="only these, the first is what others are held to")
    parser.add_argument("--out", type=Path, default=Path("experiments"))
    parser.add_argument("--cold-start", type=json.loads, default={}, help="further settings, as JSON")
    parser.add_argument("--grpo", type=json.loads, default={}, help="further settings, as JSON")
    parser.add_argument("--evaluate", type=json.loads, default={}, help="further settings, as JSON")
    given = parser.parse_args()
    models, cache = str(given.out / "models"), str(given.out / "cache")
    places = {"databases": given.databases, "models": models, "cache": cache}
    common = {
        "cold_start": places
        | {"corpus": given.corpus, "model": given.model, "examples": given.examples, "trajectories": str(given.out)}
        | given.cold_start,
        "grpo": places | {"corpus": given.corpus, "model": given.model, "steps": given.steps} | given.grpo,
    }
    files = {"PAIRS": given.pairs, "NEXT": given.next}
    if given.lucky:
        files |= {"CERTIFIED": str(given.lucky / "certified.json"), "LUCKY": str(given.lucky / "lucky.json")}
    try:
        arms = named(EXPERIMENTS[given.experiment], files)
    except KeyError as missing:
        parser.error(f"{given.experiment} needs a file for {missing.args[0]}: give --pairs, --lucky or --next")
    if unknown := sorted({*given.arms} - {*arms}):
        parser.error(f"{given.experiment} has no arm {unknown[0]!r}: {', '.join(arms)}")
    arms = {name: arms[name] for name in given.arms or arms}
    asked = {
        # round 2 may learn from databases of the corpus' test split
        "corpus": "" if given.experiment == "E9" else given.corpus,
        "questions": given.questions,
        "databases": given.databases,
        "out": str(given.out / given.experiment),
        "models_root": models,
        "cache": cache,
        "limit": given.limit,
    } | given.evaluate
    try:
        refuse(arms, common, settings_from(EvaluationConfig, asked | {"models": [given.model]}))
    except InWords as error:
        parser.error(str(error))
    runs = {name: [train(arm, common, seed) for seed in given.seeds] for name, arm in arms.items()}
    asked["models"] = list(dict.fromkeys(str(run.path) for each in runs.values() for run in each))
    figures = [table(compared, runs) for compared in evaluate_models(settings_from(EvaluationConfig, asked))]
    print(json.dumps({"machine": description(), "experiment": given.experiment, "sets": figures}, indent=1))


def named(arms: Mapping[str, Arm], files: Mapping[str, str]) -> dict[str, Arm]:
    """`arms` with the `files` that their settings name in capitals. Raises `KeyError` where one is not given."""

    def filled(value: Any) -> Any:
        wanted = isinstance(value, str) and value.isupper()
        if wanted and not files.get(value):
            raise KeyError(value)
        return files[value] if wanted else value

    return {
        name: [(kind, {key: filled(value) for key, value in settings.items()}) for kind, settings in arm]
        for name, arm in arms.items()
    }


def refuse(arms: Mapping[str, Arm], common: Mapping[str, Mapping[str, Any]], asked: EvaluationConfig) -> None:
    """Raise, before hours of training, what a later stage or the evaluation would: settings that cannot be used,
    prompts that GRPO would write otherwise than its start, and pairs about databases that the corpus holds back.
    """
    for name, arm in arms.items():
        read: list[tuple[str, int, int]] = []
        for stage in arm:
            config = configured(stage, common, asked.seed)
            read.append((config.style, config.budget, config.turns))
            if read[-1] != read[0]:
                raise SettingsError(
                    f"{name}: GRPO starts from a model with style, budget and turns {read[0]} and has {read[-1]}: give "
                    "--grpo and --cold-start the same"
                )
            if isinstance(config, cold_start.ColdStartConfig):
                _refuse_pairs(name, config, asked)


def _refuse_pairs(arm: str, config: cold_start.ColdStartConfig, asked: EvaluationConfig) -> None:
    holds = ("" if asked.allow_seen else asked.corpus) or ("" if config.allow_evaluated else config.corpus)
    if not config.pairs or not holds:
        return
    pairs = questions_of_file(Path(config.pairs), Path(config.databases), Path(config.cache))
    if held := held_back(open_version(Path(holds)), pairs.contents().values()):
        raise SeenInTraining(
            f"{arm}: {config.pairs} is about {len(held)} databases that {holds} holds back for evaluation "
            f"({', '.join(held[:3])}): leave these pairs out (docs/experiments.md, At a larger size)"
        )


def configured(
    stage: Stage, common: Mapping[str, Mapping[str, Any]], seed: int, start: ModelRun | None = None
) -> cold_start.ColdStartConfig | GrpoConfig:
    """The settings of a stage that goes on from `start`. Raises `SettingsError`."""
    kind, changed = stage
    settings = {**common[kind], **changed, "seed": seed}
    if settings.get("pairs") and settings["corpus"]:
        settings["examples"] *= 2  # as many of each
    if settings.get("respell_beside"):
        settings["examples"] *= 2  # each question stands in two
    if start is not None:
        settings["model"] = str(start.path)
    if kind == "grpo":
        return settings_from(GrpoConfig, settings)
    return settings_from(cold_start.ColdStartConfig, settings)


def train(arm: Arm, common: Mapping[str, Mapping[str, Any]], seed: int) -> ModelRun:
    """The last run of an arm; each stage starts from the one before."""
    run: ModelRun | None = None
    for stage in arm:
        config = configured(stage, common, seed, run)
        run = grpo.train(config, _said) if isinstance(config, GrpoConfig) else cold_start.train(config, _said)
    if run is None:
        raise ValueError("an arm without a stage trains nothing")
    return run


def table(compared: Compared, runs: Mapping[str, Sequence[ModelRun]]) -> dict[str, Any]:
    """Figures of each arm on one set of questions."""
    scored = {one.model: one for one in compared.models}
    told = {one["model"]: one for one in compared.figures["models"]}
    first = next(iter(runs))
    rows: list[dict[str, Any]] = []
    for name, each in runs.items():
        row: dict[str, Any] = {"arm": name, "seeds": len(each)}
        for rate in ("format_rate", "execution_rate"):
            row[rate] = round(mean(told[run.name][rate] for run in each), 4)
        for metric in compared.figures["metrics"]:
            verdicts = [verdict for run in each for verdict in scored[run.name].verdicts(metric)]
            before = [verdict for run in runs[first] for verdict in scored[run.name].verdicts(metric)]
            row[metric] = {
                "mean": round(mean(verdict.score for verdict in verdicts), 4),
                "by_seed": [round(mean(v.score for v in scored[run.name].verdicts(metric)), 4) for run in each],
                **({"against_first": paired(verdicts, before)} if name != first else {}),
            }
        rows.append(row)
    return {"questions": compared.figures["questions"], "count": compared.figures["count"], "arms": rows}


def _said(line: Mapping[str, Any]) -> None:
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
