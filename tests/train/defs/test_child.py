"""Children of assets: live lines and plots, errors in their own words, and no process after a cancelled run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import dagster as dg
import psutil
import pytest
from train.defs.test_guarded import NASTY, ended, started
from train.scripted_job import scripted_model

from agro_data.defs.pools import GPU, NETWORK
from agro_train.defs.child import how_it_ended, module_of, program, run_child
from agro_train.defs.follow import Tail
from agro_train.programs.telling import figures, said, why_nothing_was_learned
from agro_train.runs.store import append_metrics, forget_metrics

ROOT = Path(__file__).resolve().parents[3]
TRAINER = """
import json, pathlib, sys, time
draft = pathlib.Path(sys.argv[1]) / ".draft-0123456789abcdef"
draft.mkdir(exist_ok=True)
print("the corpus is read", flush=True)
print(json.dumps({"phase": "trajectories", "made": 7}), flush=True)
for step in range(3):
    with (draft / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({"step": step, "phase": "grpo", "loss": 1.0 / (1 + step), "reward/correct": 0.5}) + "\\n")
    time.sleep(1.2)
draft.rename(draft.with_name("r0001-01234567"))
if "fail" in sys.argv[0]:
    sys.exit("no memory is left; take a smaller batch")
"""


def materialize(
    script: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> dg.ExecuteInProcessResult:
    monkeypatch.setenv("SCRIPT", str(script))
    pipes = dg.PipesSubprocessClient()
    return dg.materialize([scripted_model], resources={"pipes": pipes}, instance=instance, raise_on_error=False)


def test_lines_and_plots_come_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "train.py"
    script.write_text(TRAINER)
    with dg.DagsterInstance.ephemeral() as instance:
        result = materialize(script, instance, monkeypatch)
        entries = instance.all_logs(result.run_id)
        records = instance.fetch_observations(dg.AssetKey("scripted_model"), limit=100).records
    assert result.success
    assert {"the corpus is read", "trajectories: made 7"} <= {entry.user_message for entry in entries}
    seen = [record.asset_observation.metadata for record in records if record.asset_observation]
    assert 2 <= len(seen) <= 3  # the first at once, then one every few seconds
    assert seen[0]["step"].value == 2  # the newest stands first
    assert all(one["reward: correct"].value == 0.5 for one in seen)
    ended = next(entry.timestamp for entry in entries if entry.dagster_event and entry.dagster_event.is_step_success)
    assert min(record.timestamp for record in records) < ended - 2


ANSWERING = """
import sys
from agro_data.progress import Bars
with Bars() as progress:
    for done in (0, 96):
        progress("answers of a model whose name is long enough to break a line", done, 96, "questions")
