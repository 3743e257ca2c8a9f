"""The report page: what it carries, that it asks nothing of the network, and that a real browser can use it."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import publish_samples as samples
import pytest

from agro_data.publish.read import Version, open_version
from agro_data.publish.report import render_report
from agro_data.publish.version import MUTANTS, Beside, Instances, write_version

HOSTILE = "</script><img src=x onerror=alert(1)> & 'naïve' 名前"


@pytest.fixture(scope="module")
def version(tmp_path_factory: pytest.TempPathFactory) -> Version:
    frame = samples.examples(600).with_columns(
        question=pl.when(pl.col("seed") == 0).then(pl.lit(HOSTILE)).otherwise(pl.col("question"))
    )
    survivor = pl.col("seed") == 1
    frame = frame.with_columns(
        mutants_total=pl.when(survivor).then(2).otherwise(0),
        mutants_killed=pl.when(survivor).then(1).otherwise(0),
        mutants_undecided=pl.when(survivor).then(1).otherwise(0),
    )
    example_id = frame.filter(survivor)["example_id"][0]
    fates = [
        (example_id, "comparison", "age > 3 -> age >= 3", "killed", "db_1/00.sqlite", "SELECT 1", "row 1: got (3)"),
        (example_id, "column", HOSTILE, "undecided", None, None, None),
    ]
    path = write_version(
        tmp_path_factory.mktemp("out"),
        "shop",
        fingerprint="e" * 64,
        examples=frame,
        rejected=samples.rejected(12),
        manifest=samples.manifest(),
        beside=Beside(Instances(mutants=pl.DataFrame(fates, schema=MUTANTS, orient="row"))),
    )
    return open_version(path)


@pytest.fixture(scope="module")
def page(version: Version) -> str:
    return render_report(version)


def carried(page: str, name: str) -> Any:
    body = re.search(rf'id="data-{name}">([^<]*)<', page)
    assert body is not None
    return json.loads(gzip.decompress(base64.b64decode(body[1])))


def test_every_example_and_detail_is_carried(version: Version, page: str) -> None:
    rows = version.examples().sort("example_id").collect()
    index = carried(page, "index")
    assert index["example_id"] == rows["example_id"].to_list()
    assert index["question"] == rows["question"].to_list()
    names = index["labels"]["hardness"]
    assert [names[code] for code in index["codes"]["hardness"]] == rows["hardness"].to_list()
    used = [[index["labels"]["constructs"][c] for c in row] for row in index["constructs"]]
    assert used == rows["constructs"].to_list()
    details = [row for block in range(3) for row in carried(page, str(block))]
    assert [row["result_digest"] for row in details] == rows["result_digest"].to_list()
    assert [row["steps"] for row in details] == rows["steps"].to_list()
    assert 'id="data-3"' not in page


def test_the_page_asks_nothing_of_the_network(page: str) -> None:
    assert not re.search(r"(src|href)\s*=|https?://|@import|fetch\(|XMLHttpRequest|WebSocket", page)


def test_the_same_version_gives_the_same_page(version: Version, page: str) -> None:
    assert render_report(open_version(version.path)) == page


def test_given_points_are_drawn_and_checked(version: Version) -> None:
    points = np.linspace(-1, 1, 1200, dtype=np.float32).reshape(600, 2)
    shown = carried(render_report(version, points=points), "map")
    assert shown["by"] == "the embedding of question and SQL"
    assert shown["rows"] == list(range(600))
    assert shown["x"] == pytest.approx(points[:, 0].tolist(), abs=1e-3)
    with pytest.raises(ValueError, match="3 points for 600 examples"):
        render_report(version, points=points[:3])


def test_scales_keep_their_order(page: str) -> None:
    bars = re.findall(r'data-filter="hardness" data-value="(\w+)"', page)
    assert bars == ["easy", "medium", "hard", "extra"]


PROBE = """
<script>
setTimeout(async () => {
  const seen = {listed: document.querySelectorAll("#rows .row").length, found: $("found").textContent};
  $("search").value = "naïve onerror"; apply();
  seen.hostile = document.querySelector("#rows .q").textContent;
  seen.injected = document.querySelectorAll("#rows img").length;
  await document.querySelector("#rows button").onclick();
  seen.detail = document.querySelector(".detail").textContent;
  $("clear").onclick();
  $("f-hardness").value = index.labels.hardness.indexOf("hard"); apply();
  seen.hard = $("found").textContent;
  $("next").onclick();
  seen.page = $("page").textContent;
  seen.pins = pins.length;
  $("clear").onclick();
  $("f-certificate").value = index.labels.certificate.indexOf("a mutant survives"); apply();
  seen.survivors = $("found").textContent;
  await document.querySelector("#rows button").onclick();
  seen.mutants = [...document.querySelectorAll(".mutants tr")].map(line => line.textContent);
  $("clear").onclick();
  document.querySelector("[data-columns]").click();
  document.querySelector("tr.columns button").click();
  seen.column = [$("column").textContent, $("found").textContent];
  const map = $("map").getBoundingClientRect();
  $("map").onmousemove({clientX: map.left + pins[0].x, clientY: map.top + pins[0].y});
  seen.tip = $("tip").style.display + ": " + $("tip").textContent;
  if ($("comparison")) {
    seen.differ = $("kind-found").textContent;
    $("kind").value = [...$("kind").options].find(o => o.text.startsWith("removed")).value; $("kind").onchange();
    const rows = $("kind-rows");
    seen.removed = [$("kind-found").textContent, rows.querySelector(".minus").textContent];
    seen.injected += rows.querySelectorAll("img").length;
  }
  const box = document.createElement("pre"); box.id = "seen"; box.textContent = JSON.stringify(seen);
  document.body.append(box);
}, 1500);
</script>
"""


def looked_at(page: str, folder: Path) -> dict[str, Any]:
    """What `PROBE` saw when a browser had opened the page."""
    browser = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("no Chromium on this machine")
    file = folder / "report.html"
    file.write_text(page.replace("</body>", PROBE + "</body>"), encoding="utf-8")
    ended = subprocess.run(
        [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"),
            *("--virtual-time-budget=6000", "--dump-dom", file.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    body = re.search(r'<pre id="seen">(.*?)</pre>', ended.stdout, re.DOTALL)
    assert body is not None, ended.stderr[-2000:]
    seen: dict[str, Any] = json.loads(html.unescape(body[1]))
    return seen


def test_a_browser_can_list_search_filter_and_open(page: str, tmp_path: Path) -> None:
    seen = looked_at(page, tmp_path)
    assert (seen["listed"], seen["found"]) == (25, "600 examples of 600")
    assert (seen["hostile"], seen["injected"]) == (HOSTILE, 0)
    assert "Executed" in seen["detail"]
    assert "a claim, not a proof" in seen["detail"]
    assert seen["hard"] == "150 examples of 600"
    assert seen["page"] == "page 2 of 6"
    assert seen["pins"] == 600
    assert seen["survivors"] == "1 example of 600"
    assert [line.split(" (")[0] for line in seen["mutants"]] == [
        f"{HOSTILE}columnsurvives ",
        "age > 3 -> age >= 3its SQLSELECT 1comparisontold apart by db_1/00.sqliterow 1: got",
    ]
    assert seen["column"][0].startswith("uses db_0: ")
    assert re.fullmatch(r"[1-9]\d* examples of 600", seen["column"][1])
    assert seen["tip"].startswith("block: ")
    assert "differ" not in seen


def test_two_versions_are_compared_in_the_browser(version: Version, tmp_path: Path) -> None:
    older = samples.examples(580).with_columns(
        example_id=pl.when(pl.col("seed") == 3).then(pl.lit("f" * 16)).otherwise("example_id"),
        question=pl.when(pl.col("seed") == 3).then(pl.lit(HOSTILE + " before")).otherwise("question"),
        sql=pl.when(pl.col("seed") == 3).then(pl.lit(HOSTILE)).otherwise("sql"),
    )
    before = open_version(
        write_version(
            tmp_path / "old",
            "shop",
            fingerprint="d" * 64,
            examples=older,
            rejected=samples.rejected(12),
            manifest=samples.manifest(),
        )
    )
    compared = render_report(version, before=before)
    assert "Against shop v0001-dddddddd" in compared
    assert not re.search(r"(src|href)\s*=|https?://", compared)
    seen = looked_at(compared, tmp_path)
    assert seen["found"] == "600 examples of 600"
    assert seen["removed"][0].startswith("1 row of ")
    assert seen["removed"][1] == f"− {HOSTILE} before{HOSTILE}"
    assert seen["injected"] == 0
