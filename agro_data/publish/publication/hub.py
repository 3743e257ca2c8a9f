"""Publishing on the Hugging Face Hub: one commit, then one tag, and nothing that is published changes.

The Hub itself is the record of how far a publication came. Every attempt reads it anew and does only what is missing:
repository, commit, tag. So an interrupted publication is continued by the same call, a reply that was lost does no
harm, and a tag is set only on a commit that has exactly the files of the manifest.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agro_data.errors import InWords
from agro_data.hashing import file_hash

if TYPE_CHECKING:
    from huggingface_hub import HfApi

log = logging.getLogger(__name__)

T = TypeVar("T")

TOKEN = "HF_TOKEN"
ATTEMPTS = 5
FIRST_WAIT = 1.0  # seconds; doubled after each attempt
LONGEST_WAIT = 60.0
REPO_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
OURS = ("README.md", "manifest.json", "report.html", ".gitattributes")
OUR_FOLDERS = ("data/", "certificate/", "rejected/", "instances/", "plots/")
PASSING = (408, 425, 429, 500, 502, 503, 504)  # what another attempt may find otherwise


class NotPublished(InWords, RuntimeError):
    """The version is not on the Hub under its tag; the message says what is there and what to do."""


class _Passing(RuntimeError):
    """A failure that another attempt may not meet; `wait` is what the server asked for, in seconds."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


@dataclass(frozen=True)
class Published:
    """Where a version is. `new` is False when it was there before, as it is here."""

    repo_id: str
    tag: str
    commit: str
    url: str
    new: bool


@dataclass(frozen=True)
class LocalFile:
    """A file as the Hub tells it: `sha256` of one in large file storage, `blob` (git's SHA-1) of any other."""

    path: Path
    size: int
    sha256: str

    @property
    def blob(self) -> str:
        content = self.path.read_bytes()
        return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def token_of(environment: Mapping[str, str]) -> str:
    """The token of the environment, which is the only place that is looked at. Raises `NotPublished` without one."""
    token = environment.get(TOKEN, "").strip()
    if not token:
        raise NotPublished(
            f"no token: set {TOKEN} in the environment to one that may write to the repository "
            "(settings of your account on the Hub, access tokens). It is neither stored nor shown"
        )
    return token


def check_repo_id(repo_id: str) -> None:
    """Raise `NotPublished` unless `repo_id` is an owner and a name."""
    if not REPO_ID.fullmatch(repo_id) or ".." in repo_id or "--" in repo_id:
        raise NotPublished(f"--repo-id {repo_id!r}: expected ORG/NAME, such as my-org/shop-questions")


def publish_folder(
    folder: Path,
    repo_id: str,
    tag: str,
    *,
    token: str,
    message: str,
    private: bool = True,
    endpoint: str | None = None,
    attempts: int = ATTEMPTS,
    wait: Callable[[float], None] = time.sleep,
) -> Published:
    """Make the dataset repository `repo_id` hold the files of `folder`, and nothing else, at the tag `tag`.

    `folder` holds a `manifest.json` whose `files` names every other file with its bytes and SHA-256. A repository that
    is not there is created (private unless said otherwise); one that is there keeps its visibility. Failures that pass
    (connections, 408, 429, 5xx) are tried again, at most `attempts` times in all.

    Raises `NotPublished`: no right to write, a tag that holds something else, another commit in between, files in the
    repository that no publication made, or a Hub that did not answer.
    """
    check_repo_id(repo_id)
    from huggingface_hub import HfApi  # noqa: PLC0415 (a third of a second)

    files = local_files(folder)
    hub = _Hub(HfApi(endpoint=endpoint or os.environ.get("HF_ENDPOINT") or None, token=token), repo_id, token)
    pause = FIRST_WAIT
    for attempt in range(1, attempts + 1):
        try:
            return _publish(hub, files, tag, message, private)
        except _Passing as failure:
            if attempt == attempts:
                raise NotPublished(
                    f"{repo_id}: {failure} (tried {attempts} times). The tag {tag} is not set; "
                    "the same command continues where it was"
                ) from failure
            seconds = min(max(pause, failure.wait), LONGEST_WAIT)
            log.warning("%s: %s; attempt %d of %d in %.0f s", repo_id, failure, attempt + 1, attempts, seconds)
            wait(seconds)
            pause *= 2
    raise ValueError(f"attempts is {attempts}: at least 1 is needed")


