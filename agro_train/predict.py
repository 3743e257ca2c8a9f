"""Predictions of a model on questions, kept line by line: what is answered is not asked again."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from agro_data.config import ConfigError
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.files import json_lines, write_json, write_text
from agro_data.locking import exclusive
from agro_data.progress import Reporter, silent
from agro_data.words import counted
from agro_train.agents.agent import Agent
from agro_train.agents.endpoint import EndpointSampler
from agro_train.answers import Answer, answer, asked
from agro_train.decoding import GREEDY, Decoding
from agro_train.language_model.memory import enough_memory
from agro_train.questions import Questions
from agro_train.sampling.module import ModuleSampler
from agro_train.sql_env import SQL_LIMITS
from agro_train.tasks import Task

TOGETHER = 128  # rollouts that are worked on at a time, or as many as an agent writes together: lost when it is stopped
EACH = 2  # of a server, for each request under way: its answers are paid for

SUFFIXES = (".jsonl", ".ndjson", ".json")  # under which JSON Lines are read
USUAL = {"engine": "transformers", "dtype": "float32"}  # are not written: as files have it from before


def check_out(out: Path) -> None:
    """Raise `ConfigError` where a file of predictions cannot be written, or would not be read as one."""
    if out.is_dir():
        raise ConfigError(f"{out}: a folder; expected the name of a file, such as {out / 'predictions.jsonl'}")
    if out.suffix.lower() not in SUFFIXES:
        better = out.with_name(f"{out.name}{SUFFIXES[0]}")
        raise ConfigError(f"{out}: predictions are JSON Lines, which no verb reads under this name; give {better}")
    check_folder(out.parent)
    target = Path(os.path.realpath(out))
    if not target.parent.is_dir():
        raise ConfigError(f"{out}: is a link to {target}, whose folder is not there")
    if out.exists() and not os.access(out, os.W_OK):
        raise ConfigError(f"{out}: cannot be written: it is read-only")


def check_own(out: Path) -> None:
    """Raise `ConfigError` where `out`, or what would be written beside it, is somebody else's."""
    made_by = _made_by(_side(out))
    if made_by is None and _holds_something(out):
        raise ConfigError(f"{out}: not written by this verb, which would overwrite it; give another --out")
    if made_by is not None and not {"model", "weights"} <= made_by.keys():
        raise ConfigError(f"{_side(out)}: not written by this verb, which would overwrite it; give another --out")


def _holds_something(file: Path) -> bool:
    """An empty file, as `mktemp` makes one, is nobody's."""
    return file.exists() and file.stat().st_size > 0


def kept_beside(out: Path) -> list[str]:
    """A note for a person on files beside a file of predictions: answers to questions not asked now, or from before."""
    others = _others(out)
    files = [others, *sorted(others.parent.glob(f"{glob.escape(others.name)}.[0-9]*"))]
    counts = [(file, file.read_bytes().count(b"\n")) for file in files if file.is_file()]
    return [f"{file}: {counted(number, 'further answers')}" for file, number in counts if number]


def check_folder(folder: Path) -> None:
    """Make a folder. Raises `ConfigError` where nothing can be written in it: said before a model has worked for it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ConfigError(f"{folder}: nothing can be written there: {error.strerror or error}") from error


def predict(
    questions: Questions,
    agent: Agent,
    out: Path,
    *,
    decoding: Decoding = GREEDY,
    seed: int = 0,
    workers: int = 1,
    progress: Reporter = silent,
) -> list[Answer]:
    """Answers to all questions, in order, written to `out` (JSONL) as they come.

    If `out` has answers of the same model, decoding and seed, it is continued. A question is asked anew if its text,
    prompt or database has changed under the same id, or if a server refused it. In the end `out` holds exactly the
    questions asked; answers to other questions are kept in a file beside it, until they are asked again. Raises
    `ConfigError` when `out` has answers of another model, decoding or seed, when a schema does not fit into the agent's
    budget, and when a GPU has too little memory, and `Locked` while another process writes there.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(out.with_name(f".{out.name}.lock"), wait_seconds=0, doing=f"is writing {out.name}"):
        return _predict(questions, agent, out, decoding, seed, workers, progress)


