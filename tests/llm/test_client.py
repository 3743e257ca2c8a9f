"""The client: what was answered is not asked again, failures are rows, and what it took is known."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_model import Scripted

from agro_data.llm.accounting import Prices, Spending, spending_table, spent_on
from agro_data.llm.answers import Answers, key_of
from agro_data.llm.client import Client
from agro_data.llm.types import Completion, Failure, Message, Request, Sampling, Usage

IDENTITY = {"model": "scripted", "revision": ""}


def request(text: str, **settings: Any) -> Request:
    return Request((Message("user", text),), **settings)


def echo(one: Request) -> str:
    return f"{one.messages[-1].content} {one.sample}"


REQUESTS = [request(f"question {number}", sample=sample) for number in range(6) for sample in range(2)]


def test_answers_come_in_order_and_a_second_run_asks_nothing(tmp_path: Path) -> None:
    first, second = Client(Scripted(echo), tmp_path), Client(Scripted(echo), tmp_path)
    found, again = first.generate(REQUESTS), second.generate(REQUESTS)
    assert [one.text for one in found] == [echo(one) for one in REQUESTS]
    assert [one.text for one in again] == [one.text for one in found]
    assert (len(first.backend.asked), second.backend.asked) == (12, [])  # type: ignore[attr-defined]
    assert all(one.cached for one in again)
    assert not any(one.cached for one in found)


def test_whatever_decides_an_answer_is_in_its_key() -> None:
    base = request("a", sampling=Sampling(), schema=None)
    others = [
        request("b"),
        Request((Message("system", "a"),)),
        Request((Message("system", "be brief"), *base.messages)),
        replace(base, schema="{}"),
        replace(base, sample=1),
        *(
            replace(base, sampling=replace(base.sampling, **one))
            for one in (
                *({"temperature": 0.0}, {"top_p": 0.5}, {"max_tokens": 9}),
                *({"stop": ("x",)}, {"seed": 1}, {"logprobs": True}),
            )
        ),
    ]
    keys = [key_of(IDENTITY, one) for one in [base, *others]]
    keys += [key_of({**IDENTITY, "revision": "2"}, base), key_of({**IDENTITY, "model": "n"}, base)]
    assert len(set(keys)) == len(keys)
    assert key_of(IDENTITY, base) == key_of(dict(reversed(IDENTITY.items())), request("a"))


def test_a_failure_is_a_row_and_is_asked_again_by_the_next_run(tmp_path: Path) -> None:
    down = Failure("server_error", "HTTP 500")
    broken = Client(Scripted(lambda one: down if "3" in one.messages[0].content else echo(one)), tmp_path)
    found = broken.generate(REQUESTS)
    assert [one.failure for one in found if not one.ok] == [down, down]
    assert broken.spent["llm"].failures == {"server_error": 2}
    well = Client(Scripted(echo), tmp_path)
    assert [one.text for one in well.generate(REQUESTS)] == [echo(one) for one in REQUESTS]
    assert len(well.backend.asked) == 2  # type: ignore[attr-defined]


def test_equal_requests_are_sent_once() -> None:
    client = Client(Scripted(echo))
    found = client.generate([REQUESTS[0]] * 3)
    assert len(client.backend.asked) == 1  # type: ignore[attr-defined]
    assert {one.text for one in found} == {"question 0 0"}
    assert client.spent["llm"].paid == Usage(2, 3)
    assert client.spent["llm"].used == Usage(6, 9)
    lost = Client(Scripted(lambda _: Completion(failure=Failure("busy", ""), tries=4)))
    assert [one.ok for one in lost.generate([REQUESTS[0]] * 3)] == [False] * 3
    assert (lost.spent["llm"].failed, lost.spent["llm"].sent) == (3, 4)


def test_text_that_no_encoding_has_is_kept(tmp_path: Path) -> None:
    half = "caf\udce9 \x00 \u2028"
    client = Client(Scripted(lambda one: half), tmp_path)
    assert client.generate([request(half)])[0].text == half
    assert Client(Scripted(echo), tmp_path).generate([request(half)])[0].text == half


def test_what_it_took_is_counted_by_stage(tmp_path: Path) -> None:
    prices = Prices(read=2.0, written=10.0)
    for paid in (True, False):
        client = Client(Scripted(echo), tmp_path, prices)
        client.generate(REQUESTS[:4], stage="questions")
        client.generate(REQUESTS[4:], stage="solving")
        table = spending_table(client.spent, prices)
        assert table["requests"].to_list() == [4, 8]
        assert table["tokens_read"].to_list() == [8, 16]
        assert table["cost"].to_list() == pytest.approx([(8 * 2 + 12 * 10) / 1e6, (16 * 2 + 24 * 10) / 1e6])
        assert (table["cost_paid"].sum() > 0) is paid
    whole = spent_on([Completion(usage=Usage(1, 2)), Completion(failure=Failure("busy", ""), tries=3)])
    assert whole == Spending(2, 0, 4, Usage(1, 2), Usage(1, 2), {"busy": 1})
    assert (whole + whole).to_dict(prices)["failures"] == {"busy": 2}


# --- the file ----------------------------------------------------------------------------------------------------

TEXTS = st.lists(st.text(max_size=30), min_size=1, max_size=6)


@given(texts=TEXTS, cut=st.integers(0, 400), rubbish=st.binary(max_size=60))
def test_damage_costs_only_the_lines_it_hits(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], cut: int, rubbish: bytes
) -> None:
    folder = tmp_path_factory.mktemp("answers")
    keys = [f"{number:032x}" for number in range(len(texts))]
    with Answers(folder, IDENTITY) as answers:
        for key, text in zip(keys, texts, strict=True):
            answers.put(key, Completion(text))
        path = answers.path
    whole = path.read_bytes()
    kept = whole[: max(0, len(whole) - cut)]
    path.write_bytes(kept + rubbish)
    with Answers(folder, IDENTITY) as answers:
        for place, (key, text) in enumerate(zip(keys, texts, strict=True)):
            known = answers.get(key)
            assert known is None or known.text == text
            if kept.count(b"\n") > place:
                assert known is not None
        for key, text in zip(keys, texts, strict=True):
            answers.put(key, Completion(text))
    with Answers(folder, IDENTITY) as answers:
        assert [answers.get(key).text for key in keys] == texts  # type: ignore[union-attr]


def test_the_first_answer_of_several_writers_is_everybodys(tmp_path: Path) -> None:
    with Answers(tmp_path, IDENTITY) as mine, Answers(tmp_path, IDENTITY) as yours:
        assert mine.put("0" * 32, Completion("mine")).text == "mine"
        assert yours.put("0" * 32, Completion("yours")).text == "mine"
        assert yours.put("1" * 32, Completion("new")).text == "new"
        mine.refresh()
        assert mine.get("1" * 32) is not None
    assert len(mine.path.read_bytes().splitlines()) == 2


def _write(folder: Path, mark: str) -> None:
    with Answers(folder, IDENTITY) as answers:
        for number in range(200):
            answers.put(f"{number:032x}", Completion(f"{number} " * 300 + mark))


def test_processes_that_write_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write, args=(tmp_path, mark)) for mark in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    with Answers(tmp_path, IDENTITY) as answers:
        assert (len(answers), answers.damaged) == (200, 0)
        assert all(
            answers.get(f"{number:032x}").text.startswith(f"{number} ")  # type: ignore[union-attr]
            for number in range(200)
        )
    assert len(answers.path.read_bytes().splitlines()) == 200


RUN = """
import sys, time
from pathlib import Path
from agro_data.llm.client import Client
from scripted_model import Scripted
from agro_data.llm.types import Message, Request
folder, log = Path(sys.argv[1]), open(sys.argv[2], "ab", buffering=0)
def reply(one):
    time.sleep(0.002)
    log.write((one.messages[0].content + "\\n").encode())
    return one.messages[0].content.upper() * 50
print("ready", flush=True)
found = Client(Scripted(reply), folder).generate([Request((Message("user", f"q{n}"),)) for n in range(300)])
print(sum(one.text == f"Q{n}" * 50 for n, one in enumerate(found)), flush=True)
"""


@pytest.mark.slow
def test_a_run_that_is_killed_at_random_moments_repeats_no_finished_request(tmp_path: Path) -> None:
    """Twenty times kill -9, then a run to the end: at most the one request under way at each kill is asked twice."""
    chance, log = random.Random(5), tmp_path / "asked"
    command = [sys.executable, "-c", RUN, str(tmp_path / "cache"), str(log)]
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    kills = 0
    for _ in range(20):
        run = subprocess.Popen(command, stdout=subprocess.PIPE, env=places)
        assert run.stdout is not None
        run.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.1))
        os.kill(run.pid, signal.SIGKILL)
        kills += run.wait() == -signal.SIGKILL
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=places)
    assert done.stdout.split() == ["ready", "300"]
    asked = log.read_text().split()
    assert len(set(asked)) == 300
    assert len(asked) - 300 <= kills
    before = len(asked)
    subprocess.run(command, capture_output=True, check=True, env=places)
    assert len(log.read_text().split()) == before
