"""A Hub on loopback: the endpoints that `huggingface_hub` and `datasets` use, with git's ids, and faults on demand."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "hf_secretsecretsecret"
REPO = r"/(?P<repo>[\w.-]+/[\w.-]+)"
DROP_BEFORE, DROP_AFTER, SLOW = "drop before", "drop after", "slow"
REGULAR = (".md", ".json", ".html", ".gitattributes")


@dataclass
class Repository:
    private: bool
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)  # path to content, by commit
    head: str = ""
    tags: dict[str, str] = field(default_factory=dict)

    def commit(self, files: dict[str, bytes]) -> str:
        named = json.dumps([self.head, len(self.commits), sorted((n, blob(c)) for n, c in files.items())])
        self.head = hashlib.sha1(named.encode()).hexdigest()
        self.commits[self.head] = files
        return self.head


@dataclass
class Hub:
    """`fault` is asked before each request (its number, method and path) and answers None, a status or a mishap."""

    fault: Callable[[int, str, str], int | str | None] = lambda number, method, path: None
    repositories: dict[str, Repository] = field(default_factory=dict)
    store: dict[str, bytes] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    slowness: float = 0.3
    lock: threading.RLock = field(default_factory=threading.RLock)
    url: str = ""


def blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def is_large(path: str) -> bool:
    return not path.endswith(REGULAR)


@contextmanager
def running(hub: Hub) -> Iterator[Hub]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"hub": hub}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


class Failed(Exception):
    def __init__(self, status: int, code: str = "", message: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.serve()

    do_POST = do_PUT = do_HEAD = do_GET

    def serve(self) -> None:
        hub = self.hub
        body = self.read_body()
        parts = urlsplit(self.path)
        path = unquote(parts.path)
        with hub.lock:
            number = len(hub.requests)
            hub.requests.append((self.command, path))
        mishap = hub.fault(number, self.command, path)
        if mishap == SLOW:
            time.sleep(hub.slowness)
        if mishap == DROP_BEFORE:
            self.close_connection = True
            return
        try:
            if isinstance(mishap, int):
                raise Failed(mishap, message="an injected fault")
            with hub.lock:
                reply = self.answer(path, parse_qs(parts.query), body)
        except Failed as failure:
            self.fail(failure)
            return
        if mishap == DROP_AFTER:
            self.close_connection = True
            return
        content, headers = reply
        self.send(200, content, headers)

    def read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            pieces = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(pieces)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def fail(self, failure: Failed) -> None:
        headers = {"X-Error-Message": failure.message}
        if failure.code:
            headers["X-Error-Code"] = failure.code
        self.send(failure.status, json.dumps({"error": failure.message}).encode(), headers)

    def send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        headers = {"Content-Type": "application/json", "Content-Length": str(len(content))} | headers
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    # -- what each endpoint does ---------------------------------------------------------------------------------

    def answer(self, path: str, query: dict[str, list[str]], body: bytes) -> tuple[bytes, dict[str, str]]:
        if found := re.fullmatch(r"/lfs/(?P<oid>[0-9a-f]{64})", path):
            return self.upload(found["oid"], body)
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise Failed(401, message="Invalid credentials in Authorization header")
        for pattern, handle in self.routes():
            if found := re.fullmatch(pattern, path):
                reply = handle(found.groupdict(), query, body)
                return reply if isinstance(reply, tuple) else (json.dumps(reply).encode(), {})
        raise Failed(404, message=f"no endpoint {path}")

    def routes(self) -> list[tuple[str, Callable[[dict[str, str], dict[str, list[str]], bytes], Any]]]:
        api = f"/api/datasets{REPO}"
        return [
            (r"/api/repos/create", self.create),
            (r"/api/validate-yaml", lambda *_: {"errors": [], "warnings": []}),
            (api, self.info),
            (f"{api}/revision/(?P<revision>.+)", self.info),
            (f"{api}/refs", self.refs),
            (f"{api}/tree/(?P<revision>[^/]+)(?:/(?P<path>.*))?", self.tree),
            (f"{api}/paths-info/(?P<revision>.+)", self.paths_info),
            (f"{api}/preupload/(?P<revision>.+)", self.preupload),
            (f"{api}/commit/(?P<revision>.+)", self.make_commit),
            (f"{api}/tag/(?P<revision>.+)", self.make_tag),
            (f"/datasets{REPO}\\.git/info/lfs/objects/batch", self.batch),
            (f"/datasets{REPO}/resolve/(?P<revision>[^/]+)/(?P<path>.+)", self.resolve),
        ]

    def repository(self, groups: dict[str, str]) -> Repository:
        if groups["repo"] not in self.hub.repositories:
            raise Failed(404, "RepoNotFound", "Repository not found")
        return self.hub.repositories[groups["repo"]]

    def revision(self, repository: Repository, name: str | None) -> tuple[str, dict[str, bytes]]:
        commit = repository.head if name in (None, "main") else repository.tags.get(str(name), str(name))
        if commit not in repository.commits:
            raise Failed(404, "RevisionNotFound", f"Invalid rev id: {name}")
        return commit, repository.commits[commit]

    def create(self, groups: dict[str, str], query: object, body: bytes) -> Any:
        asked = json.loads(body)
        name = f"{asked['organization']}/{asked['name']}"
        if name in self.hub.repositories:
            raise Failed(409, message="You already created this dataset repo")
        private = asked.get("visibility") == "private" or bool(asked.get("private"))
        self.hub.repositories[name] = repository = Repository(private)
        repository.commit({".gitattributes": b"*.parquet filter=lfs\n"})
        return {"url": f"{self.hub.url}/datasets/{name}", "name": name, "id": "0"}

    def info(self, groups: dict[str, str], query: object, body: bytes) -> Any:
        repository = self.repository(groups)
        commit, files = self.revision(repository, groups.get("revision"))
        return {
            "id": groups["repo"],
            "_id": "0",
            "sha": commit,
            "private": repository.private,
            "gated": False,
            "disabled": False,
            "tags": [],
            "downloads": 0,
            "likes": 0,
            "siblings": [{"rfilename": name} for name in sorted(files)],
        }

    def refs(self, groups: dict[str, str], query: object, body: bytes) -> Any:
        repository = self.repository(groups)
        return {
            "branches": [{"name": "main", "ref": "refs/heads/main", "targetCommit": repository.head}],
            "converts": [],
            "tags": [{"name": n, "ref": f"refs/tags/{n}", "targetCommit": c} for n, c in repository.tags.items()],
        }

    def tree(self, groups: dict[str, str], query: dict[str, list[str]], body: bytes) -> Any:
        _, files = self.revision(self.repository(groups), groups["revision"])
        prefix = f"{groups['path']}/" if groups.get("path") else ""
        below = [name for name in sorted(files) if name.startswith(prefix)]
        if prefix and not below:
            raise Failed(404, "EntryNotFound", f"no folder {prefix}")
        recursive = query.get("recursive", ["false"])[0].lower() in ("true", "1")
        folders = sorted({"/".join(n.split("/")[:k]) for n in below for k in range(1, n.count("/") + 1)})
        listed = [entry(name, files[name]) for name in below if recursive or "/" not in name[len(prefix) :]]
        inner = [one for one in folders if one.startswith(prefix) and len(one) > len(prefix)]
        listed += [
            {"type": "directory", "path": one, "oid": "0" * 40, "size": 0}
            for one in inner
            if recursive or "/" not in one[len(prefix) :]
        ]
        return listed

    def paths_info(self, groups: dict[str, str], query: object, body: bytes) -> Any:
        _, files = self.revision(self.repository(groups), groups["revision"])
        text = body.decode()
        asked = json.loads(text)["paths"] if text.startswith("{") else parse_qs(text).get("paths", [])
        found: list[dict[str, Any]] = []
        for path in asked:
            if path in files:
                found.append(entry(path, files[path]))
            elif any(name.startswith(f"{path}/") for name in files):
                found.append({"type": "directory", "path": path, "oid": "0" * 40, "size": 0})
        return found

    def preupload(self, groups: dict[str, str], query: object, body: bytes) -> Any:
        _, files = self.revision(self.repository(groups), groups["revision"])
        asked = json.loads(body)["files"]
        return {
            "files": [
                {
                    "path": one["path"],
                    "uploadMode": "lfs" if is_large(one["path"]) else "regular",
                    "shouldIgnore": False,
                    **({"oid": blob(files[one["path"]])} if one["path"] in files else {}),
                }
                for one in asked
            ]
        }

    def batch(self, groups: dict[str, str], query: object, body: bytes) -> Any:
        self.repository(groups)
        objects = []
        for one in json.loads(body)["objects"]:
            there = one["oid"] in self.hub.store
            href = {"upload": {"href": f"{self.hub.url}/lfs/{one['oid']}", "header": {}}}
            objects.append(one if there else one | {"actions": href})
        return {"transfer": "basic", "objects": objects}

    def upload(self, oid: str, body: bytes) -> tuple[bytes, dict[str, str]]:
        if hashlib.sha256(body).hexdigest() != oid:
            raise Failed(400, message="content is not what was announced")
        self.hub.store[oid] = body
        return b"", {"ETag": f'"{oid}"'}

    def make_commit(self, groups: dict[str, str], query: object, body: bytes) -> Any:
        repository = self.repository(groups)
        lines = [json.loads(line) for line in body.splitlines() if line.strip()]
        parent = lines[0]["value"].get("parentCommit")
        if parent is not None and parent != repository.head:
            raise Failed(412, message="A commit has happened since. Please refresh and try again.")
        files = dict(repository.commits[repository.head])
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                if value["oid"] not in self.hub.store:
                    raise Failed(400, message=f"{value['path']}: its content was not uploaded")
                files[value["path"]] = self.hub.store[value["oid"]]
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        commit = repository.commit(files)
        return {"commitUrl": f"{self.hub.url}/datasets/{groups['repo']}/commit/{commit}", "commitOid": commit}

    def make_tag(self, groups: dict[str, str], query: object, body: bytes) -> Any:
        repository = self.repository(groups)
        commit, _ = self.revision(repository, groups["revision"])
        tag = json.loads(body)["tag"]
        if tag in repository.tags:
            raise Failed(409, message=f"Tag {tag} already exists")
        repository.tags[tag] = commit
        return {}

    def resolve(self, groups: dict[str, str], query: object, body: bytes) -> tuple[bytes, dict[str, str]]:
        commit, files = self.revision(self.repository(groups), groups["revision"])
        if groups["path"] not in files:
            raise Failed(404, "EntryNotFound", f"no file {groups['path']}")
        content = files[groups["path"]]
        etag = hashlib.sha256(content).hexdigest() if is_large(groups["path"]) else blob(content)
        return content, {
            "X-Repo-Commit": commit,
            "ETag": f'"{etag}"',
            "Content-Type": "application/octet-stream",
            "Accept-Ranges": "none",
        }


def entry(name: str, content: bytes) -> dict[str, Any]:
    """A file as `list_repo_tree` tells it."""
    told: dict[str, Any] = {"type": "file", "path": name, "size": len(content), "oid": blob(content)}
    if is_large(name):
        sha256 = hashlib.sha256(content).hexdigest()
        told["lfs"] = {"oid": sha256, "size": len(content), "pointerSize": 130}
    return told
