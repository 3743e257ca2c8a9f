"""The pages of the documentation as programs: what a reader would type, in order, in one folder, and what comes out.

A fenced block of `bash` or `python` is run, in a folder that looks like a fresh clone after `make`; what else is meant
stands in HTML comments on the lines right above the fence, which a reader does not see:

    <!-- output -->                 this block is what the block before printed on standard output; a line of nothing
                                    but … stands for any number of lines
    <!-- output; varies: REGEX -->  what the expression matches may be another each time
    <!-- with: NAME = COMMAND -->   NAME in the block stands for what the command prints, such as an id
    <!-- exit 1 -->                 the block ends with this status, and not with 0; `exit 0 or 1` with either
    <!-- file: NAME -->             the reader writes the block into this file
    <!-- slow: REASON -->           from here on the page is run by `make test-all` alone
    <!-- not run: REASON -->        needs a GPU, the Hub or a server: its commands are only checked (`commands.py`)
    <!-- before                     the lines that follow, to the end of the comment, are run by bash and not shown:
                                    they make what a reader has at hand, such as predictions

`python tests/house/pages.py [PAGE]...` runs pages and writes what came out into their blocks of output.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = {"bash", "python", "json", "yaml", "text"}
RUN = {"bash": ["bash", "-eo", "pipefail"], "python": [sys.executable]}
CLONE = ("env.sh", "pyproject.toml", "constraints.txt", "configs", "dagster_home/dagster.yaml")
INSTALLS = re.compile(r"^\s*(make|pip|(python3? )?-m pip)\b", re.M)
FENCE = re.compile(r"^( *)```(\S*)$")
COMMENT = re.compile(r"^ *<!-- (.*) -->$")
LEFT_OUT = "…"
SECONDS = 900  # of a block


@dataclass(frozen=True)
class Block:
    """A fenced block, or a hidden one: what it holds, where it begins (line of its first line, from 1), its marks."""

    language: str
    text: str
    line: int
    marks: tuple[str, ...] = ()

    def mark(self, name: str) -> str | None:
        """What stands after `name:` in a mark, "" for a mark that says no more, None without it."""
        for mark in self.marks:
            if mark == name:
                return ""
            if mark.startswith((f"{name}:", f"{name};", f"{name} ")):
                return mark[len(name) + 1 :].strip()
        return None

    @property
    def runs(self) -> bool:
        return self.language in RUN and self.mark("not run") is None and self.mark("file") is None

    @property
    def statuses(self) -> list[int]:
        """Those that the block may end with."""
        return [int(status) for status in (self.mark("exit") or "0").split(" or ")]

    @property
    def varies(self) -> str:
        """The expression of what may differ in an output; "" for none."""
        return (self.mark("output") or "").removeprefix("varies:").strip()


class Wrong(AssertionError):
    """A block did not do what its page says."""


def pages() -> list[Path]:
    """Every page that people read, the generated ones included."""
    top = [ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG")]
    return [
        *top,
        ROOT / "datasets" / "README.md",
        ROOT / "bench" / "RESULTS.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    ]


def blocks(text: str) -> list[Block]:
    """Fenced and hidden blocks of a page, in order. Raises `Wrong` for one that does not end."""
    found: list[Block] = []
    marks: list[str] = []
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        fence, comment = FENCE.match(line), COMMENT.match(line)
        if fence:
            body = "".join(f"{held.removeprefix(fence[1])}\n" for held in _until(lines, "```", number))
            found.append(Block(fence[2], body, number + 1, tuple(marks)))
            marks = []
        elif line.strip() == "<!-- before":
            body = "".join(f"{held}\n" for held in _until(lines, "-->", number))
            found.append(Block("bash", body, number + 1, ("before",)))
        elif comment:
            marks.append(comment[1])
        elif line.strip():
            marks = []
    return found


def _until(lines: Iterator[tuple[int, str]], end: str, begin: int) -> Iterator[str]:
    for _, line in lines:
        if line.strip() == end:
            return
        yield line
    raise Wrong(f"line {begin}: the block has no end")


def is_slow(page: list[Block]) -> bool:
    return any(block.mark("slow") is not None for block in page)


def make_clone(folder: Path) -> Path:
    """A folder as a reader's clone is: settings, an empty `datasets`; the environment is that of the tests."""
    for name in CLONE:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, target)
    (folder / "datasets").mkdir()
    return folder


def run_page(page: list[Block], folder: Path, slow: bool) -> Iterator[tuple[Block, str]]:
    """Do what a page says in `folder`; blocks of output come with what the block before has printed.

    Without `slow` it ends where the page gets slow. Raises `Wrong` where a block ends with another status than it says.
    """
    printed = ""
    for block in page:
        if block.mark("slow") is not None and not slow:
            return
        if block.mark("output") is not None:
            yield block, printed
        elif name := block.mark("file"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(block.text, encoding="utf-8")
        elif block.runs:
            printed = _run(block, folder)


def _run(block: Block, folder: Path) -> str:
    """What a block prints on standard output."""
    if INSTALLS.search(block.text):
        raise Wrong(f"line {block.line}: what installs is not run in the environment of the tests: mark it `not run`")
    text = block.text
    if given := block.mark("with"):
        name, _, command = given.partition(" = ")
        text = text.replace(name, f"$({command})")
    script = folder / f".block.{block.language}"  # a file, since worker processes read the main module again
    script.write_text(("source ./env.sh\n" if block.language == "bash" else "") + text, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AGRO_", "DAGSTER_"))}
    environment = kept | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "2"),
    }
    done = subprocess.run(
        [*RUN[block.language], script.name], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    if done.returncode not in block.statuses:
        raise Wrong(
            f"line {block.line}: status {done.returncode}, expected {block.mark('exit') or 0}\n{block.text}\n"
            f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        )
    return done.stdout


def differs(block: Block, printed: str) -> str:
    """What an output block shows and the program no longer prints, or ""."""
    shown, got = _comparable(block.text, block.varies), _comparable(printed, block.varies)
    pattern = "".join("(?:.*\n)*" if line == LEFT_OUT else re.escape(f"{line}\n") for line in shown)
    if re.fullmatch(pattern, "".join(f"{line}\n" for line in got)):
        return ""
    return f"line {block.line}: the page shows\n\n{block.text}\nand this came out\n\n{printed}"


def _comparable(text: str, varies: str) -> list[str]:
    """Lines without what may vary; the width of columns is no part of what is shown."""
    lines = [re.sub(" +", " ", line.strip()) for line in text.strip().splitlines()]
    return [re.sub(varies, "~", line) for line in lines] if varies else lines


def written_anew(path: Path) -> list[str]:
    """Run a page and put what came out into its blocks of output; says what it could not (shortened ones)."""
    lines = path.read_text(encoding="utf-8").splitlines()
    left: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        shown = [*run_page(blocks("\n".join(lines)), make_clone(Path(folder)), slow=True)]
    for block, printed in reversed(shown):  # from below, so that places above stay where they are
        difference = differs(block, printed)
        if difference and LEFT_OUT in block.text.splitlines():
            left.append(f"{path}, {difference}")
        elif difference:
            begin = block.line - 1
            lines[begin : begin + len(block.text.splitlines())] = map(str.rstrip, printed.strip("\n").splitlines())
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return left


def main() -> None:
    named = [Path(name).resolve() for name in sys.argv[1:]]
    for path in named or [path for path in pages() if any(block.runs for block in blocks(path.read_text()))]:
        print(path.relative_to(ROOT), flush=True)
        for difference in written_anew(path):
            print(difference, flush=True)


if __name__ == "__main__":
    main()
