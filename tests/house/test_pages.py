"""The documentation: its commands exist, its blocks run and print what it shows, its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from house import commands
from house.pages import LANGUAGES, ROOT, Block, Wrong, blocks, differs, is_slow, make_clone, pages, run_page

PAGES = {path.relative_to(ROOT).as_posix(): path for path in pages()}
BLOCKS = {name: blocks(path.read_text(encoding="utf-8")) for name, path in PAGES.items()}
RUNNING = [name for name, page in BLOCKS.items() if any(block.runs for block in page)]
SLOW = [name for name in RUNNING if is_slow(BLOCKS[name])]
QUICK = [name for name in RUNNING if next(block for block in BLOCKS[name] if block.runs).mark("slow") is None]
LINK = re.compile(r"(?<!!)\[[^\]\[]*\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.M)


@pytest.mark.parametrize("name", PAGES)
def test_a_block_says_its_language_and_a_mark_means_something(name: str) -> None:
    known = ("before", "output", "exit", "file", "slow", "not run", "with: ")
    for block in BLOCKS[name]:
        assert block.language in LANGUAGES, f"{name}, line {block.line}: {block.language!r}"
        for mark in block.marks:
            assert mark.startswith(("Written by", *known)), f"{name}, line {block.line}: {mark}"
        for mark in ("slow", "not run"):
            assert block.mark(mark) != "", f"{name}, line {block.line}: say why it is {mark}"


@pytest.mark.parametrize("name", [name for name, page in BLOCKS.items() if page])
def test_every_command_is_one_that_the_program_takes(name: str) -> None:
    commands.check(BLOCKS[name])


def test_every_example_in_a_help_is_one_that_the_program_takes() -> None:
    examples = [
        block
        for block in BLOCKS["docs/reference/commands.md"]
        for line in block.text.splitlines()
        if line.strip().startswith("agro ")
    ]
    assert len(examples) > 30
    for block in examples:
        for line in block.text.splitlines():
            if line.strip().startswith("agro "):
                typed = re.split(r"  +", line.strip())[0]  # what comes after is what it does
                commands.check([Block("bash", typed, block.line)])


@pytest.mark.ci
@pytest.mark.parametrize("name", QUICK)
def test_a_page_does_what_it_says(name: str, tmp_path: Path) -> None:
    follow(name, tmp_path, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_a_page_does_what_it_says_to_its_end(name: str, tmp_path: Path) -> None:
    follow(name, tmp_path, slow=True)


def follow(name: str, folder: Path, slow: bool) -> None:
    for block, printed in run_page(BLOCKS[name], make_clone(folder), slow):
        assert not differs(block, printed), f"{name}, {differs(block, printed)}"


@pytest.mark.parametrize("name", PAGES)
def test_a_link_leads_somewhere(name: str) -> None:
    text = without_code(PAGES[name].read_text(encoding="utf-8"))
    for link in LINK.findall(text):
        where = urlsplit(link)
        if where.scheme:
            assert where.scheme in ("http", "https"), f"{name}: {link}"
            assert "." in where.netloc, f"{name}: {link}"
            continue
        target = (PAGES[name].parent / unquote(where.path)).resolve() if where.path else PAGES[name]
        assert target.exists(), f"{name}: {link} is not there"
        assert target.is_relative_to(ROOT), f"{name}: {link} is outside of the repository"
        if where.fragment:
            assert where.fragment in anchors(target), f"{name}: {link} has no such heading"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, todo = set(), [PAGES["README.md"]]
    while todo:
        page = todo.pop()
        reached.add(page)
        for link in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
            target = (page.parent / urlsplit(link).path).resolve()
            if not urlsplit(link).scheme and target.suffix == ".md" and target not in reached | set(todo):
                todo.append(target)
    lost = {path for path in PAGES.values() if (ROOT / "docs") in path.parents} - reached
    assert not lost


def without_code(text: str) -> str:
    return re.sub(r"^ *```.*?^ *```$|`[^`\n]+`(?!\])", "", text, flags=re.M | re.S)


def anchors(path: Path) -> set[str]:
    """Anchors of a page's headings as GitHub makes them."""
    found: list[str] = []
    for heading in HEADING.findall(
        re.sub(r"^ *```.*?^ *```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    ):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return set(found)


def test_what_the_pages_say_is_held_against_what_happens(tmp_path: Path) -> None:
    page = blocks(
        "<!-- before\necho 1 > known\n-->\n"
        "<!-- file: more -->\n```text\n2\n```\n"
        "```bash\ncat known more; echo took $RANDOM s\n```\n"
        "<!-- output; varies: [0-9]+ s -->\n```text\n1\n…\ntook 12 s\n```\n"
    )
    ((shown, printed),) = run_page(page, make_clone(tmp_path / "one"), slow=True)
    assert not differs(shown, printed)
    assert differs(shown, printed.replace("1\n", "3\n", 1))
    assert differs(shown, printed.replace("took", "gave"))
    with pytest.raises(Wrong, match="status 3, expected 0"):
        list(run_page(blocks("```bash\nexit 3\n```\n"), make_clone(tmp_path / "two"), slow=True))
    with pytest.raises(Wrong, match="not run"):
        list(run_page(blocks("```bash\nmake corpus\n```\n"), make_clone(tmp_path / "installs"), slow=True))
    with pytest.raises(Wrong, match="no end"):
        blocks("```bash\nagro\n")
    slow = blocks("<!-- slow: it does not end -->\n```bash\nexit 3\n```\n")
    assert is_slow(slow)
    assert not list(run_page(slow, make_clone(tmp_path / "three"), slow=False))


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("agro build --database x", "No such option"),
        ("agro bild", "No such command"),
        ("agro export datasets/demo --format sftt --out x", "sftt"),
        ("agro verify", "Missing"),
        ("true && python -m agro_train.nothing", "no module"),
        ("python -m agro_train.teach --confg x", "has no --confg"),
        ("make corpse", "has no corpse"),
        ("dagster job execute -j build", "build"),
        ("agrox build", "no command"),
    ],
)
def test_a_command_that_does_not_exist_is_found(typed: str, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        commands.check(blocks(f"```bash\n{typed}\n```\n"))


def test_a_setting_that_does_not_exist_is_found() -> None:
    for name, text, line in (
        ("s.json", '{"epoch": 1}', "agro train cold-start --config s.json"),
        ("b.json", '{"sise": 1}', "agro build --config b.json"),
        ("r.yaml", "ops: {databases: {config: {sise: 1}}}", "dagster job execute -j build_corpus -c r.yaml"),
    ):
        page = blocks(f"<!-- file: {name} -->\n```{name.partition('.')[2]}\n{text}\n```\n```bash\n{line}\n```\n")
        with pytest.raises(AssertionError, match=r"epoch|sise"):
            commands.check(page)
