"""The assets of a corpus, left to right: each one runs one stage of `agro_data.pipeline` and shows what it did.

What flows between assets is the path of the work folder. Stages store their own shards there, so a run that is
started again does only what is missing. (No postponed annotations here: Dagster reads the config's type from them.)
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field

from agro_data.config import DEFAULT_MODEL, BuildConfig, ConfigError, Generator, SplitBy, Values, Wording
from agro_data.defs import metadata
from agro_data.defs.failures import said
from agro_data.defs.handing_on import IF_MADE
from agro_data.defs.place import Place
from agro_data.defs.pools import DATABASE, NETWORK, holding, pools_of
from agro_data.files import write_text
from agro_data.pipeline import open_work, prepare, run_stage, write_corpus
from agro_data.populate.samples import build_samples
from agro_data.progress import Lines
from agro_data.publish.publication.publishing import publish_version
from agro_data.publish.publication.release import Declaration, PersonalData
from agro_data.publish.read import open_corpus, open_version
from agro_data.publish.report import render_report
from agro_data.software import code_version

GROUP = "corpus"
OWNER = "team:agro"
NO_SETTINGS: dict[str, Any] = {}  # so that one given to the wrong asset is refused and not passed over
# Databases live: a corpus or an evaluation older than a month may speak of a schema that is gone.
FRESH = dg.FreshnessPolicy.time_window(warn_window=timedelta(days=30), fail_window=timedelta(days=90))


class CorpusConfig(dg.Config):
    """What to build, for all stages. The defaults build a corpus of the shipped sample databases."""

    databases: str = Field("", description="A database, or a folder of them. Empty: the samples, which are made first.")
    name: str = Field("demo", description="Name of the corpus: its folder under datasets/.")
    size: int = Field(2_000, description="Rows over all splits.")
    seed: int = Field(0, description="Same seed, same bytes.")
    only: list[str] = Field([], description="Use only databases with these ids.")
    styles_per_sql: int = Field(1, description="Questions for each SQL, 1 to 6.")
    values: Values = Field("source", description="source, or synthetic: no value of the source is written anywhere.")
    split_by: SplitBy = Field("auto", description="auto, database or skeleton.")
    exclude: list[str] = Field([], description="Question/SQL files: drop what they hold.")
    query_log: str = Field("", description="A file of SQL, or a table with some: what is asked there is asked more.")
    log_dialect: str = Field("", description="Whose SQL query_log holds, as postgres; empty: the databases'.")
    focus: str = Field("", description="A file of agro next-round: what the model fails at is asked more.")
    generator: Generator = Field("grammar", description="Who writes SQL: grammar, log (of query_log), llm, or both.")
    writer: str = Field("", description="The model that writes: a Hub id, a folder, vllm:ID, or a server's address.")
    wording: Wording = Field(
        "grammar", description="Who words questions: grammar, or the writer: paraphrase (of the grammar's) or direct."
    )
    phrasings: int = Field(3, description="Replies of writer for each question: the most central good one is kept.")
    embedding_model: str = Field(DEFAULT_MODEL, description="Hub id or path; structural needs no model.")
    oversample: float = Field(1.3, description="Verified queries for each row asked for.")
    views: bool = Field(False, description="Ask of views, too, and not only of those that are described.")
    certify: bool = Field(True, description="Tell each SQL from its mutants on instances made for it.")
    min_kill_rate: float = Field(0.95, description="Mutants killed, of those not proved equivalent, at least.")
    unanswerable: float = Field(0.0, description="Share of rows that the database shown does not answer in one way.")

    def settings(self, databases: Path) -> BuildConfig:
        """The build's settings. Raises `ConfigError` that says which setting cannot be used."""
        return BuildConfig.from_dict(self.model_dump() | {"databases": str(databases)})


Result = dg.MaterializeResult[str]
Making = Callable[[Callable[..., Any]], dg.AssetsDefinition]
CODE = code_version()