def _predict(
    questions: Questions, agent: Agent, out: Path, decoding: Decoding, seed: int, workers: int, progress: Reporter
) -> list[Answer]:
    """As `predict`, by whoever holds `out`."""
    made_by = identity_of(agent, decoding, seed)
    tasks = questions.tasks(agent.prompt_format)
    known = _known(out, made_by, tasks)
    waiting = [task for task in tasks if task.example_id not in known]
    waiting.sort(key=lambda task: task.prompt)  # questions about one database side by side: its schema is read once
    together = max(1, _rollouts(agent, decoding) // decoding.samples)
    stage = f"answers of {agent.name}"
    progress(stage, 0, len(waiting), "questions")
    if waiting:
        write_json(_side(out), made_by)
    with Sandbox(workers, SQL_LIMITS) as sandbox:
        for first in range(0, len(waiting), together):
            some = waiting[first : first + together]
            with enough_memory("batch"):
                found = answer(some, agent.policy, sandbox, decoding, seed)
            with out.open("a", encoding="utf-8") as file:
                file.write(_lines(found))
            known |= {one.example_id: one for one in found}
            progress(stage, first + len(some), len(waiting), "questions")
    # Lines written before this was told have no `answerable`.
    answers = [replace(known[task.example_id], answerable=task.answerable) for task in tasks]
    if answers:
        write_text(out, _lines(answers))
    return answers


def _rollouts(agent: Agent, decoding: Decoding) -> int:
    """How many rollouts are worked on at a time. With a server somewhat more than it has under way. On a CPU, where
    rollouts take minutes, no more than are written together; in a vote more, since its rollouts are about few questions
    and share so much.
    """
    here = agent.sampler
    if isinstance(here, EndpointSampler):
        return EACH * here.connection.at_once
    slow = isinstance(here, ModuleSampler) and here.module.device.type == "cpu"
    return agent.batch if slow and decoding.samples == 1 else max(TOGETHER, agent.batch)


def identity_of(agent: Agent, decoding: Decoding, seed: int) -> dict[str, Any]:
    """The settings that decide an answer, as a file of predictions records them."""
    reads = agent.prompt_format
    prompt_format = {"style": reads.style, "budget": reads.budget, **({"direct": True} if reads.direct else {})}
    decoded = asdict(decoding)
    if not decoding.checks or decoding.samples == 1:
        del decoded["checks"]  # as files have it from before
    settings = {"decoding": decoded, "limits": asdict(agent.limits), "reading": prompt_format, "seed": seed}
    other = {name: getattr(agent, name) for name, value in USUAL.items() if getattr(agent, name) != value}
    return {"model": agent.name, "weights": agent.weights, **other, **settings}


def _lines(answers: Iterable[Answer]) -> str:
    return json_lines(one.as_dict() for one in answers)


def _side(out: Path) -> Path:
    return out.with_name(f"{out.name}.settings.json")


def _others(out: Path) -> Path:
    """Answers of the same making to questions that are not asked now."""
    return out.with_name(f"{out.name}.others")


def _known(out: Path, made_by: dict[str, Any], tasks: Sequence[Task]) -> dict[str, Answer]:
    """Answers to `tasks` that `out`, or the file beside it, holds, which is all that `out` holds then.

    Lines that were cut short, are of what `tasks` ask otherwise, or say that a server refused, are dropped.
    """
    check_own(out)
    before = _made_by(_side(out))
    if before is None or not out.exists():
        _set_aside(_others(out))
        return {}
    if before != made_by:
        other = f"those of {before.get('model')}, made otherwise ({_otherwise(before, made_by)})"
        raise ConfigError(f"{out}: holds predictions, {other}; give another --out, or remove it")
    now = {task.example_id: asked(task) for task in tasks}
    held = {one.example_id: one for file in (_others(out), out) for one in _read(file)}
    known = {key: one for key, one in held.items() if now.get(key) == one.asked and not one.refusal}
    others = [one for key, one in held.items() if key not in now]
    if others or _others(out).exists():
        write_text(_others(out), _lines(others))
    write_text(out, _lines(known.values()))
    return known


def _set_aside(others: Path) -> None:
    """Give answers beside a file that was removed or renamed another name: no answer to come is of their making."""
    if _holds_something(others):
        names = (others.with_name(f"{others.name}.{number}") for number in count(1))
        others.rename(next(name for name in names if not name.exists()))


def _read(file: Path) -> list[Answer]:
    """The answers of a file, if it is there; a line that was cut short is none."""
    if not file.exists():
        return []
    # Not splitlines: an answer may hold U+2028 and its like, which are no ends of lines in JSONL. Bytes, since a line
    # may be cut within a character.
    *whole, _ = file.read_bytes().split(b"\n")
    return [_answer(line, f"{file}, line {number}") for number, line in enumerate(whole, start=1)]


def _answer(line: bytes, place: str) -> Answer:
    try:
        return Answer.from_dict(json.loads(line))
    except (ValueError, LookupError, TypeError) as error:
        why = f"it has no {error}" if isinstance(error, LookupError) else str(error)
        raise ConfigError(f"{place}: no answer as this verb writes it ({why}); mend the line or take it out") from error


def _made_by(file: Path) -> dict[str, Any] | None:
    """The settings that decided the answers of a file of predictions; None if they are not recorded."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        found = error
    if not isinstance(found, dict):
        raise ConfigError(
            f"{file}: expected settings as this verb writes them, without which the answers beside it cannot be gone "
            "on with; give another --out"
        )
    return found


def _otherwise(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The settings that differ, each as it was and as it is."""
    usual = {**USUAL, "decoding.checks": False}
    first, second = {**usual, **_flat(before)}, {**usual, **_flat(now)}
    names = sorted(name for name in {**first, **second} if first.get(name) != second.get(name))
    said = [f"{name} was {first.get(name)}, is {second.get(name)}" for name in names if name != "weights"]
    return ", ".join(said or ["other weights, tokenizer, chat template or configuration"])


def _flat(settings: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Settings within settings by names with dots."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found |= _flat(value, f"{before}{name}.") if isinstance(value, dict) else {f"{before}{name}": value}
    return found
