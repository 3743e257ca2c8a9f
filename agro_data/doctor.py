"""What this machine has and lacks for agro, and the command that mends it.

Each check looks at one thing and says what it saw; none raises, none writes more than a file that it deletes again,
and only `hub` asks the network. torch is asked in a child process: it takes seconds to load, and may fail.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from packaging.requirements import InvalidRequirement, Requirement

from agro_data.config import DEFAULT_MODEL, RunConfig, cache_folder
from agro_data.files import free_bytes
from agro_data.folders import existing, unwritable
from agro_data.models import DEFAULT_WRITER, ModelMissing, find_model
from agro_data.publish.read import NoVersion, list_corpora, newest, open_version

DISTRIBUTION = "agro-sql"
PYTHON = (3, 11)
NEEDED_DISK, WISHED_DISK = 1.0, 10.0  # GB: a corpus of 2,000 rows; one of 100,000 with its work folder
NEEDED_MEMORY, WISHED_MEMORY = 2.0, 8.0  # GB that are free: two workers; a training of the default model
HUB = "https://huggingface.co"
PATIENCE = 60.0  # seconds that a child process may take
ROOT = Path(__file__).resolve().parents[1]

State = Literal["ok", "note", "missing"]


@dataclass(frozen=True)
class Finding:
    """What a check saw. `note`: agro works, with less; `missing`: something will fail. `mend` is a command, or ""."""

    what: str
    state: State
    says: str
    mend: str = ""


def examine(out: Path, *, network: bool = False) -> list[Finding]:
    """All checks for a machine whose corpora lie below `out`; the Hub is asked only with `network`."""
    run = RunConfig(out=out)
    return [
        python(),
        *packages(constraints(ROOT / "constraints.txt")),
        memory(),
        disk(out),
        gpu(),
        *(model(name) for name in (DEFAULT_MODEL, DEFAULT_WRITER)),
        *([hub(os.environ)] if network else []),
        dagster_home(os.environ),
        writable("output folder", out),
        writable("cache", cache_folder(run)),
        newest_corpus(out),
        promoted_model(out.parent / "models"),
    ]


def python(release: tuple[int, ...] = sys.version_info[:3]) -> Finding:
    """The interpreter's release."""
    said = ".".join(map(str, release))
    if release[:2] < PYTHON:
        return Finding("Python", "missing", f"{said}; 3.11 or later is needed", "make PYTHON=python3.11 corpus")
    where = "" if sys.prefix != sys.base_prefix else ", outside a virtual environment"
    return Finding("Python", "ok", f"{said} on {platform.system()} {platform.machine()}{where}")


def constraints(file: Path) -> dict[str, Requirement]:
    """The pins of a constraints file by package; empty when it is not there, as in an installed wheel."""
    if not file.is_file():
        return {}
    lines = (line.partition("#")[0].strip() for line in file.read_text(encoding="utf-8").splitlines())
    return {_plain(pin.name): pin for pin in map(Requirement, filter(None, lines))}


def packages(pins: Mapping[str, Requirement]) -> list[Finding]:
    """Required packages that are absent or of another release than pinned, and which extras are installed whole."""
    try:
        required = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return [
            Finding("packages", "missing", f"{DISTRIBUTION} is not installed", "pip install -c constraints.txt -e .")
        ]
    absent: dict[str, list[str]] = {}
    groups: dict[str, int] = {}
    for group, requirement in _wanted(required):
        groups[group] = groups.get(group, 0) + 1
        if _release(requirement.name) is None:
            absent.setdefault(group, []).append(requirement.name)
    found: list[Finding] = []
    for group, count in groups.items():
        lacking = absent.get(group, [])
        what = f"packages of [{group}]" if group else "packages"
        if not lacking:
            found.append(Finding(what, "ok", f"all {count} are installed"))
            continue
        state: State = "note" if group else "missing"
        extra = f".[{group}]" if group else "."
        says = f"{len(lacking)} of {count} are absent: {', '.join(sorted(lacking))}"
        found.append(Finding(what, state, says, f"pip install -c constraints.txt -e '{extra}'"))
    return [*found, *_off_pins(pins)]