print("a warning of some library", file=sys.stderr)
print("written")
"""


def test_progress_on_standard_error_comes_whole_and_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "answer.py"
    script.write_text(ANSWERING)
    with dg.DagsterInstance.ephemeral() as instance:
        result = materialize(script, instance, monkeypatch)
        said = [entry.user_message for entry in instance.all_logs(result.run_id)]
    assert [line.partition(": ")[2].partition(",")[0] for line in said if line.startswith("answers of")] == [
        "96 questions to do",
        "96 of 96 questions",
    ]
    assert not any("warning" in line for line in said)


def test_a_failing_child_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "fail.py"
    script.write_text(TRAINER)
    with dg.DagsterInstance.ephemeral() as instance:
        result = materialize(script, instance, monkeypatch)
    (failure,) = result.get_step_failure_events()
    assert "ended with status 1: no memory is left; take a smaller batch" in str(failure.step_failure_data)


def test_a_child_that_has_left_something_out_has_done_its_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "fail.py"
    script.write_text('import sys\nprint("written")\nsys.exit(1)\n')
    monkeypatch.setenv("ENDS_WITH", "1")
    with dg.DagsterInstance.ephemeral() as instance:
        assert materialize(script, instance, monkeypatch).success


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_cancelling_the_run_ends_every_child(number: signal.Signals, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    script = tmp_path / "nasty.py"
    script.write_text(NASTY.replace("sys.argv[1]", f"{str(tmp_path / 'pids')!r}").replace("sys.argv[2]", "'stay'"))
    environment = {name: value for name, value in os.environ.items() if name != "DAGSTER_MODULE_NAME"}
    run = subprocess.Popen(
        [sys.executable, "-m", "dagster", "job", "execute", "-f", "tests/train/scripted_job.py", "-j", "scripted"],
        cwd=ROOT,
        env=environment | {"DAGSTER_HOME": str(home), "SCRIPT": str(script)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    stubborn = started(tmp_path)
    family = psutil.Process(run.pid).children(recursive=True)
    assert {process.pid for process in stubborn} <= {process.pid for process in family}
    run.send_signal(number)
    assert run.wait(timeout=60) != 0
    assert ended([*stubborn, *family])


def test_a_program_that_is_killed_is_told_from_one_that_fails() -> None:
    assert module_of(["python", "-m", "agro_train.grpo", "--config", "c.json"]) == "agro_train.grpo"
    assert "memory ran out" in how_it_ended(-signal.SIGKILL, ["a warning"])
    assert how_it_ended(-signal.SIGSEGV, ["a warning"]) == "was ended by signal 11"
    assert how_it_ended(2, ["first", "last"]) == "ended with status 2: last"


def test_an_error_of_several_lines_is_told_from_its_beginning() -> None:
    raised = ["agro_train.reinforcement.prompts.BadGolds: 20 examples earn too little; set bad_golds"]
    said = how_it_ended(1, ["Traceback (most recent call last):", "  File x", *raised, *["  db id: why"] * 20])
    assert said.startswith(f"ended with status 1: {raised[0]}\n  db id: why")
    assert said.endswith("...")


def test_a_child_names_the_settings_of_its_asset_and_no_options() -> None:
    """What it says is for whoever called it by options, too; commands stay what they are."""
    said = (
        "agro_data.config.ConfigError: shop was made with --values synthetic: use --any-names, allow it with "
        "--allow-seen, say which with --model, or where with --databases PATH (in Dagster `databases` of the resource "
        "training), or run `agro build --databases PATH`"
    )
    assert how_it_ended(2, [said]) == (
        "ended with status 2: agro_data.config.ConfigError: shop was made with `values` synthetic: use `names: false`, "
        "allow it with `settings: {allow_seen: true}`, say which with `models`, or where with `databases` of the "
        "resource training, or run `agro build --databases PATH`"
    )


SAID = "agro_data.models.ModelMissing: model org/none is not on this machine"
LAUNCHED = """Traceback (most recent call last):
  File "launch.py", line 999, in simple_launcher
    raise subprocess.CalledProcessError(returncode=process.returncode, cmd=cmd)
subprocess.CalledProcessError: Command '['python', '-m', 'agro_train.grpo']' returned non-zero exit status 1."""
ELASTIC = """E1130 10:03:21.770000 28424 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1)
Traceback (most recent call last):
    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\x20
============================================================
  exitcode  : 1 (pid: 28603)
