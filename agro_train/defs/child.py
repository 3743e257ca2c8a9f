"""Programs that need torch, run as child processes of an asset: logged, plotted while they run, ended with the run."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Collection, Iterable, Sequence
from contextlib import nullcontext
from itertools import takewhile
from pathlib import Path
from typing import Any

import dagster as dg

from agro_data.defs.failures import by_settings
from agro_data.defs.pools import holding, pool_of
from agro_train.defs.configs import CALLED
from agro_train.defs.follow import following
from agro_train.programs.guarded import PATIENCE
from agro_train.programs.telling import figures

# What accelerate would else take from what it finds: a machine without several GPUs, or a file that `accelerate config`
# wrote for something else, would have one process train, or in another precision, without a word.
SEVERAL = ("--multi_gpu", "--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", "--module")
QUIET = {"TQDM_DISABLE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}  # bars are for terminals: logs hold lines
SAID = 6  # lines of an error that a failure is described by
_RAISED = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*: \S")  # as the last part of a traceback begins
# Beside the errors of its processes a launcher says with a traceback of its own that they ended, and names each line's.
_RANK = re.compile(r"\[rank\d+\]: ")
_LAUNCHER = re.compile(r"subprocess\.CalledProcessError: ")
_NO_MORE = re.compile(r"Traceback \(most recent call last\)|[EW]\d{4} \d\d:\d\d:")
TERMINATION = PATIENCE + 20  # seconds: longer than the guard waits before it ends the program


def python() -> str:
    """The interpreter that trains: `$AGRO_TRAIN_PYTHON`, for torch in an environment of its own, else this one.

    Raises `dg.Failure` where that names none.
    """
    named = os.environ.get("AGRO_TRAIN_PYTHON") or sys.executable
    if shutil.which(named) is None:
        raise dg.Failure(
            description=f"AGRO_TRAIN_PYTHON is {named}: there is no such interpreter; unset it to train by this one",
            allow_retries=False,
        )
    return named


def has(module: str) -> bool:
    """Whether a module is installed for the interpreter that trains."""
    looked = f"from importlib.util import find_spec; raise SystemExit(find_spec({module!r}) is None)"
    return subprocess.run([python(), "-c", looked], check=False).returncode == 0


def program(module: str, *arguments: str, processes: int = 1) -> list[str]:
    """The command that runs `module` of this project, on several GPUs by accelerate with a process for each."""
    several = ["accelerate.commands.launch", "--num_processes", str(processes), *SEVERAL]
    return [python(), "-m", *(several if processes > 1 else []), module, *arguments]


def module_of(command: Sequence[str]) -> str:
    """The module of this project that a command runs."""
    return next((part for part in command if part.startswith("agro_train.")), command[0])


def run_child(
    context: dg.AssetExecutionContext,
    pipes: dg.PipesSubprocessClient,
    command: Sequence[str],
    *,
    models: Iterable[str] = (),
    metrics: Path | None = None,
    ends: Collection[int] = (0,),
) -> str:
    """Run `command` to its end, and give the last line it printed; what it prints becomes log lines.

    It trains or asks `models`, by their names: it begins when it holds the pools of these (`defs.pools`). `metrics`
    is the folder of the runs of a model in training: its metrics are drawn in the UI as they come. `ends` are the
    statuses of a program that has done its work.

    Raises `dg.Failure` with the command's own words when it fails.
    """

    def show(line: dict[str, Any]) -> None:
        if drawn := figures(line):
            context.log_event(dg.AssetObservation(context.asset_key, metadata={**drawn, "step": line.get("step", 0)}))

    guarded = [sys.executable, "-m", "agro_train.programs.guarded", *command]
    followed = following(metrics, show) if metrics is not None else nullcontext()
    with holding(context, {pool_of(name) for name in models}), warnings.catch_warnings(), followed:
        for kind in (dg.PreviewWarning, DeprecationWarning):  # of what Dagster does with itself
            warnings.simplefilter("ignore", kind)
        done = pipes.run(context=context, command=guarded, env=QUIET)
    messages = [message for message in done.get_custom_messages() if isinstance(message, dict)]
    status = messages[-1]["status"] if messages else None
    if status not in ends:
        errors = messages[-1]["errors"] if messages else []
        raise dg.Failure(
            description=f"{module_of(command)} {how_it_ended(status, errors)}",
            metadata={"last lines": dg.MetadataValue.md("```\n" + "\n".join(errors) + "\n```")},
            allow_retries=False,
        )
    return str(messages[-1]["last"])


def how_it_ended(status: int | None, errors: Sequence[str]) -> str:
    """How a program ended that did not end well; what it says by its options, by the settings of its asset."""
    if status == -signal.SIGKILL:
        return (
            "was killed: most likely memory ran out; end what else is running and run it again, and training goes on "
            "at its last checkpoint, or take a smaller micro_batch"
        )
    if status is not None and status < 0:
        return f"was ended by signal {-status}"
    return f"ended with status {status}: {by_settings(_error_in(errors), CALLED) or 'it said nothing'}"


def _error_in(errors: Sequence[str]) -> str:
    """The last error that a program raised, from its name on: what it says may have lines. Else the last line."""
    lines = [_RANK.sub("", line, count=1) if _RANK.match(line) else line for line in errors]
    begins = [place for place, line in enumerate(lines) if _RAISED.match(line) and not _LAUNCHER.match(line)]
    said = lines[begins[-1] :] if begins else lines[-1:]
    said = [said[0], *takewhile(lambda line: not _NO_MORE.match(line), said[1:])] if said else said
    return "\n".join(said[:SAID] + (["..."] if len(said) > SAID else []))