def memory() -> Finding:
    """Memory that is free for new processes."""
    available = _available_memory()
    if available is None:
        return Finding("memory", "note", "this system does not tell how much is free")
    return _amount("memory", available / 1e9, NEEDED_MEMORY, WISHED_MEMORY, "free", "fewer --workers need less")


def disk(out: Path) -> Finding:
    """Room on the disk of the corpora."""
    place = _existing(out)
    gigabytes = free_bytes(place) / 1e9
    return _amount(
        "disk", gigabytes, NEEDED_DISK, WISHED_DISK, f"free at {place}", f"agro versions prune {out} --dry-run"
    )


def gpu() -> Finding:
    """GPUs as their driver names them, and whether torch can use them. None is no fault: all runs on a CPU."""
    tool = shutil.which("nvidia-smi")
    names = _output([tool, "--query-gpu=name,memory.total", "--format=csv,noheader"]) if tool else None
    if not names:
        return Finding("GPU", "note", "none; corpora need none, training runs on the CPU")
    listed = "; ".join(names.splitlines())
    seen = _output([sys.executable, "-c", "import torch; print(torch.cuda.device_count(), torch.__version__)"])
    if seen is None:
        return Finding("GPU", "note", f"{listed}; torch is absent or does not load", "make .venv/.train")
    count, release = seen.split()
    if count == "0":
        mend = f"pip install --force-reinstall --no-deps torch=={release.partition('+')[0]}"
        return Finding("GPU", "note", f"{listed}; torch {release} sees none of it (a build for CPUs?)", mend)
    return Finding("GPU", "ok", f"{listed}; torch {release} uses it")


def model(name: str) -> Finding:
    """Where a default model lies on this machine; the Hub is not asked."""
    try:
        found = find_model(name, network=False)
    except ModelMissing as error:
        return Finding("model", "note", str(error), f"hf download {name}")
    return Finding("model", "ok", f"{name}: {found.path} (found as {found.found})")


def hub(environment: Mapping[str, str], *, seconds: float = 10.0) -> Finding:
    """Whether the Hub answers, and whether there is a token. The token itself is neither shown nor sent."""
    token = "a token is set" if environment.get("HF_TOKEN") else "no token: HF_TOKEN is needed to publish"
    if environment.get("HF_HUB_OFFLINE", "") in ("1", "true", "True", "TRUE", "ON", "YES"):
        return Finding("Hub", "missing", "HF_HUB_OFFLINE forbids to ask it", "unset HF_HUB_OFFLINE")
    address = environment.get("HF_ENDPOINT", HUB).rstrip("/")
    if not address.startswith(("http://", "https://")):
        return Finding("Hub", "missing", f"HF_ENDPOINT is {address!r}: expected an address", "unset HF_ENDPOINT")
    request = urllib.request.Request(f"{address}/api/models?limit=1", headers={"User-Agent": DISTRIBUTION})
    try:
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            status = int(answer.status)
    except urllib.error.HTTPError as error:  # it answers, if only with a refusal
        status = error.code
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        mend = "check the network and HTTPS_PROXY, or work from files: agro needs no Hub"
        return Finding("Hub", "missing", f"{address} does not answer: {reason}", mend)
    if status >= 400:
        return Finding(
            "Hub", "missing", f"{address} answers with status {status}", "try again later, or another HF_ENDPOINT"
        )
    return Finding("Hub", "ok", f"{address} answers; {token}")


def dagster_home(environment: Mapping[str, str]) -> Finding:
    """Dagster's folder: without one it forgets its runs when it ends."""
    named = environment.get("DAGSTER_HOME", "")
    if not named:
        return Finding("DAGSTER_HOME", "note", "not set: Dagster forgets its runs when it ends", "source env.sh")
    home = Path(named)
    if not home.is_absolute():
        return Finding("DAGSTER_HOME", "missing", f"{named} is no absolute path: Dagster refuses it", "source env.sh")
    if not home.is_dir():
        return Finding("DAGSTER_HOME", "missing", f"{home} is not there: Dagster refuses it", f"mkdir -p {home}")
    seen = writable("DAGSTER_HOME", home)
    if seen.state == "ok" and not (home / "dagster.yaml").is_file():
        says = f"{home} has no dagster.yaml: pools and retention are Dagster's defaults"
        return Finding("DAGSTER_HOME", "note", says, "source env.sh")
    return seen


