"""Notices of failed runs: delivered to a real server and a real command, tried again, and free of secrets."""

from __future__ import annotations

import json
import shlex
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agro_data.config import ConfigError
from agro_data.defs import notices
from agro_data.defs.failures import said
from agro_data.defs.notices import BLOT, COMMAND, UI, WEBHOOK, Notice, NotNotified, send, without_secrets
from agro_data.defs.sensors import failure_notice
from agro_train.definitions import defs

pytestmark = pytest.mark.ci

SECRET = "T0KEN-abcdef-123456"
NOTICE = Notice("build_corpus", "0123456789abcdef", {"verified": f"boom with {SECRET}"}, "http://ui/runs/1")


class Hook(ThreadingHTTPServer):
    """A webhook that answers each POST with the next of `answers`, then with 200."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[int] = []
        self.got: list[dict[str, Any]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/services/{SECRET}"


class Handler(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert SECRET in self.path
        self.server.got.append(json.loads(body))
        status = self.server.answers.pop(0) if self.server.answers else 200
        if status == 0:  # hang up
            self.connection.close()
            return
        self.send_response(status)
        if status == 302:
            self.send_header("Location", f"{self.server.address}/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_a_webhook_gets_words_and_facts_without_secrets(hook: Hook) -> None:
    assert send(NOTICE, {WEBHOOK: hook.address, "HF_TOKEN": SECRET}) == [WEBHOOK]
    (got,) = hook.got
    assert got["job"] == "build_corpus"
    assert got["run_id"] == NOTICE.run_id
    assert got["errors"] == {"verified": f"boom with {BLOT}"}
    assert got["text"].splitlines()[0] == "build_corpus failed (run 01234567)"
    assert got["link"] in got["text"]
    assert SECRET not in json.dumps(got)


@pytest.mark.parametrize("answers", [[500], [503, 429], [0], [408]])
def test_it_is_tried_again_where_that_may_help(hook: Hook, answers: list[int]) -> None:
    hook.answers = list(answers)
    assert send(NOTICE, {WEBHOOK: hook.address}, pause=0.01) == [WEBHOOK]
    assert len(hook.got) == len(answers) + 1


@pytest.mark.parametrize(("answers", "tries"), [([403], 1), ([404], 1), ([302], 1), ([500] * 3, 3)])
def test_what_does_not_arrive_is_said_without_the_address(hook: Hook, answers: list[int], tries: int) -> None:
    hook.answers = list(answers)
    with pytest.raises(NotNotified, match=f"^{WEBHOOK}: answered {answers[-1]}$"):
        send(NOTICE, {WEBHOOK: hook.address}, pause=0.01)
    assert len(hook.got) == tries


def test_a_server_that_is_not_there(hook: Hook) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        nobody = f"http://user:{SECRET}@127.0.0.1:{probe.getsockname()[1]}/{SECRET}"
        with pytest.raises(NotNotified) as raised:
            send(NOTICE, {WEBHOOK: nobody}, pause=0.01)
    assert "cannot be reached" in str(raised.value)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    "address", ["hooks.example.org/x", "localhost:8000/x", "file:///{folder}/x", "data:,x", "http://["]
)
def test_what_is_no_address_is_not_taken_for_a_delivery(address: str, tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(NotNotified, match="is no address"):
        send(NOTICE, {WEBHOOK: address.format(folder=tmp_path)}, pause=0.01)
    with pytest.raises(NotNotified, match="is empty"):
        send(NOTICE, {COMMAND: " "})


def command(tmp_path: Path, code: str) -> str:
    script = tmp_path / "notify.py"
    script.write_text(code)
    return shlex.join([sys.executable, str(script), str(tmp_path / "got.json")])


def test_a_command_gets_it_on_standard_input(tmp_path: Path) -> None:
    copy = command(tmp_path, "import sys; open(sys.argv[1], 'w').write(sys.stdin.read())")
    assert send(NOTICE, {COMMAND: copy, "OPENAI_API_KEY": SECRET}) == [COMMAND]
    assert json.loads((tmp_path / "got.json").read_text())["errors"] == {"verified": f"boom with {BLOT}"}


def test_notices_in_a_file_are_a_line_each(tmp_path: Path) -> None:
    file = tmp_path / "failures.log"
    for _ in range(2):
        send(NOTICE, {COMMAND: shlex.join(["tee", "-a", str(file)])})
    assert [json.loads(line)["job"] for line in file.read_text().splitlines()] == [NOTICE.job] * 2


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("import sys; sys.exit(3)", "ended with status 3"),
        ("import time; time.sleep(60)", "took longer than 1 seconds"),
    ],
)
def test_a_command_that_fails(tmp_path: Path, line: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "TIMEOUT", 1.0)
    with pytest.raises(NotNotified, match=why):
        send(NOTICE, {COMMAND: command(tmp_path, line)})


def test_a_command_that_cannot_start(hook: Hook) -> None:
    both = {COMMAND: f"/no/such/{SECRET}", WEBHOOK: hook.address}
    with pytest.raises(NotNotified) as raised:
        send(NOTICE, both)
    assert str(raised.value) == f"{COMMAND}: cannot be started: No such file or directory"
    assert len(hook.got) == 1  # the other one has it all the same
    with pytest.raises(NotNotified, match="check its quotes"):
        send(NOTICE, {COMMAND: "say 'hello"})


@given(st.text(min_size=6).filter(lambda text: text.strip() == text), st.text(), st.text())
def test_no_secret_is_sent_wherever_it_stands(secret: str, before: str, after: str) -> None:
    assume(BLOT not in secret and secret not in before + BLOT + after)
    notice = Notice("job", "run", {"step": before + secret + after}, "")
    payload = json.loads(notice.payload({"MY_PASSWORD": secret}))
    assert BLOT in payload["errors"]["step"]
    assert secret not in payload["errors"]["step"]


def test_a_secret_is_blotted_out_before_an_error_is_cut() -> None:
    error = "x" * (notices.LONGEST - 4) + SECRET
    payload = json.loads(Notice("job", "run", {"step": error}, "").payload({"HF_TOKEN": SECRET}))
    assert SECRET[:4] not in payload["errors"]["step"]


def test_passwords_in_addresses_are_blotted_out_whatever_they_are_called() -> None:
    shown = without_secrets("postgres://ann:s3cret@db.example.org/shop and http://x.org/a:b@c", {})
    assert shown == f"postgres://{BLOT}@db.example.org/shop and http://x.org/a:b@c"


# --- as a sensor of Dagster ----------------------------------------------------------------------------------------


@dg.op
def failing() -> None:
    raise RuntimeError(f"no room on the disk, says {SECRET}")


@dg.job
def fails() -> None:
    failing()


@dg.op
def refusing() -> None:
    with said():
        raise ConfigError("size is 0: ask for at least 1 example")


@dg.job
def refuses() -> None:
    refusing()


def tick(job: dg.JobDefinition = fails) -> Any:
    """What the sensor makes of a run that failed as those of `dagster job execute` do: without a code location."""
    with dg.instance_for_test() as instance:
        context = dg.build_sensor_context(instance=instance, repository_def=defs.get_repository_def())
        began = failure_notice.evaluate_tick(context)
        job.execute_in_process(instance=instance, raise_on_error=False)
        context = dg.build_sensor_context(
            instance=instance, repository_def=defs.get_repository_def(), cursor=began.cursor
        )
        return failure_notice.evaluate_tick(context)


def test_a_failed_run_is_told_with_its_cause_and_a_link(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WEBHOOK, hook.address)
    monkeypatch.setenv("HF_TOKEN", SECRET)
    monkeypatch.setenv(UI, "http://dagster.example.org/")
    (reaction,) = tick().dagster_run_reactions
    assert reaction.error is None
    (got,) = hook.got
    assert got["job"] == "fails"
    assert got["errors"] == {"failing": f"RuntimeError: no room on the disk, says {BLOT}"}
    assert got["link"] == f"http://dagster.example.org/runs/{got['run_id']}"


def test_what_is_in_words_already_is_told_in_these_words(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WEBHOOK, hook.address)
    assert tick(refuses).dagster_run_reactions
    assert hook.got[0]["errors"] == {"refusing": "size is 0: ask for at least 1 example"}


def test_nothing_is_sent_without_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(WEBHOOK, raising=False)
    monkeypatch.delenv(COMMAND, raising=False)
    done = tick()
    assert not done.dagster_run_reactions
    assert WEBHOOK in done.skip_message


def test_what_dagster_keeps_of_a_notice_that_failed_holds_no_secret(
    hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook.answers = [403]
    monkeypatch.setenv(WEBHOOK, hook.address)
    (reaction,) = tick().dagster_run_reactions
    assert f"{WEBHOOK}: answered 403" in reaction.error.to_string()
    assert SECRET not in reaction.error.to_string()


def test_sensors_and_schedules_are_off_and_say_what_they_do() -> None:
    repository = defs.get_repository_def()
    assert {sensor.name for sensor in repository.sensor_defs} >= {
        "changed_databases",
        "failure_notice",
        "train_after_corpus",
    }
    for sensor in repository.sensor_defs:
        assert sensor.default_status == dg.DefaultSensorStatus.STOPPED, sensor.name
        assert sensor.description, sensor.name
    for schedule in repository.schedule_defs:
        assert schedule.default_status == dg.DefaultScheduleStatus.STOPPED, schedule.name
        assert schedule.description, schedule.name