def local_files(folder: Path) -> dict[str, LocalFile]:
    """What is to be published, by its path there. Raises `NotPublished` where the manifest says otherwise."""
    named: dict[str, dict[str, Any]] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"]
    found = {p.relative_to(folder).as_posix(): p for p in sorted(folder.rglob("*")) if p.is_file()}
    files = {name: LocalFile(path, path.stat().st_size, file_hash(path)) for name, path in found.items()}
    wrong = sorted(set(named) ^ (set(files) - {"manifest.json"}))
    wrong += [name for name in sorted(set(named) & set(files)) if named[name]["sha256"] != files[name].sha256]
    if wrong:
        raise NotPublished(f"{folder}: {wrong[0]} is not as the manifest says ({len(wrong)} such files)")
    return files


def _publish(hub: _Hub, files: dict[str, LocalFile], tag: str, message: str, private: bool) -> Published:
    """One attempt: read how far it came, do the rest."""
    hub.ensure_repository(private)
    branches, tags = hub.refs()
    if tag in tags:
        return _as_published(hub, files, tag, tags[tag])
    head = branches.get("main", "")
    commit = head
    remote = hub.tree(head) if head else {}
    if _differences(files, remote):
        strangers = [name for name in remote if name not in OURS and not name.startswith(OUR_FOLDERS)]
        if strangers:
            raise NotPublished(
                f"{hub.repo_id}: holds {strangers[0]} ({len(strangers)} such files), which no publication wrote and "
                "this one would delete. Publish to a repository of its own"
            )
        commit = hub.commit(files, remote, head, message)
        missing = _differences(files, hub.tree(commit))
        if missing:
            raise _Passing(f"commit {commit[:8]} does not hold {missing[0]} as it is here ({len(missing)} such files)")
    hub.tag(tag, commit, message)
    _, tags = hub.refs()
    if tag not in tags:
        raise _Passing(f"the tag {tag} was set and is not listed")
    return _as_published(hub, files, tag, tags[tag], new=True)


def _as_published(hub: _Hub, files: dict[str, LocalFile], tag: str, commit: str, *, new: bool = False) -> Published:
    """The publication under `tag`, which is never changed. Raises `NotPublished` when it is not these files."""
    differing = _differences(files, hub.tree(commit))
    if differing:
        raise NotPublished(
            f"{hub.repo_id}: {tag} is already published and differs in {differing[0]} ({len(differing)} files). "
            "A published version is never overwritten: build a new version, or publish to another repository"
        )
    return Published(hub.repo_id, tag, commit, f"{hub.api.endpoint}/datasets/{hub.repo_id}/tree/{tag}", new)


def _differences(files: dict[str, LocalFile], remote: Mapping[str, Any]) -> list[str]:
    """Paths that only one side has, or that differ in content; what the Hub writes by itself does not count."""
    theirs = {name: file for name, file in remote.items() if name != ".gitattributes"}
    differing = set(files) ^ set(theirs)
    return sorted(differing | {name for name in set(files) & set(theirs) if not _same(files[name], theirs[name])})


def _same(local: LocalFile, remote: Any) -> bool:
    if local.size != remote.size:
        return False
    return bool(remote.lfs.sha256 == local.sha256 if remote.lfs else remote.blob_id == local.blob)


