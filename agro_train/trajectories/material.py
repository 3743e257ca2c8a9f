"""What a cold start learns from: trajectories made, or read, and chosen.

Trajectories come from a corpus' train split, from pairs that people wrote, or from both. They follow the examples' own
steps, or a model acts, or both. They are chosen for their diversity, stored as a version beside the corpus, and
tokenised as a rollout sees them.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.diversity.embeddings import load_encoder
from agro_data.hashing import seed_of
from agro_data.llm.writers import is_address
from agro_data.profiling.serialising.serialise import serialiser
from agro_data.protocol import VERSION as PROTOCOL
from agro_data.protocol import before_question, render_turn
from agro_data.publish.read import DERIVED, Version, open_version
from agro_train.agents.opening import open_agent
from agro_train.language_model.tokens import OUTSIDE, Example, encode, encode_steps, text_of
from agro_train.programs.settings import SettingsError
from agro_train.questions import COLUMNS, Questions, questions_of_file, questions_of_version
from agro_train.runs.lineage import facts_of, start_hash, start_of
from agro_train.runs.store import Fact
from agro_train.tasks import PromptFormat
from agro_train.trajectories.acting import Teacher, act
from agro_train.trajectories.config import TrajectoriesConfig
from agro_train.trajectories.pairs import as_of_corpus
from agro_train.trajectories.respelling import respelt
from agro_train.trajectories.selection import Chosen, choose, hybrid_vectors
from agro_train.trajectories.store import DROPPED, TRAJECTORY, drop_of, steps_of, tally, write_trajectories
from agro_train.trajectories.teachers import TEACHER, make_trajectories

Report = Callable[[Mapping[str, Any]], object]
NOTICED = 0.05  # share of trajectories that are too long from which on it is said which


@dataclass(frozen=True)
class Material:
    """`trajectories` that are learnt from and where they are stored; how they were chosen, and why others dropped.

    `databases` are those that they are about. `teacher` names who made them; `acting` are the facts of
    `acting.Teacher` where a model did. `examples` are their tokens, where those were counted to choose.
    """

    trajectories: pl.DataFrame
    stored: Path | None
    selection: dict[str, Any]
    dropped: dict[str, int]
    databases: Sequence[Fact]
    teacher: str = TEACHER
    acting: dict[str, Any] | None = None
    examples: Sequence[Example] | None = field(default=None, compare=False, repr=False)


def teach(
    config: TrajectoriesConfig,
    corpus: Version | None,
    sources: Sequence[Questions],
    tokenizer: Any,
    sandbox: Sandbox,
    report: Report = lambda line: None,
    max_length: int | None = None,
) -> Material:
    """Make trajectories, choose among those of at most `max_length` tokens, and store them as a version where there is
    a corpus to name."""
    teacher = open_teacher(config)
    made, dropped = make_material(config, sources, tokenizer, sandbox, teacher, report)
    examples = None
    if max_length is not None:
        made, altered = read_back(made, tokenizer)
        dropped = pl.concat([dropped, altered])
        made, examples, long = short_enough(made, encode_rows(made, tokenizer), max_length, report)
        dropped = pl.concat([dropped, long])
    chosen = select(made, config)
    selection = {
        "kind": config.selection,
        "made": made.height,
        "radius_95": chosen.radius.percentile_95,
        "radius_95_random": chosen.random.percentile_95,
        "strata": chosen.strata,
    }
    kept = made[chosen.rows]
    by = " and ".join(
        [*([TEACHER] if config.teacher != "model" else []), *([teacher.agent.name] if teacher is not None else [])]
    )
    about = facts_of(sources, kept["db_id"].unique().to_list())
    acting = teacher.facts() if teacher is not None else None
    learnt = examples and [examples[place] for place in chosen.rows]
    material = Material(kept, None, selection, tally(dropped["reason"]), about, by, acting, learnt)
    return replace(material, stored=_store(config, corpus, material, dropped))


def open_teacher(config: TrajectoriesConfig) -> Teacher | None:
    """The model whose right answers are learnt from; None where the examples' own steps are all. Raises like
    `open_agent`."""
    if not config.taught_by:
        return None
    models, cache = Path(config.models), Path(config.cache)
    prompt_format = PromptFormat(config.style, config.budget)
    agent = open_agent(config.taught_by, models, cache, prompt_format=prompt_format, dtype=config.teacher_dtype)
    return Teacher.of(agent, config.attempts, config.turns)


def teacher_hash(config: TrajectoriesConfig) -> str:
    """Which weights teach, and how they read, or which server; "" where no model does."""
    name = config.taught_by
    return name if not name or is_address(name) else start_hash(start_of(name, Path(config.models), Path(config.cache)))


def read_material(folder: Path, config: TrajectoriesConfig, corpus: Version | None) -> Material:
    """The trajectories of a version. Raises `SettingsError` when they are none, or of another corpus, reading or kind
    of source, when prompts were written otherwise then, or it is not said which databases they are about."""
    stored = open_version(folder)
    facts = stored.manifest
    if DERIVED not in facts:
        raise SettingsError(f"{stored.path}: holds no trajectories; `python -m agro_train.teach` makes a version")
    of, made = facts[DERIVED], facts["settings"]
    if corpus is None or of["fingerprint"] != corpus.fingerprint:
        raise SettingsError(f"{stored.path}: made of corpus {of['name']} {of['version']}; give that one as `corpus`")
    wanted = {name: getattr(config, name) for name in ("style", "budget", "turns")}
    used = {name: made["config"][name] for name in wanted}
    if wanted != used:
        raise SettingsError(f"{stored.path}: made with {used}, but the settings say {wanted}")
    written, now = {name: made.get(name) for name in _writing(config)}, _writing(config)
    if written != now:
        raise SettingsError(f"{stored.path}: its prompts are of {written}, today's of {now}; make it anew")
    if made["pairs"] != bool(config.pairs):
        how = "give the same file as `pairs`" if made["pairs"] else "leave `pairs` empty"
        raise SettingsError(f"{stored.path}: made with{'' if made['pairs'] else 'out'} pairs that people wrote; {how}")
    if "databases" not in made:
        raise SettingsError(f"{stored.path}: does not say which databases it is about; make it anew")
    rows, counts = stored.examples().collect(), facts["counts"]
    about = made["databases"]
    return Material(
        rows, stored.path, facts["selection"], counts["dropped"], about, facts["teacher"], made.get("acting")
    )


def make_material(
    config: TrajectoriesConfig,
    sources: Sequence[Questions],
    tokenizer: Any,
    sandbox: Sandbox,
    teacher: Teacher | None,
    report: Report,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Trajectories made for real, and those that were dropped.

    Of several sources each gives its share by rows. Where there are two teachers, both are given the same questions.
    Raises `SettingsError` when none is right.
    """
    prompt_format = config.prompt_format(tokenizer)
    for source in sources:
        if source.problems:
            told = {"of": source.name, "left_out": len(source.problems), "first": source.problems[0]}
            report({"phase": "trajectories", **told})
    asked = sum(len(source.rows) for source in sources)
    wanted = min(asked, round(config.examples * max(1.0, config.pool) / config.of_each_question))
    drawn = [_drawn(source, round(wanted * len(source.rows) / asked), config.seed) for source in sources]
    made, dropped = [pl.DataFrame(schema=TRAJECTORY)], [pl.DataFrame(schema=DROPPED)]
    if config.teacher != "model":
        kept, lost = _decompose(drawn, prompt_format, sandbox, config)
        made.append(kept)
        dropped.append(lost)
    if teacher is not None:
        kept, lost = _act(teacher, drawn, prompt_format, sandbox, config, report)
        made.append(kept)
        dropped.append(lost)
    candidates = pl.concat(made).unique("trajectory_id", keep="first", maintain_order=True)
    lost = pl.concat(dropped)
    if candidates.is_empty():
        first = lost.row(0, named=True)
        raise SettingsError(
            f"none of {wanted} trajectories is right, the first for {first['reason']}: {first['detail']}"
        )
    return candidates, lost