def writable(what: str, folder: Path) -> Finding:
    """Whether files can be made in `folder`, or it can be made."""
    own = folder.expanduser().resolve()
    if (error := unwritable(own)) is not None:
        place = existing(own)
        mend = f"chmod u+w {place}, or name another folder" if isinstance(error, PermissionError) else ""
        return Finding(what, "missing", f"{place} cannot be written: {error.strerror}", mend)
    return Finding(what, "ok", f"{folder} can be written" if folder.is_dir() else f"{folder} can be made")


def newest_corpus(out: Path) -> Finding:
    """The newest corpus version below `out`."""
    names = list_corpora(out)
    if not names:
        return Finding("corpus", "note", f"none below {out}", "make corpus")
    path = newest(out, names)
    try:
        examples = open_version(path).manifest["counts"]["examples"]
        says = f"{path}: {examples:,} examples; corpora below {out}: {len(names)}"
    except (NoVersion, KeyError, TypeError, ValueError) as error:
        return Finding("corpus", "missing", f"{path} is damaged: {error}", "agro build, or copy it anew")
    return Finding("corpus", "ok", says)


def promoted_model(models: Path) -> Finding:
    """The model that answers, as `agro ask` finds it."""
    pointer = models / "promoted"
    if not pointer.is_file():
        return Finding("promoted model", "note", f"none below {models}; `agro ask` needs one or --model", "make train")
    named = pointer.read_text(encoding="utf-8").strip()
    if not (models / named / "model").is_dir():
        return Finding("promoted model", "missing", f"{pointer} names {named!r}, which is not there", "make train")
    return Finding("promoted model", "ok", f"{models / named}")


def _wanted(required: list[str]) -> Iterator[tuple[str, Requirement]]:
    """Each requirement that holds here with its extra ("" for the base); the project's own extras are left out."""
    declared = metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or []
    for text in required:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if _plain(requirement.name) == DISTRIBUTION:
            continue
        for group in ["", *declared]:
            if requirement.marker is None or requirement.marker.evaluate({"extra": group}):
                yield group, requirement
                break


def _off_pins(pins: Mapping[str, Requirement]) -> list[Finding]:
    if not pins:
        return [Finding("pins", "note", "no constraints.txt here: releases are not compared")]
    installed = {name: release for name in pins if (release := _release(name)) is not None}
    off = [
        f"{name} {release} (pinned {pins[name].specifier})"
        for name, release in installed.items()
        if not pins[name].specifier.contains(release.partition("+")[0], prereleases=True)
    ]
    if off:
        names = " ".join(line.split()[0] for line in off)
        mend = f"pip install -c constraints.txt --force-reinstall --no-deps {names}"
        return [Finding("pins", "note", f"other releases than tested: {', '.join(off)}", mend)]
    return [Finding("pins", "ok", f"{len(installed)} of {len(pins)} pinned packages are installed, each as pinned")]


def _release(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def _amount(what: str, gigabytes: float, needed: float, wished: float, where: str, mend: str) -> Finding:
    said = f"{gigabytes:,.1f} GB {where}"
    if gigabytes < needed:
        return Finding(what, "missing", f"{said}; at least {needed:g} GB are needed", mend)
    if gigabytes < wished:
        return Finding(what, "note", f"{said}; large builds and training want {wished:g} GB", mend)
    return Finding(what, "ok", said)


def _available_memory() -> int | None:
    """Bytes that new processes can have without swapping; None where the system does not say."""
    facts = Path("/proc/meminfo")
    if facts.is_file():
        for line in facts.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    if "SC_PHYS_PAGES" in os.sysconf_names:  # macOS tells what there is, not what is free
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _existing(path: Path) -> Path:
    """`path`, or the nearest folder above it that is there."""
    absolute = path.expanduser().resolve()
    return next(place for place in (absolute, *absolute.parents) if place.is_dir())


def _output(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
