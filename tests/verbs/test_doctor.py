"""What a machine lacks is told with the command that mends it; each check is made to see both sides."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement

from agro_data import doctor, folders
from agro_data.config import DEFAULT_MODEL
from agro_data.verbs.doctor import doctor_command


@contextmanager
def hub_that_answers(status: int) -> Iterator[tuple[str, list[str]]]:
    """A server on loopback, and the Authorization headers that it was sent."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization", ""))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        server.server_close()


def test_the_hub_that_answers_and_the_token_is_neither_shown_nor_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with hub_that_answers(200) as (address, seen):
        found = doctor.hub({"HF_ENDPOINT": address, "HF_TOKEN": "hf_secret"})
    assert (found.state, seen) == ("ok", [""])
    assert "a token is set" in found.says
    assert "hf_secret" not in str(found)


def test_the_hub_that_refuses_is_silent_or_must_not_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with hub_that_answers(503) as (address, _):
        assert "status 503" in doctor.hub({"HF_ENDPOINT": address}).says
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{free.getsockname()[1]}"
        assert "does not answer" in doctor.hub({"HF_ENDPOINT": closed}, seconds=2).says
    assert doctor.hub({"HF_HUB_OFFLINE": "1"}).mend == "unset HF_HUB_OFFLINE"
    assert doctor.hub({"HF_ENDPOINT": "file:///etc/passwd"}).state == "missing"


def test_an_old_python_is_missing() -> None:
    assert doctor.python((3, 10, 1)).state == "missing"
    assert doctor.python((3, 14, 0)).state == "ok"


def test_packages_and_pins() -> None:
    pins = doctor.constraints(Path(doctor.ROOT / "constraints.txt"))
    assert {"polars", "torch", "huggingface-hub"} <= set(pins)
    base = doctor.packages(pins)[0]
    assert (base.what, base.state) == ("packages", "ok")
    (off,) = [one for one in doctor.packages({"polars": Requirement("polars==0.1")}) if one.what == "pins"]
    assert off.state == "note"
    assert "pinned ==0.1" in off.says
    assert off.mend.endswith("--no-deps polars")
    assert doctor.packages({})[-1].state == "note"


def test_a_package_that_is_absent_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ["no-such-package-here>=1", 'another-absent-one; extra == "train"']
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: wanted)
    base, train = doctor.packages({})[:2]
    assert (base.state, base.mend) == ("missing", "pip install -c constraints.txt -e '.'")
    assert (train.what, train.state) == ("packages of [train]", "note")
    assert "another-absent-one" in train.says
    assert ".[train]" in train.mend


def test_dagsters_folder(tmp_path: Path) -> None:
    assert doctor.dagster_home({}).mend == "source env.sh"
    assert doctor.dagster_home({"DAGSTER_HOME": "relative"}).state == "missing"
    assert doctor.dagster_home({"DAGSTER_HOME": str(tmp_path / "absent")}).mend == f"mkdir -p {tmp_path / 'absent'}"
    assert doctor.dagster_home({"DAGSTER_HOME": str(tmp_path)}).state == "note"
    (tmp_path / "dagster.yaml").write_text("")
    assert doctor.dagster_home({"DAGSTER_HOME": str(tmp_path)}).state == "ok"


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.writable("cache", tmp_path / "a" / "b").state == "ok"
    assert not list(tmp_path.iterdir())

    def refuse(**arguments: object) -> None:  # root may write anywhere, so the system is made to refuse
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(folders, "TemporaryFile", refuse)
    found = doctor.writable("cache", tmp_path)
    assert (found.state, f"chmod u+w {tmp_path}" in found.mend) == ("missing", True)


def test_amounts_have_two_bars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    states = []
    for gigabytes in (0.5, 5, 50):
        monkeypatch.setattr(doctor, "free_bytes", lambda place, size=gigabytes: int(size * 1e9))
        states.append(doctor.disk(tmp_path).state)
    assert states == ["missing", "note", "ok"]


def test_a_gpu_is_told_from_none_and_from_one_that_torch_does_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda tool: None)
    assert doctor.gpu().says.startswith("none")
    monkeypatch.setattr(doctor.shutil, "which", lambda tool: "nvidia-smi")
    for seen, state, mend in (
        ("1 2.13.0", "ok", ""),
        ("0 2.13.0+cpu", "note", "torch==2.13.0"),
        (None, "note", "make"),
    ):
        monkeypatch.setattr(
            doctor, "_output", lambda command, seen=seen: "A GPU, 80 GiB" if command[0] == "nvidia-smi" else seen
        )
        found = doctor.gpu()
        assert (found.state, mend in found.mend) == (state, True)


def test_models_and_corpora(tmp_path: Path) -> None:
    assert doctor.model("no-such/model").state == "note"
    assert DEFAULT_MODEL in doctor.model(DEFAULT_MODEL).says
    assert doctor.newest_corpus(tmp_path).mend == "make corpus"
    assert doctor.promoted_model(tmp_path).state == "note"
    (tmp_path / "promoted").write_text("gone/r0001\n")
    assert doctor.promoted_model(tmp_path).state == "missing"


def test_the_verb_ends_with_1_when_something_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    for state, status in (("note", 0), ("missing", 1)):
        one = doctor.Finding("Hub", state, "says", "the command")  # type: ignore[arg-type]
        monkeypatch.setattr(doctor, "examine", lambda out, network, one=one: [one])
        done = CliRunner().invoke(doctor_command, ["--out", str(tmp_path)])
        assert (done.exit_code, "the command" in done.output) == (status, True)
        told = json.loads(CliRunner().invoke(doctor_command, ["--json"]).output)
        assert told["findings"][0]["state"] == state


def test_the_network_is_asked_only_when_told_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[bool] = []

    def hub(environment: object) -> doctor.Finding:
        asked.append(True)
        return doctor.Finding("Hub", "ok", "answers")

    monkeypatch.setattr(doctor, "hub", hub)
    names = [one.what for one in doctor.examine(tmp_path)]
    assert not asked
    assert {"Python", "memory", "disk", "GPU", "model", "DAGSTER_HOME", "corpus"} <= set(names)
    doctor.examine(tmp_path, network=True)
    assert asked == [True]
