"""Publishing by the real client against a Hub on loopback, with faults; and what `datasets` then reads."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import huggingface_hub.constants
import huggingface_hub.utils._http
import pytest
from hub_server import DROP_AFTER, DROP_BEFORE, REPO, SLOW, TOKEN, Hub, running

from agro_data.hashing import file_hash
from agro_data.publish.publication.hub import NotPublished, Published, publish_folder, token_of

NAME = "org/shop"
TAG = "v0001-aaaaaaaa"
FAULTS = (401, 403, 409, 412, 429, 500, 503, DROP_BEFORE, DROP_AFTER, SLOW)

assert REPO


@pytest.fixture(autouse=True)
def _as_on_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files go by the HTTP protocol (Xet speaks to a service of its own), and nobody waits."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(huggingface_hub.utils._http.time, "sleep", lambda seconds: None)


def make_folder(folder: Path, text: str = "one") -> Path:
    """A folder with its manifest, as `release.make_release` leaves it."""
    contents = {"README.md": f"---\nlicense: mit\n---\n# {text}\n".encode(), "report.html": b"<p>report</p>"}
    contents |= {f"data/{split}-00000-of-00001.parquet": f"{text} {split}".encode() * 50 for split in ("train", "test")}
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    files = {name: {"bytes": len(content), "sha256": file_hash(folder / name)} for name, content in contents.items()}
    (folder / "manifest.json").write_text(json.dumps({"files": files}))
    return folder


def publish(folder: Path, hub: Hub, tag: str = TAG, **more: object) -> Published:
    more = {"attempts": 3, "wait": lambda seconds: None} | more
    return publish_folder(folder, NAME, tag, token=TOKEN, message="a version", endpoint=hub.url, **more)  # type: ignore[arg-type]


def held(hub: Hub, tag: str) -> dict[str, bytes]:
    repository = hub.repositories[NAME]
    files = repository.commits[repository.tags[tag]]
    return {name: content for name, content in files.items() if name != ".gitattributes"}


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_version_is_one_commit_and_a_tag_in_a_private_repository(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    with running(Hub()) as hub:
        published = publish(folder, hub)
        repository = hub.repositories[NAME]
        assert published.new
        assert published.commit == repository.head == repository.tags[TAG]
        assert repository.private
        assert len(repository.commits) == 2  # the Hub's own first one, and ours
        assert held(hub, TAG) == contents(folder)
        again = publish(folder, hub)
        assert not again.new
        assert again.commit == published.commit
        assert len(repository.commits) == 2


def test_a_published_version_is_never_overwritten(tmp_path: Path) -> None:
    with running(Hub()) as hub:
        publish(make_folder(tmp_path / "one"), hub)
        before = held(hub, TAG)
        with pytest.raises(NotPublished, match="already published and differs"):
            publish(make_folder(tmp_path / "two", "other"), hub)
        assert held(hub, TAG) == before


def test_the_next_version_replaces_files_and_the_tag_keeps_the_old(tmp_path: Path) -> None:
    first, second = make_folder(tmp_path / "one"), make_folder(tmp_path / "two", "other")
    (second / "data/test-00000-of-00001.parquet").unlink()
    manifest = json.loads((second / "manifest.json").read_text())
    del manifest["files"]["data/test-00000-of-00001.parquet"]
    (second / "manifest.json").write_text(json.dumps(manifest))
    with running(Hub()) as hub:
        publish(first, hub)
        publish(second, hub, "v0002-bbbbbbbb")
        assert held(hub, TAG) == contents(first)
        assert held(hub, "v0002-bbbbbbbb") == contents(second)


def test_what_others_wrote_is_not_deleted(tmp_path: Path) -> None:
    with running(Hub()) as hub:
        publish(make_folder(tmp_path / "one"), hub)
        repository = hub.repositories[NAME]
        repository.commit(repository.commits[repository.head] | {"model.safetensors": b"weights"})
        with pytest.raises(NotPublished, match=r"model\.safetensors"):
            publish(make_folder(tmp_path / "two", "other"), hub, "v0002-bbbbbbbb")


@pytest.mark.parametrize(
    ("status", "where", "says"),
    [
        (401, "/commit/", "does not accept the token"),
        (403, "/commit/", "may not commit"),
        (412, "/commit/", "something else was written to it meanwhile"),
        (409, "/tag/", "something else was written to it meanwhile"),
        (403, "/api/repos/create", "may not create"),
        (400, "/tag/", "HTTP 400"),
    ],
)
def test_a_refusal_is_said_clearly_and_once(status: int, where: str, says: str, tmp_path: Path) -> None:
    with running(Hub(fault=lambda number, method, path: status if where in path else None)) as hub:
        with pytest.raises(NotPublished, match=says) as raised:
            publish(make_folder(tmp_path), hub)
        assert TOKEN not in str(raised.value)
        assert sum(where in path for _, path in hub.requests) == 1
        assert not hub.repositories.get(NAME) or not hub.repositories[NAME].tags


def test_a_commit_in_between_is_a_conflict(tmp_path: Path) -> None:
    hub = Hub()

    def meanwhile(number: int, method: str, path: str) -> None:
        if "/commit/" in path:
            repository = hub.repositories[NAME]
            repository.commit(repository.commits[repository.head] | {"README.md": b"by hand"})

    hub.fault = meanwhile
    with running(hub):
        with pytest.raises(NotPublished, match="something else was written"):
            publish(make_folder(tmp_path), hub)
        assert not hub.repositories[NAME].tags
        hub.fault = lambda number, method, path: None
        publish(make_folder(tmp_path), hub)
        assert held(hub, TAG) == contents(tmp_path)


@pytest.mark.ci
@pytest.mark.parametrize("mishap", [429, 500, DROP_BEFORE, DROP_AFTER])
@pytest.mark.parametrize("where", ["/api/repos/create", "/refs", "/commit/", "/tag/", "/tree/", "/lfs/"])
def test_a_mishap_that_passes_is_overcome(mishap: int | str, where: str, tmp_path: Path) -> None:
    left = [1]

    def once(number: int, method: str, path: str) -> int | str | None:
        if where in path and left:
            left.pop()
            return mishap
        return None

    with running(Hub(fault=once)) as hub:
        publish(make_folder(tmp_path), hub)
        assert not left
        assert held(hub, TAG) == contents(tmp_path)
        assert len(hub.repositories[NAME].commits) == 2


def test_attempts_are_bounded(tmp_path: Path) -> None:
    waits: list[float] = []
    with running(Hub(fault=lambda number, method, path: 500 if "/commit/" in path else None)) as hub:
        with pytest.raises(NotPublished, match=r"tried 4 times.*the same command continues"):
            publish(make_folder(tmp_path), hub, attempts=4, wait=waits.append)
        assert sum("/commit/" in path for _, path in hub.requests) == 4
    assert waits == [1.0, 2.0, 4.0]


def test_an_interrupted_publication_uploads_only_what_is_missing(tmp_path: Path) -> None:
    with running(Hub(fault=lambda number, method, path: 403 if "/commit/" in path else None)) as hub:
        with pytest.raises(NotPublished):
            publish(make_folder(tmp_path), hub)
        sent = sum(method == "PUT" for method, _ in hub.requests)
        hub.fault = lambda number, method, path: None
        publish(make_folder(tmp_path), hub)
        assert sum(method == "PUT" for method, _ in hub.requests) == sent == 2


def test_the_token_is_of_the_environment_only_and_never_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(NotPublished, match="HF_TOKEN"):
        token_of({"HOME": str(tmp_path)})
    broken = Hub(fault=lambda number, method, path: 500)
    with caplog.at_level(logging.DEBUG), running(broken), pytest.raises(NotPublished) as raised:
        publish(make_folder(tmp_path), broken, attempts=2)
    assert TOKEN not in caplog.text
    assert TOKEN not in str(raised.value)


def at(places: set[int], mishap: int | str) -> Callable[[int, str, str], int | str | None]:
    return lambda number, method, path: mishap if number in places else None


def check_random_faults(seeds: range, tmp_path: Path) -> None:
    """After any fault the tag holds what the manifest says or does not exist; without faults the rest is done."""
    folder = make_folder(tmp_path)
    for seed in seeds:
        rng = random.Random(seed)
        places = {rng.randrange(16) for _ in range(rng.choice((1, 1, 2, 5)))}
        mishap = rng.choice(FAULTS)
        with running(Hub(fault=at(places, mishap), slowness=0.01)) as hub:
            with contextlib.suppress(NotPublished):
                publish(folder, hub, attempts=rng.choice((1, 2)))
            repository = hub.repositories.get(NAME)
            if repository is not None and repository.tags:
                assert held(hub, TAG) == contents(folder), (seed, mishap, places)
            hub.fault = at(set(), mishap)
            publish(folder, hub)
            assert held(hub, TAG) == contents(folder), (seed, mishap, places)
            assert len(hub.repositories[NAME].commits) == 2, (seed, mishap, places)


@pytest.mark.ci
def test_ten_faults_at_random_places(tmp_path: Path) -> None:
    check_random_faults(range(1000, 1010), tmp_path)


@pytest.mark.slow
def test_a_hundred_faults_at_random_places(tmp_path: Path) -> None:
    check_random_faults(range(100), tmp_path)


READ = """
import datasets, json, sys
small = datasets.load_dataset(sys.argv[1], revision=sys.argv[2])
whole = datasets.load_dataset(sys.argv[1], "certificate", revision=sys.argv[2])
first = next(iter(small.values()))
print(json.dumps({"columns": first.column_names, "rows": {k: len(v) for k, v in small.items()},
    "certificate": next(iter(whole.values())).column_names, "row": first[0]}))
"""


def load_from(hub: Hub, tag: str, tmp_path: Path) -> dict[str, object]:
    """What `datasets.load_dataset` reads, in a process of its own: it knows its endpoint from its start."""
    environment = os.environ | {
        "HF_ENDPOINT": hub.url,
        "HF_TOKEN": TOKEN,
        "HF_HOME": str(tmp_path / "home"),
        "HF_HUB_DISABLE_XET": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", READ, NAME, tag], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return told
