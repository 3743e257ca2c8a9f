"""A corpus checked by models: one asset and its job, beside the chain of a build, as with `agro align`.

(No postponed annotations here: Dagster reads the config's type from them.)
"""

import json
from pathlib import Path

import dagster as dg
from pydantic import Field

from agro_data.defs.jobs import job_in_process
from agro_data.defs.place import Place
from agro_data.llm.accounting import Spending
from agro_data.publish.read import open_version
from agro_train.aligning import AlignConfig
from agro_train.defs import metadata
from agro_train.defs.assets import OWNER, Result
from agro_train.defs.child import program, run_child
from agro_train.defs.settings import usable, written
from agro_train.defs.training import Training
from agro_train.runs.store import PROMOTED


class AlignmentConfig(dg.Config):
    """How the corpus that the resource training names is checked, and by which models."""

    solvers: list[str] = Field([PROMOTED], description="Who answers: runs, folders, Hub ids, addresses of servers.")
    samples: int = Field(5, description="Answers of each solver in a cycle.")
    temperature: float = Field(0.7, description="Of the solvers.")
    direct: bool = Field(False, description="Ask solvers that were not trained here for a query at once, not in turns.")
    need: int = Field(3, description="Answers that must agree.")
    cycles: int = Field(3, description="At most so many rounds.")
    judge: str = Field("", description="Model that judges divergences and mends; none: solvers outvote a gold.")
    seed: int = Field(0, description="Same seed, same answers.")


@dg.asset(group_name="alignment", owners=[OWNER], kinds={"sqlite", "huggingface"}, deps=[dg.AssetKey("corpus")])
def aligned_corpus(
    context: dg.AssetExecutionContext,
    config: AlignmentConfig,
    place: Place,
    training: Training,
    pipes: dg.PipesSubprocessClient,
) -> Result:
    """The next version of a corpus: what models that do not see its SQL confirm, mended where a judge says so; the
    rest in its rejected rows. Holds the pool gpu while models run here, and network while servers are asked.
    """
    corpus = training.corpus_in(context, place)
    settings = config.model_dump() | {
        "corpus": str(corpus.path),
        "databases": str(training.databases_of(corpus)),
        "models": str(training.models_root),
        "data": str(place.out),
        "cache": str(place.cache),
        "workers": place.workers,
    }
    file = written(usable(AlignConfig, settings), place)
    asked = [name for name in (*config.solvers, config.judge) if name]
    context.log.info(f"corpus: {corpus.corpus} {corpus.name}; asked: {', '.join(asked)}")
    command = program("agro_train.aligning", "--config", str(file))
    told = json.loads(run_child(context, pipes, command, models=asked))
    made = open_version(Path(told["version"]))
    spent = {stage: Spending.from_dict(took) for stage, took in told["spent"].items()}
    return dg.MaterializeResult(value=str(made.path), metadata=metadata.of_alignment(made, spent, place.prices))


align_corpus = job_in_process(
    "align_corpus",
    dg.AssetSelection.assets(aligned_corpus),
    "Models answer the questions of a corpus without its SQL: the next version holds what they confirm.",
)