def _decompose(
    drawn: Sequence[Questions], prompt_format: PromptFormat, sandbox: Sandbox, config: TrajectoriesConfig
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Trajectories by the examples' own steps, a share of them on databases whose names are spelt otherwise."""
    Path(config.cache).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=config.cache, prefix="respelt-") as folder:
        parts = [
            part
            for one in drawn
            for part in respelt(one, config.respell, config.seed, Path(folder), sandbox, beside=config.respell_beside)
        ]
        found = [
            make_trajectories(
                part.rows, part.tasks(prompt_format), part.sources, sandbox, seed=config.seed, habits=config.habits
            )
            for part in parts
        ]
    kept = [pl.DataFrame(schema=TRAJECTORY), *(kept for kept, _ in found)]
    return pl.concat(kept), pl.concat([pl.DataFrame(schema=DROPPED), *(lost for _, lost in found)])


def _act(
    teacher: Teacher,
    drawn: Sequence[Questions],
    prompt_format: PromptFormat,
    sandbox: Sandbox,
    config: TrajectoriesConfig,
    report: Report,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    found = [
        act(
            one.rows,
            [task.prompt for task in one.tasks(prompt_format)],
            one.tasks(teacher.agent.prompt_format),
            teacher,
            sandbox,
            Path(config.cache),
            seed=config.seed,
            tell=report,
        )
        for one in drawn
    ]
    kept, lost = (pl.concat(frames) for frames in zip(*found, strict=True))
    if kept.is_empty():
        raise SettingsError(
            f"{teacher.agent.name} is right on none of {sum(len(one.rows) for one in drawn)} questions, "
            f"{teacher.attempts.samples} attempts at each ({_reasons(lost)}): there is nothing to learn from it. "
            "Let it learn from decompositions first (teacher decomposition), or name a stronger teacher_model"
        )
    return kept, lost


def _reasons(dropped: pl.DataFrame) -> str:
    """Why attempts were dropped, the most frequent reason first."""
    counted = sorted(tally(dropped["reason"]).items(), key=lambda one: -one[1])
    return ", ".join(f"{reason} {count}" for reason, count in counted)


def _drawn(source: Questions, size: int, seed: int) -> Questions:
    order = Random(seed_of(seed, "questions", source.name)).sample(range(len(source.rows)), size)
    return replace(source, rows=tuple(source.rows[place] for place in sorted(order)))


def check_paths(config: TrajectoriesConfig) -> None:
    """Raise `SettingsError` if something to learn from does not exist."""
    for name in ("pairs", "databases"):
        if (path := getattr(config, name)) and not Path(path).exists():
            raise SettingsError(f"{name}: {path}: no such file or folder")


def sources_of(config: TrajectoriesConfig, corpus: Version | None) -> list[Questions]:
    """The questions to learn from: the corpus' train split, the pairs, or both, without the databases left for GRPO."""
    databases, cache = Path(config.databases), Path(config.cache)
    found: list[Questions] = []
    if corpus is not None:
        found.append(questions_of_version(corpus, databases, cache, "train", columns=(*COLUMNS, "steps", "split")))
    if config.pairs:
        pairs = questions_of_file(Path(config.pairs), databases, cache)
        if not any(row["sql"] for row in pairs.rows):
            raise SettingsError(
                f"{config.pairs}: no row has SQL, of which trajectories are made; expected pairs of both"
            )
        found.append(as_of_corpus(pairs))
    if not found:
        raise SettingsError("nothing to learn from: give `corpus` (a version) or `pairs` (a file of questions)")
    clarify = any(one.clarify for one in found)  # one model reads one kind of prompt
    left = _left_for_grpo(found, config.leave, config.seed)
    return [replace(one.without(left), clarify=clarify) for one in found]


def _left_for_grpo(sources: Sequence[Questions], share: float, seed: int) -> frozenset[str]:
    """Content hashes of a share of the databases asked about; one is always learnt from.

    A model knows by heart the names of a database that it has read, so a reward has little left to teach there (E4).
    """
    hashes = sorted({digest for source in sources for digest in source.contents().values()})
    count = min(round(share * len(hashes)), len(hashes) - 1)
    return frozenset(Random(seed_of(seed, "left for GRPO")).sample(hashes, count))


def select(made: pl.DataFrame, config: TrajectoriesConfig) -> Chosen:
    """Those of the trajectories made that are learnt from."""
    structural = config.embedding_model == "structural"
    vectors = hybrid_vectors(made, None if structural else load_encoder(config.embedding_model))
    return choose(made, vectors, config.examples, config.seed, diverse=config.selection == "diverse")


def read_back(trajectories: pl.DataFrame, tokenizer: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The trajectories whose turns the tokenizer reads as they are written, and the others as rows of `DROPPED`.

    One that composes accents (NFC, as Qwen's does) or narrows wide letters (NFKC) would teach to look for values that
    the database does not have. Raises `SettingsError` when it alters all.
    """
    found = [_altered(row, tokenizer) for row in trajectories.iter_rows(named=True)]
    lost = [
        drop_of(row, "altered", f"the tokenizer reads {turn!r} otherwise")
        for row, turn in zip(trajectories.iter_rows(named=True), found, strict=True)
        if turn
    ]
    if found and len(lost) == len(found):
        raise SettingsError(f"the model's tokenizer alters every trajectory, the first: {lost[0]['detail']}")
    return trajectories.filter(pl.Series([not turn for turn in found], dtype=pl.Boolean)), _dropped(lost)


def _altered(row: Mapping[str, Any], tokenizer: Any) -> str:
    """The action of the first turn that is read otherwise, but for white space; "" where none is. ASCII never is."""
    for step in steps_of(row):
        text = render_turn(step.turn)
        if not text.isascii() and text_of(encode(text, tokenizer), tokenizer).split() != text.split():
            return step.turn.text
    return ""


def short_enough(
    trajectories: pl.DataFrame, examples: Sequence[Example], max_length: int, report: Report = lambda line: None
) -> tuple[pl.DataFrame, list[Example], pl.DataFrame]:
    """The trajectories of at most `max_length` tokens, theirs of `examples`, and the longer ones as rows of `DROPPED`:
    none is cut.

    `report` is told how many turns those had, where they are more than a few. Raises `SettingsError` when all are.
    """
    sizes = [len(one.ids) for one in examples]
    long = pl.Series("long", [size > max_length for size in sizes], dtype=pl.Boolean)
    if long.all():
        raise SettingsError(
            f"no trajectory has at most {max_length} tokens, which max_length allows and the model reads; raise "
            "max_length or lower budget, or take a model that reads more"
        )
    if long.sum() > NOTICED * len(long):
        kinds = trajectories.select(turns=pl.col("turns").list.len(), long=long).group_by("turns")
        counted = kinds.agg(pl.col("long").sum(), of=pl.len()).sort("turns")
        told = {f"{turns} turns": f"{some} of {of}" for turns, some, of in counted.iter_rows() if some}
        report({"phase": "trajectories", "max_length": max_length, "too_long": long.sum(), "of": len(long), **told})
    lost = [
        drop_of(row, "too_long", f"{size} tokens, at most {max_length} are learnt")
        for row, size in zip(trajectories.iter_rows(named=True), sizes, strict=True)
        if size > max_length
    ]
    short = [one for one in examples if len(one.ids) <= max_length]
    return trajectories.filter(~long), short, _dropped(lost)


def _dropped(rows: Sequence[Mapping[str, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=DROPPED)


def encoded(material: Material, tokenizer: Any, max_length: int, report: Report) -> tuple[Material, list[Example]]:
    """What is learnt of trajectories that were chosen, and its tokens; raises like `read_back` and `short_enough`."""
    if material.examples is not None:
        return material, list(material.examples)
    read, altered = read_back(material.trajectories, tokenizer)
    kept, short, lost = short_enough(read, encode_rows(read, tokenizer), max_length, report)
    dropped = Counter(material.dropped) + Counter(tally(altered["reason"])) + Counter(tally(lost["reason"]))
    return replace(material, trajectories=kept, dropped=dict(sorted(dropped.items()))), short


def encode_rows(trajectories: pl.DataFrame, tokenizer: Any) -> list[Example]:
    """Tokens of each trajectory. Learnt are the agent's own, but for turns that go wrong."""
    found: list[Example] = []
    for row in trajectories.iter_rows(named=True):
        tokens = encode_steps(row["prompt"], steps_of(row), tokenizer)
        opening = f"{row['db_id']}\n{before_question(row['prompt'])}"
        learnt = [turn != OUTSIDE and row["turns"][turn]["learnt"] for turn in tokens.turns]
        found.append(Example(tokens.so_far, [0] * len(tokens.prompt) + list(map(int, learnt)), opening))
    return found


def _writing(config: TrajectoriesConfig) -> dict[str, Any]:
    """How prompts are written: a model reads only what it was trained on."""
    return {"serialiser": serialiser(config.style), "protocol": PROTOCOL}


def _store(
    config: TrajectoriesConfig, corpus: Version | None, material: Material, dropped: pl.DataFrame
) -> Path | None:
    """Write the trajectories as a version beside the corpus; trajectories of pairs have no corpus to name."""
    if corpus is None:
        return None
    settings = {
        "config": config.making(),
        "pairs": bool(config.pairs),
        **_writing(config),
        "acting": material.acting,
        "databases": list(material.databases),
    }
    return write_trajectories(
        Path(config.trajectories),
        corpus,
        material.trajectories,
        dropped,
        teacher=material.teacher,
        settings=settings,
        selection=material.selection,
    )
