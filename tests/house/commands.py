"""Whether a command in the documentation is one that the program takes: verb, options, jobs, files; nothing is run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import yaml
from dagster import validate_run_config
from dagster_dg_cli.cli.dev import dev_command
from house.pages import ROOT, Block

from agro_data.config import BuildConfig
from agro_train.cli import agro
from agro_train.cold_start import ColdStartConfig
from agro_train.programs.settings import settings_from
from agro_train.reinforcement.config import GrpoConfig

ENDS = {";", "&&", "||", "|", "&", "(", ")"}
SCRIPTS = Path(sys.executable).parent
WORKFLOW = re.compile(r"^ *- run: (.+)$", re.M)
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
# What a reader's machine has or what the sentence above tells to install, and no test here can look into.
ELSEWHERE = {"curl", "git", "hf", "nvidia-smi", "pip", "systemctl", "vllm"}
BUILT_IN = {"source", "export", "exit", "cd", "echo", "set", "for", "do", "done", "if", "then", "fi", "test"}
SETTINGS = {"agro train cold-start": ColdStartConfig, "agro train grpo": GrpoConfig}


def check(page: Sequence[Block]) -> None:
    """Every command and every file of settings of a page. Raises `AssertionError` that names the line."""
    files = {str(name): block.text for block in page if (name := block.mark("file"))}
    for block in page:
        try:
            if block.language == "json":
                json.loads(block.text)
            elif block.language == "yaml":
                yaml.safe_load(block.text)
                for line in WORKFLOW.findall(block.text):
                    for words in commands(line):
                        check_command(words, files)
            elif block.language == "python":
                compile(block.text, "block", "exec")
            elif block.language == "bash" and block.mark("file") is None and block.mark("before") is None:
                for words in commands(block.text):
                    check_command(words, files)
        except Exception as error:
            raise AssertionError(f"line {block.line}: {error}\n{block.text}") from error


def commands(text: str) -> Iterator[list[str]]:
    """The words of each simple command of a script, without comments, assignments and redirections."""
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if word not in ENDS:
                words.append(word)
                continue
            while words and ASSIGNMENT.match(words[0]):
                del words[0]
            if words:
                yield _without_redirections(words)
            words = []


def _without_redirections(words: list[str]) -> list[str]:
    at = next((place for place, word in enumerate(words) if word.startswith((">", "<"))), len(words))
    numbered = at and at < len(words) and words[at - 1] in ("1", "2")  # `2>&1`
    return words[: at - bool(numbered)]


def check_command(words: Sequence[str], files: Mapping[str, str]) -> None:
    """One command. Raises `ValueError` or what its parser raises."""
    match [*words]:
        case ["agro", *_]:
            _check_verb(words, files)
        case [("python" | "python3" | ".venv/bin/python"), "-m", module, *options]:
            _check_module(module, options)
        case ["make", *targets]:
            known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
            if unknown := set(targets) - known:
                raise ValueError(f"the Makefile has no {', '.join(sorted(unknown))}")
        case ["dagster", "job", "execute", "-j", job, *options] | ["dg", "launch", "--job", job, *options]:
            _check_job(job, options, files)
        case ["dg", "dev", *options]:
            dev_command.make_context("dev", list(options))
        case [name, *_]:
            path = f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"
            if name not in BUILT_IN | ELSEWHERE and shutil.which(name, path=path) is None:
                raise ValueError(f"there is no command {name!r}")


def _check_verb(words: Sequence[str], files: Mapping[str, str]) -> None:
    """Parse what is given to `agro` as it would, and read the settings that are given as a file of the page."""
    if {"--help", "--version"} & set(words):
        return
    command: click.Command | None = agro
    context = agro.make_context("agro", list(words[1:]))
    while isinstance(command, click.Group):
        name, command, arguments = command.resolve_command(context, [*context._protected_args, *context.args])
        if command is not None:
            context = command.make_context(name, arguments, parent=context)
    parsed = context
    given = files.get(str(parsed.params.get("config_file") or parsed.params.get("file") or ""))
    if given is not None and (kind := SETTINGS.get(context.command_path)):
        settings_from(kind, json.loads(given))
    elif given is not None:
        BuildConfig.from_dict({"databases": "given", **json.loads(given)})


def _check_module(module: str, options: Sequence[str]) -> None:
    if find_spec(module) is None:
        raise ValueError(f"there is no module {module}")
    named = [option.partition("=")[0] for option in options if option.startswith("--")]
    if named and module.startswith("agro_"):
        known = _help(("-m", module))
        if unknown := [option for option in named if f"{option} " not in known and f"{option}]" not in known]:
            raise ValueError(f"{module} has no {', '.join(unknown)}")


def _check_job(job: str, options: Sequence[str], files: Mapping[str, str]) -> None:
    from agro_train.definitions import defs

    found = defs.resolve_job_def(job)
    if options:
        flag, name = options
        if flag not in ("-c", "--config"):
            raise ValueError(f"this check knows -c and --config, not {flag}")
        text = files[name] if name in files else (ROOT / name).read_text(encoding="utf-8")
        config: dict[str, Any] = yaml.safe_load(text)
        validate_run_config(found, config)


@cache
def _help(arguments: tuple[str, ...]) -> str:
    line = [sys.executable, *arguments, "--help"]
    return subprocess.run(line, cwd=Path(ROOT), capture_output=True, text=True, check=True, timeout=120).stdout