def _asset(*, kinds: set[str], **more: Any) -> Making:
    """An asset of a build, whose version changes with the code, as the build's fingerprint does."""
    made: Making = dg.asset(group_name=GROUP, owners=[OWNER], code_version=CODE, kinds=kinds, **more)
    return made


@_asset(kinds={"sqlite", "duckdb"})
def databases(context: dg.AssetExecutionContext, config: CorpusConfig, place: Place) -> Result:
    """The source databases: found, identified by content, and listed with what was left out."""
    source = Path(config.databases) if config.databases else place.samples
    with said():
        if not config.databases:
            context.log.info(f"sample databases: {source}")
            build_samples(source)
        prepared = prepare(config.settings(source), place.run)
    context.log.info(f"work folder: {prepared.work.root}")
    for problem in prepared.work.read_json("catalog.json")["problems"]:
        context.log.warning(f"left out: {problem}")
    return _made(str(prepared.work.root), prepared.fingerprint, metadata.of_databases(prepared))


@_asset(config_schema=NO_SETTINGS, kinds={"polars"}, pool=DATABASE)
def profiles(context: dg.AssetExecutionContext, databases: str, place: Place) -> Result:
    """Tables, keys, column roles, value statistics and natural names of each database."""
    return _stage(context, "profiles", databases, place)


@_asset(config_schema=NO_SETTINGS, kinds={"sqlglot"})
def candidates(context: dg.AssetExecutionContext, profiles: str, place: Place) -> Result:
    """SQL candidates: intents sampled from the profiles, rendered in the source's dialect. Nothing has run yet."""
    return _stage(context, "candidates", profiles, place)


@_asset(config_schema=NO_SETTINGS, kinds={"sqlite", "duckdb"}, pool=DATABASE)
def verified(context: dg.AssetExecutionContext, candidates: str, place: Place) -> Result:
    """Candidates that passed the gate, ran in the sandbox, do not depend on chance and say something."""
    return _stage(context, "verified", candidates, place)


@_asset(config_schema=NO_SETTINGS, kinds={"python"})
def questions(context: dg.AssetExecutionContext, verified: str, place: Place) -> Result:
    """The question of each verified query, rendered from the same intent, in one of six styles."""
    return _stage(context, "questions", verified, place)


@_asset(config_schema=NO_SETTINGS, kinds={"polars"})
def distinct(context: dg.AssetExecutionContext, questions: str, place: Place) -> Result:
    """Pairs without exact or skeleton duplicates, ambiguous questions, or anything held by excluded files."""
    return _stage(context, "distinct", questions, place)


@_asset(config_schema=NO_SETTINGS, kinds={"sqlglot", "sqlite", "duckdb"}, pool=DATABASE)
def certified(context: dg.AssetExecutionContext, distinct: str, place: Place) -> Result:
    """Pairs whose SQL is told from its mutants on augmented instances of its database; each of the others says why."""
    return _stage(context, "certified", distinct, place)


@_asset(config_schema=NO_SETTINGS, kinds={"huggingface", "pytorch"})
def embeddings(context: dg.AssetExecutionContext, certified: str, place: Place) -> Result:
    """One vector a pair: the question's sentence embedding joined with the SQL's structure."""
    return _stage(context, "embeddings", certified, place)


@_asset(config_schema=NO_SETTINGS, kinds={"faiss", "numpy"})
def selection(context: dg.AssetExecutionContext, embeddings: str, place: Place) -> Result:
    """A diverse sample of the size asked for, under the quotas, in three splits without leaks."""
    return _stage(context, "selection", embeddings, place)


@_asset(
    config_schema=NO_SETTINGS,
    kinds={"parquet"},
    metadata={"dagster/column_schema": metadata.column_schema()},
    freshness_policy=FRESH,
)
def corpus(context: dg.AssetExecutionContext, selection: str, place: Place) -> Result:
    """The corpus version: Parquet, manifest, dataset card, and everything that was rejected with its reason. The
    settings of a build are on the asset `databases`.
    """
    with said():
        build = open_work(Path(selection), place.cache)
        version = write_corpus(build, place.out)
    context.log.info(f"corpus version: {version.path}")
    return _made(str(version.path), version.fingerprint, metadata.of_version(version, build, place.prices))