@dataclass(frozen=True)
class _Hub:
    """The calls that a publication makes. Each failure becomes `_Passing` or `NotPublished`, without the token."""

    api: HfApi
    repo_id: str
    token: str

    def ensure_repository(self, private: bool) -> None:
        if not self._call("look at the repository", lambda: self.api.repo_exists(self.repo_id, repo_type="dataset")):
            self._call(
                "create the repository",
                lambda: self.api.create_repo(self.repo_id, repo_type="dataset", private=private, exist_ok=True),
            )

    def refs(self) -> tuple[dict[str, str], dict[str, str]]:
        """Commits of branches and of tags, by name."""
        found = self._call("list tags", lambda: self.api.list_repo_refs(self.repo_id, repo_type="dataset"))
        return {one.name: one.target_commit for one in found.branches}, {t.name: t.target_commit for t in found.tags}

    def tree(self, commit: str) -> dict[str, Any]:
        """The files of a commit, by path: `huggingface_hub.RepoFile`."""

        def listed() -> list[Any]:
            return list(self.api.list_repo_tree(self.repo_id, recursive=True, revision=commit, repo_type="dataset"))

        return {one.path: one for one in self._call("list files", listed) if hasattr(one, "blob_id")}

    def commit(self, files: dict[str, LocalFile], remote: Mapping[str, Any], head: str, message: str) -> str:
        """One commit that makes the repository these files: what differs is added, what else is there deleted."""
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete  # noqa: PLC0415

        operations: list[Any] = [
            CommitOperationAdd(name, str(file.path))
            for name, file in files.items()
            if name not in remote or not _same(file, remote[name])
        ]
        gone = set(remote) - set(files) - {".gitattributes"}
        operations += [CommitOperationDelete(name, is_folder=False) for name in sorted(gone)]
        made = self._call(
            "commit",
            lambda: self.api.create_commit(
                self.repo_id, operations, commit_message=message, repo_type="dataset", parent_commit=head or None
            ),
        )
        return str(made.oid)

    def tag(self, tag: str, commit: str, message: str) -> None:
        self._call(
            "set the tag",
            lambda: self.api.create_tag(
                self.repo_id, tag=tag, tag_message=message, revision=commit, repo_type="dataset", exist_ok=False
            ),
        )

    def _call(self, what: str, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except Exception as error:
            raise self._in_words(what, error) from None  # the cause holds the request, and that the token

    def _in_words(self, what: str, error: BaseException) -> Exception:
        import httpx  # noqa: PLC0415 (huggingface_hub has loaded it)

        cause: BaseException | None = error
        while cause is not None:  # an upload's error is wrapped
            status = getattr(getattr(cause, "response", None), "status_code", None)
            if status is not None:
                return self._of_status(what, int(status), cause)
            if isinstance(cause, httpx.TransportError | json.JSONDecodeError | ConnectionError | TimeoutError):
                return _Passing(f"could not {what}: {self._said(cause)}")
            cause = cause.__cause__
        return NotPublished(f"{self.repo_id}: could not {what}: {self._said(error)}")

    def _of_status(self, what: str, status: int, error: Any) -> Exception:
        if status in PASSING:
            asked = error.response.headers.get("Retry-After", "")
            return _Passing(f"could not {what}: HTTP {status}", float(asked) if asked.isdigit() else 0.0)
        if status == 401:
            return NotPublished(f"{self.repo_id}: the Hub does not accept the token in {TOKEN} (HTTP 401)")
        if status == 403:
            return NotPublished(
                f"{self.repo_id}: the token in {TOKEN} may not {what} (HTTP 403): it needs the right to write to "
                f"{self.repo_id.split('/')[0]}"
            )
        if status in (409, 412) and what in ("commit", "set the tag"):
            return _Conflict(
                f"{self.repo_id}: something else was written to it meanwhile (HTTP {status}); nothing was overwritten. "
                "See what it holds now, then run the same command again"
            )
        return NotPublished(f"{self.repo_id}: could not {what}: HTTP {status}: {self._said(error)}")

    def _said(self, error: BaseException) -> str:
        text = " ".join(str(error).split()) or type(error).__name__
        return text.replace(self.token, "***")[:300]


class _Conflict(NotPublished):
    """Another commit or tag came in between."""
