"""`agro export`: a version in a form that another program reads, written whole or not at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import polars as pl

from agro_data.config import RunConfig, cache_folder
from agro_data.databases.discovery.catalog import EXPORT
from agro_data.databases.errors import DatabaseError
from agro_data.databases.files.data_files import data_files
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.opening import settled, with_sides
from agro_data.databases.scratch import ScratchFolder
from agro_data.databases.types import STEPS, Layout, Limits
from agro_data.exports import benchmarks, chats, environment, reinforcement
from agro_data.exports.material import Content, ExportError, Form, LeftOut, Material, gather
from agro_data.exports.preference import preference
from agro_data.files import sync_folder, sync_tree
from agro_data.profiling.serialising.serialise import BUDGET, STYLE, Style
from agro_data.publish.parquet import write_parquet
from agro_data.publish.read import Version, open_corpus

WORKERS = 2
LOGGED: tuple[Layout, ...] = ("sqlite", "duckdb")  # layouts with a log or journal beside the file


def _preference(material: Material) -> Form:
    with Sandbox(WORKERS, Limits(steps=STEPS)) as sandbox:
        return preference(material, sandbox)


FORMS: Mapping[str, Callable[[Material], Form]] = {
    "sft": chats.sft,
    "grpo": reinforcement.grpo,
    "preference": _preference,
    "openai": chats.openai,
    "spider": benchmarks.spider,
    "bird": benchmarks.bird,
    "verl": reinforcement.verl,
    "verifiers": environment.verifiers,
}


CLARIFYING = ("sft", "openai")  # forms whose answers may ask back


@dataclass(frozen=True)
class Exported:
    """What was written: the folder, how many rows of each split are in it, what was left out, what is worth knowing."""

    path: Path
    form: str
    rows: dict[str, int]
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()


def export(
    version: Version | Path | str,
    form: str,
    out: Path | str,
    *,
    databases: Path | str | None = None,
    style: Style = STYLE,
    budget: int = BUDGET,
    run: RunConfig | None = None,
) -> Exported:
    """Write a corpus version in `form` (one of `FORMS`) to the new folder `out`, with a record of what it is of.

    `databases` is where the version's databases lie; None: where they lay when it was built. Schemas in prompts are
    written in `style` in at most `budget` tokens. The same version and settings give the same bytes.

    Raises `ExportError` when `out` is there already, the form is unknown, or the version cannot be given in it, and
    `NoVersion` when there is no version.
    """
    if form not in FORMS:
        raise ExportError(f"there is no form {form!r}; use one of {', '.join(FORMS)}")
    opened = version if isinstance(version, Version) else open_corpus(version)
    target = Path(out).expanduser()
    if target.exists():
        raise ExportError(
            f"{target}: is there already; an export goes to a folder of its own, give another or remove it"
        )
    place = Path(databases or opened.manifest["config"]["databases"]).expanduser()
    material = gather(
        opened,
        place,
        cache_folder(run or RunConfig()) / "profiles",
        style=style,
        budget=budget,
        clarify=form in CLARIFYING,
    )
    made = FORMS[form](material)
    lost = 0 if form in CLARIFYING else opened.examples().select(pl.len()).collect().item() - material.rows.height
    notes = (f"{lost:,} questions without one answer are not in this form: nobody can ask back in it",) if lost else ()
    record: dict[str, str | int] = {"corpus": opened.corpus, "version": opened.name, "fingerprint": opened.fingerprint}
    record |= {"form": form, "schema_style": style, "schema_tokens": budget}
    write_files(target, {**made.files, EXPORT: f"{json.dumps(record, indent=1)}\n"})
    return Exported(target, form, dict(made.rows), made.left_out, (*made.notes, *notes))


def write_files(target: Path, files: Mapping[str, Content]) -> None:
    """Make the folder `target` appear with all `files`, or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.part")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        for name, content in sorted(files.items()):
            inner = PurePosixPath(name)
            if inner.is_absolute() or ".." in inner.parts:
                raise ExportError(f"{name!r} is no path inside an export")
            path = draft / inner
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, content)
        sync_tree(draft)
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    sync_folder(target.parent)


def _write(path: Path, content: Content) -> None:
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    elif isinstance(content, pl.DataFrame):
        write_parquet(content, path)
    elif content.is_dir():
        path.mkdir()
        for file in data_files(content):  # what else lies there is no part of the database
            copy = path / file.relative_to(content)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
    else:
        _copy_whole(content, path)


def _copy_whole(database: Path, path: Path) -> None:
    """Copy a database with what its log or journal holds, which would stay behind: the source itself is not written."""
    layout: Layout = next((name for name in LOGGED if len(with_sides(database, name)) > 1), "sqlite")
    with ScratchFolder("settled") as scratch:
        try:
            shutil.copyfile(settled(database, layout, Path(scratch)), path)
        except DatabaseError as error:
            raise ExportError(str(error)) from error