@_asset(config_schema=NO_SETTINGS, kinds={"html"})
def corpus_report(corpus: str, place: Place) -> Result:
    """One HTML page about the version, for people: open its file in a browser; it works offline."""
    with said():
        version = open_version(Path(corpus))
        page = place.reports / f"{version.path.parent.name}-{version.path.name}.html"
        write_text(page, render_report(version))
    return dg.MaterializeResult(value=str(page), metadata={"report": dg.MetadataValue.path(str(page))})


class PublicationConfig(dg.Config):
    """What only a person can say. Nothing is published without a repository and licences."""

    version: str = Field("", description="A version's folder. Empty: the one that the corpus asset made last.")
    repo_id: str = Field(description="ORG/NAME on the Hugging Face Hub; private when it is created.")
    license: str = Field(description="Licence of the rows, such as cc-by-sa-4.0.")
    source_licenses: dict[str, str] = Field(
        description="Licence of each source database by its id; '*' for all others, as in {'*': cc0-1.0}."
    )
    share: list[str] = Field([], description="Databases whose instances may be published; '*' for all.")
    personal_data: PersonalData = Field("refuse", description="Where some is found: refuse, drop or keep.")
    databases: str = Field("", description="The source databases. Empty: where the build found them.")
    public: bool = Field(False, description="A repository that is created is public.")
    dry_run: bool = Field(False, description="Check, make and show all; send nothing.")

    def declared(self) -> Declaration:
        """What a person says. Raises like it."""
        return Declaration(
            license=self.license,
            source_licenses=self.source_licenses,
            share=frozenset(self.share),
            personal_data=self.personal_data,
        )


@dg.asset(
    group_name="publishing",
    owners=[OWNER],
    kinds={"huggingface"},
    pool=NETWORK,
    ins={"corpus": dg.AssetIn(metadata=IF_MADE)},
)
def published_corpus(context: dg.AssetExecutionContext, config: PublicationConfig, corpus: str) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """The version on the Hugging Face Hub: one commit and a tag. The token is read from HF_TOKEN."""
    with said():
        if not (config.version or corpus):
            raise ConfigError("Dagster has not built a corpus yet: say which `version` to publish, or run build_corpus")
        version, declared = open_corpus(Path(config.version or corpus)), config.declared()
        for warning in declared.warnings(version.db_ids):
            context.log.warning(warning)
        made = publish_version(
            version,
            config.repo_id,
            declared,
            databases=Path(config.databases) if config.databases else None,
            private=not config.public,
            dry_run=config.dry_run,
        )
        for warning in made.warnings:
            context.log.warning(warning)
    return dg.MaterializeResult(metadata=metadata.of_publication(made))


ASSETS = [
    databases,
    profiles,
    candidates,
    verified,
    questions,
    distinct,
    certified,
    embeddings,
    selection,
    corpus,
    corpus_report,
]


def _made(value: str, fingerprint: str, shown: Mapping[str, Any]) -> Result:
    """A version made again under the same fingerprint is the same, so assets made from it are not stale."""
    return dg.MaterializeResult(value=value, metadata=shown, data_version=dg.DataVersion(fingerprint))


def _stage(context: dg.AssetExecutionContext, name: str, root: str, place: Place) -> Result:
    with said():
        work = open_work(Path(root), place.cache)
    with holding(context, pools_of(work.config, name)), said():
        report = run_stage(name, work, place.run.workers, Lines(context.log.info))
    context.log.info(f"{name}: {report.rows_in:,} in, {report.rows_out:,} out in {report.seconds:.1f} s")
    for problem in report.problems:
        context.log.warning(problem)
    return _made(root, work.fingerprint, metadata.of_stage(work, report, place.prices))