============================================================"""


@pytest.mark.parametrize(
    "lines", [f"{SAID}\n{LAUNCHED}", f"{SAID}\n{ELASTIC}", f"[rank1]: {SAID}\n[rank0]: {SAID}\n{ELASTIC}"]
)
def test_a_launcher_that_ended_hides_no_error_of_what_it_launched(lines: str) -> None:
    assert how_it_ended(1, lines.splitlines()) == f"ended with status 1: {SAID}"


def test_a_draft_that_goes_on_is_followed_from_where_it_was(tmp_path: Path) -> None:
    draft = tmp_path / ".draft-a"
    draft.mkdir()
    append_metrics(draft / "metrics.jsonl", {"step": 1})
    tail = Tail(tmp_path)
    assert tail.read() == []
    append_metrics(draft / "metrics.jsonl", {"step": 2})
    with (draft / "metrics.jsonl").open("a") as file:
        file.write('{"step": ')
    assert tail.read() == [{"step": 2}]
    draft.rename(tmp_path / "r0001-01234567")
    with (tmp_path / "r0001-01234567" / "metrics.jsonl").open("a") as file:
        file.write("3}\n")
    assert tail.read() == [{"step": 3}]
    tail.close()


def test_lines_that_a_draft_drops_before_it_goes_on_hide_none_that_come(tmp_path: Path) -> None:
    draft = tmp_path / ".draft-a"
    draft.mkdir()
    for step in range(4):
        append_metrics(draft / "metrics.jsonl", {"step": step, "loss": 0.25})
    tail = Tail(tmp_path)
    forget_metrics(draft / "metrics.jsonl", after=1)
    assert tail.read() == []
    append_metrics(draft / "metrics.jsonl", {"step": 2})
    assert tail.read() == [{"step": 2}]
    tail.close()


def test_what_is_drawn() -> None:
    line = {"step": 4, "phase": "grpo", "loss": 0.25, "kl": float("nan"), "reward/correct": 1, "note": "x"}
    assert figures(line) == {"loss": 0.25, "reward: correct": 1.0}
    assert said(line) == "grpo step 4: loss 0.25, reward: correct 1"
    standing = {"steps": 1_200, "seconds_left": 3_725.0}
    assert said(line | standing) == "grpo step 4 of 1,200: loss 0.25, reward: correct 1, 1 h 2 min left"
    assert said(line | standing | {"seconds_left": 0.0}) == "grpo step 4 of 1,200: loss 0.25, reward: correct 1"
    assert said({"phase": "trajectories", "dropped": 3}) == "trajectories: dropped 3"


def test_several_gpus_are_accelerates_business() -> None:
    assert program("agro_train.grpo", "--config", "c.json")[1:] == ["-m", "agro_train.grpo", "--config", "c.json"]
    several = program("agro_train.grpo", "--config", "c.json", processes=8)
    assert several[1:5] == ["-m", "accelerate.commands.launch", "--num_processes", "8"]
    assert several[-4:] == ["--module", "agro_train.grpo", "--config", "c.json"]


def test_an_interpreter_that_is_not_there_is_told_by_the_variable_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGRO_TRAIN_PYTHON", sys.executable)
    assert program("agro_train.grpo")[0] == sys.executable
    monkeypatch.setenv("AGRO_TRAIN_PYTHON", str(tmp_path / "python"))
    with pytest.raises(dg.Failure, match=r"AGRO_TRAIN_PYTHON is .*python: there is no such interpreter"):
        program("agro_train.grpo")


ACCELERATES = """
compute_environment: LOCAL_MACHINE
distributed_type: 'NO'
mixed_precision: fp16
num_machines: 1
num_processes: 1
"""
RANK = """
import os, pathlib, sys
keys = ("WORLD_SIZE", "LOCAL_WORLD_SIZE", "ACCELERATE_MIXED_PRECISION")
told = " ".join(os.environ.get(key, "none") for key in keys)
pathlib.Path(sys.argv[1], os.environ.get("RANK", "alone")).write_text(told)
"""


@pytest.mark.ci
def test_as_many_processes_train_as_are_asked_for_whatever_accelerate_finds(tmp_path: Path) -> None:
    """This machine has no GPU that tests see, and a person has said once how accelerate is to run another program."""
    (tmp_path / "accelerate").mkdir()
    (tmp_path / "accelerate" / "default_config.yaml").write_text(ACCELERATES)
    (tmp_path / "rank.py").write_text(RANK)
    (tmp_path / "ranks").mkdir()
    environment = {"HF_HOME": str(tmp_path), "PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1"}
    command = program("rank", str(tmp_path / "ranks"), processes=2)
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {path.name: path.read_text() for path in (tmp_path / "ranks").iterdir()} == {"0": "2 2 no", "1": "2 2 no"}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ({"informative_groups": 0.0}, "in no group rewards differed"),
        ({"informative_groups": 0.0, "proved_groups": 1.0}, "a higher learning rate"),
        ({"informative_groups": 0.5}, "a higher learning rate"),
        ({"loss": 1.0}, "a higher learning rate"),
    ],
)
def test_what_learnt_nothing_says_whether_there_was_anything(line: dict[str, float], why: str) -> None:
    assert why in why_nothing_was_learned([line, line])


@pytest.mark.parametrize(("model", "pool"), [("org/model", GPU), ("http://host/v1", NETWORK)])
def test_a_program_runs_while_the_pool_of_its_model_is_held(model: str, pool: str) -> None:
    held: list[str] = []

    class Looking(dg.PipesSubprocessClient):
        def run(self, *, context: dg.AssetExecutionContext, **given: Any) -> NoReturn:  # type: ignore[override]
            storage = context.instance.event_log_storage
            held.extend(name for name in (GPU, NETWORK) if storage.get_concurrency_info(name).claimed_slots)
            raise dg.Failure("looked")

    @dg.asset
    def trained(context) -> None:  # type: ignore[no-untyped-def]
        run_child(context, Looking(), ["true"], models=[model])

    limits = {"concurrency": {"pools": {"granularity": "op", "default_limit": 1}}, "telemetry": {"enabled": False}}
    with dg.instance_for_test(overrides=limits) as instance:
        dg.materialize([trained], instance=instance, raise_on_error=False)
    assert held == [pool]
