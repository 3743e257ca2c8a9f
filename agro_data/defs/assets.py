"""The assets of a corpus, left to right: each one runs one stage of `agro_data.pipeline` and shows what it did.

What flows between assets is the path of the work folder. Stages store their own shards there, so a run that is
started again does only what is missing. (No postponed annotations here: Dagster reads the config's type from them.)
"""

from pathlib import Path

import dagster as dg

from agro_data.config import DEFAULT_MODEL, BuildConfig, RunConfig
from agro_data.defs import metadata
from agro_data.defs.place import Place
from agro_data.pipeline import STAGES, open_work, prepare, run_stage, write_corpus
from agro_data.populate.samples import build_samples
from agro_data.progress import Lines
from agro_data.publish.read import open_version
from agro_data.publish.report import render_report
from agro_data.work import atomic_path

GROUP = "corpus"
OWNER = "team:agro"


class CorpusConfig(dg.Config):
    """What to build. The defaults build a corpus of the shipped sample databases."""

    databases: str = ""  # a database or a folder of them; empty: the samples, which are made first
    name: str = "samples"
    size: int = 2_000
    seed: int = 0
    only: list[str] = []  # noqa: RUF012  (dagster.Config is a pydantic model: its defaults are copied)
    styles_per_sql: int = 1
    values: str = "source"
    split_by: str = "auto"
    exclude: list[str] = []  # noqa: RUF012
    query_log: str = ""
    embedding_model: str = DEFAULT_MODEL
    oversample: float = 1.8

    def settings(self, databases: Path) -> BuildConfig:
        return BuildConfig.from_dict(self.model_dump() | {"databases": str(databases)})


Result = dg.MaterializeResult[str]


@dg.asset(group_name=GROUP, owners=[OWNER], kinds={"sqlite", "duckdb"})
def databases(context: dg.AssetExecutionContext, config: CorpusConfig, place: Place) -> Result:
    """The source databases: found, identified by content, and listed with what was left out."""
    source = Path(config.databases) if config.databases else place.samples
    if not config.databases:
        build_samples(source)
    prepared = prepare(config.settings(source), RunConfig(out=place.out, cache=place.cache))
    context.log.info(f"work folder: {prepared.work.root}")
    return dg.MaterializeResult(value=str(prepared.work.root), metadata=metadata.of_databases(prepared))


@dg.asset(group_name=GROUP, owners=[OWNER], kinds={"polars"})
def profiles(context: dg.AssetExecutionContext, databases: str, place: Place) -> Result:
    """Tables, keys, column roles, value statistics and natural names of each database."""
    return _stage(context, "profiles", databases, place)


@dg.asset(group_name=GROUP, owners=[OWNER], kinds={"sqlglot"})
def candidates(context: dg.AssetExecutionContext, profiles: str, place: Place) -> Result:
    """SQL candidates: intents sampled from the profiles, rendered in the source's dialect. Nothing has run yet."""
    return _stage(context, "candidates", profiles, place)


@dg.asset(group_name=GROUP, owners=[OWNER], kinds={"sqlite", "duckdb"})
def verified(context: dg.AssetExecutionContext, candidates: str, place: Place) -> Result:
    """Candidates that passed the gate, ran in the sandbox, do not depend on chance and say something."""
    return _stage(context, "verified", candidates, place)


@dg.asset(group_name=GROUP, owners=[OWNER], kinds={"python"})
def questions(context: dg.AssetExecutionContext, verified: str, place: Place) -> Result:
    """The question of each verified query, rendered from the same intent, in one of six styles."""
    return _stage(context, "questions", verified, place)


@dg.asset(group_name=GROUP, owners=[OWNER], kinds={"polars"})
def distinct(context: dg.AssetExecutionContext, questions: str, place: Place) -> Result:
    """Pairs without exact or skeleton duplicates, ambiguous questions, or anything held by excluded files."""
    return _stage(context, "distinct", questions, place)


@dg.asset(group_name=GROUP, owners=[OWNER], kinds={"huggingface", "pytorch"})
def embeddings(context: dg.AssetExecutionContext, distinct: str, place: Place) -> Result:
    """One vector a pair: the question's sentence embedding joined with the SQL's structure."""
    return _stage(context, "embeddings", distinct, place)


@dg.asset(group_name=GROUP, owners=[OWNER], kinds={"faiss", "numpy"})
def selection(context: dg.AssetExecutionContext, embeddings: str, place: Place) -> Result:
    """A diverse sample of the size asked for, under the quotas, in three splits without leaks."""
    return _stage(context, "selection", embeddings, place)


@dg.asset(group_name=GROUP, owners=[OWNER], kinds={"parquet"})
def corpus(context: dg.AssetExecutionContext, selection: str, place: Place) -> Result:
    """The corpus version: Parquet, manifest, dataset card, and everything that was rejected with its reason."""
    version = write_corpus(open_work(Path(selection), place.cache), place.out)
    context.log.info(f"corpus version: {version.path}")
    return dg.MaterializeResult(value=str(version.path), metadata=metadata.of_version(version))


@dg.asset(group_name=GROUP, owners=[OWNER], kinds={"html"})
def corpus_report(corpus: str, place: Place) -> Result:
    """One HTML page about the version, for people; it works offline."""
    version = open_version(Path(corpus))
    page = place.reports / f"{version.path.parent.name}-{version.path.name}.html"
    with atomic_path(page) as temporary:
        temporary.write_text(render_report(version), encoding="utf-8")
    return dg.MaterializeResult(value=str(page), metadata={"report": dg.MetadataValue.url(page.as_uri())})


ASSETS = [
    databases,
    profiles,
    candidates,
    verified,
    questions,
    distinct,
    embeddings,
    selection,
    corpus,
    corpus_report,
]


def _stage(context: dg.AssetExecutionContext, name: str, root: str, place: Place) -> Result:
    if name not in STAGES:
        raise dg.Failure(f"no stage {name}")
    work = open_work(Path(root), place.cache)
    report = run_stage(name, work, place.workers, Lines(context.log.info))
    for problem in report.problems:
        context.log.warning(problem)
    return dg.MaterializeResult(value=root, metadata=metadata.of_stage(work, report))
