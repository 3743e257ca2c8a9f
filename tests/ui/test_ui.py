"""A new user's first hour in the UI: everything is materialised from its pages, then every asset is looked at."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from publish.hub_server import TOKEN, Hub, running
from train.small import make_writer
from ui.browser import Browser, browsing
from ui.server import Ui, running_ui

from agro_data.populate.samples import build_sample
from agro_data.publish.read import latest
from agro_train.definitions import defs
from agro_train.questions import questions_of_version
from agro_train.runs.corpora import find_corpus
from agro_train.tasks import PromptFormat

pytestmark = pytest.mark.slow

SAMPLES = ("clinic", "library", "payroll", "university")
REPOSITORY = "me/first-corpus"
LONGEST = 1_500.0  # seconds that a run may take on a busy machine
GRAPH = defs.resolve_asset_graph()
ASSETS = [key.to_user_string() for key in GRAPH.toposorted_asset_keys]
JOBS = ("build_corpus", "train_grpo", "publish_corpus")
MADE = {key.to_user_string() for job in JOBS for key in defs.resolve_job_def(job).asset_layer.executable_asset_keys}
CHECKED = sorted({key.asset_key.to_user_string() for key in GRAPH.asset_check_keys})
WITHOUT_NUMBERS = {"corpus_report", "promoted_model"}
STATUS = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    folder = tmp_path_factory.mktemp("ui")
    with running(Hub()) as hub:
        environment = {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN, "HF_HUB_DISABLE_XET": "1", "OMP_NUM_THREADS": "1"}
        with running_ui(folder, environment) as started:
            yield started


@pytest.fixture(scope="module")
def browser(ui: Ui) -> Iterator[Browser]:
    with browsing(ui.url, ui.folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def finished(ui: Ui, browser: Browser) -> Browser:
    """The browser, after every asset was materialised from the page of its job."""
    folder = ui.folder
    for name in SAMPLES:
        build_sample(name, folder / "databases")
    build = {"databases": str(folder / "databases"), "name": "first", "size": 80, "embedding_model": "structural"}
    materialise(ui, browser, "build_corpus", {"ops": {"databases": {"config": build}}}, says="verified:")
    writer = {"resources": {"training": {"config": {"model": str(taught(folder))}}}}
    materialise(ui, browser, "train_grpo", writer | {"ops": {op: {"config": value} for op, value in TRAINING.items()}})
    declared = {"repo_id": REPOSITORY, "license": "mit", "source_licenses": {"*": "mit"}, "personal_data": "drop"}
    materialise(ui, browser, "publish_corpus", {"ops": {"published_corpus": {"config": declared}}})
    return browser


TRAINING: dict[str, dict[str, Any]] = {
    "cold_start_trajectories": {"examples": 8, "budget": 400},
    # Hardly any: more would undo what `taught` taught, and a model that writes one thing only learns from no reward.
    "cold_start_model": {
        "epochs": 6,
        "learning_rate": 5e-5,
        "settings": {"max_length": 3_500, "check_questions": 2},
    },
    "grpo_model": {
        **{"steps": 2, "prompts": 4, "candidates": 8, "prompts_per_step": 2, "group": 8},
        **{"learning_rate": 1e-3, "reward": "reex"},
    },
    "model_evaluation": {"limit": 4},
}


def taught(folder: Path) -> Path:
    """A tiny model that writes turns, some of them well formed, so that its attempts differ in reward."""
    version = find_corpus(folder / "datasets", "first")
    questions = questions_of_version(version, folder / "databases", folder / "cache", "train")
    prompts = [task.prompt for task in questions.tasks(PromptFormat(turns=4, budget=400))][:24]
    turns = ["<think>so</think><solution>SELECT 1</solution>", "<think>so</think><sql>SELECT 1</sql>"]
    each = [prompt for prompt in prompts for _ in turns]  # both at each question, and so, in part, at others
    return make_writer(folder / "writer", each, turns * len(prompts), steps=60)


def materialise(ui: Ui, browser: Browser, job: str, config: dict[str, Any], says: str = "") -> None:
    """Open a job from the list, fill in its launchpad, launch it, and wait until the run's page says that it is done.

    `says` is a line of the log that has to be on the page before the run has ended.
    """
    page = browser.page
    browser.open("/jobs", shows=job)
    page.get_by_role("link", name=job).first.click()
    page.locator("button", has_text=re.compile("^Materialize")).first.click(modifiers=["Shift"])
    editor = page.locator(".CodeMirror").last
    editor.wait_for()
    page.wait_for_function("!document.querySelector('.CodeMirror').CodeMirror.getValue().trim().startsWith('{}')")
    page.wait_for_timeout(2_000)  # the defaults are filled in
    browser.shoot(f"{job}-launchpad")
    defaults = yaml.safe_load(editor.evaluate("editor => editor.CodeMirror.getValue()")) or {}
    assert set(config.get("ops", {})) <= set(defaults.get("ops", {})), "the launchpad shows every setting"
    editor.evaluate("(editor, text) => editor.CodeMirror.setValue(text)", yaml.safe_dump(config))
    browser.sees("No errors")
    page.locator("button", has_text=re.compile("^.*Materialize$")).last.click()
    page.wait_for_url("**/runs/*")
    run = page.url.rsplit("/", 1)[1].partition("?")[0]
    if says:
        page.get_by_placeholder("Filter…").fill(says)
        browser.sees(says)
        assert status(ui, run) == "STARTED", "progress is shown while the run goes on"
        browser.shoot(f"{job}-progress")
    deadline = time.monotonic() + LONGEST
    while (now := status(ui, run)) not in ("SUCCESS", "FAILURE", "CANCELED"):
        assert time.monotonic() < deadline, f"{job}: still {now} after {LONGEST:.0f} s"
        time.sleep(2)
    browser.shoot(f"{job}-{now.lower()}")
    assert now == "SUCCESS", browser.text()[-3_000:]
    browser.sees("Success")


def status(ui: Ui, run: str) -> str:
    return str(ui.ask(STATUS, id=run)["runOrError"]["status"])


def spelled(text: str) -> str:
    """A name as it may be written: `hugging face` is the kind `huggingface`."""
    return re.sub(r"[\s_]", "", text).lower()


@pytest.mark.parametrize("asset", ASSETS)
def test_the_page_of_an_asset(asset: str, finished: Browser) -> None:
    node = GRAPH.get(next(key for key in GRAPH.get_all_asset_keys() if key.to_user_string() == asset))
    finished.errors.clear()
    finished.open(f"/assets/{asset}", shows="Description")
    page = finished.page
    finished.sees(str(node.description).partition("\n")[0][:60])
    shown = spelled(finished.text())
    for told in (str(node.group_name), "agro", *node.kinds):
        assert spelled(told) in shown, told
    if asset not in MADE:  # made on a changed database only, by its own job
        finished.shoot(f"asset-{asset}")
        assert finished.errors == []
        return
    finished.sees("Latest materialization")
    assert "Failed" not in finished.text()
    tables = page.locator("table", has=page.get_by_role("cell"))
    assert tables.count(), "metadata stands in a table"
    finished.shoot(f"asset-{asset}", tall=True)
    for number in range(page.get_by_text("[Show Markdown]").count()):
        page.get_by_text("[Show Markdown]").nth(number).click()
        dialog = page.get_by_role("dialog").last
        dialog.wait_for()
        for image in dialog.locator("img").all():
            image.evaluate("image => image.decode()")  # fails where it is no picture
            assert image.evaluate("image => image.naturalWidth") > 100
        finished.shoot(f"asset-{asset}-plot-{number}")
        page.keyboard.press("Escape")
        dialog.wait_for(state="hidden")
    if asset not in WITHOUT_NUMBERS:
        page.get_by_role("button", name="Plots").first.click()
        page.locator("canvas").first.wait_for()
        finished.shoot(f"asset-{asset}-numbers")
    assert finished.errors == []


@pytest.mark.parametrize("asset", CHECKED)
def test_checks_say_what_they_found(asset: str, finished: Browser) -> None:
    finished.errors.clear()
    names = sorted(key.name for key in GRAPH.asset_check_keys if key.asset_key.to_user_string() == asset)
    for name in names:
        finished.open(f"/assets/{asset}?view=checks&checkDetail={name}", shows=name)
        description = GRAPH.get(next(key for key in GRAPH.asset_check_keys if key.name == name)).description
        finished.sees(str(description).partition("\n")[0][:40])
    finished.shoot(f"checks-{asset}")
    assert finished.errors == []


def test_the_columns_are_explained(finished: Browser) -> None:
    finished.open("/assets/corpus", shows="Columns")
    for told in ("example_id", "List(String)", "the gold SQL, as executed"):
        finished.sees(told)


def test_samples_are_rows_of_the_databases(finished: Browser) -> None:
    for asset in ("candidates", "verified", "questions", "distinct", "certified", "selection", "corpus"):
        finished.open(f"/assets/{asset}", shows="sample")
        assert any(finished.page.get_by_role("cell", name=name, exact=True).count() for name in SAMPLES), asset


def test_the_report_and_the_hub_are_one_click_away(finished: Browser, ui: Ui) -> None:
    finished.open("/assets/published_corpus", shows="Latest materialization")
    tag = latest(ui.folder / "datasets", "first").name
    link = finished.page.locator(f"a[href*='{REPOSITORY}/tree/{tag}']").first
    link.wait_for()
    finished.open("/assets/corpus_report", shows="report")
    (report,) = (ui.folder / "cache" / "reports").glob("*.html")
    finished.sees(report.name)


def test_the_graph_reads_left_to_right(finished: Browser) -> None:
    finished.errors.clear()
    finished.open("/asset-groups", shows="corpus")
    groups = {group: GRAPH.asset_keys_for_group(group) for group in ("corpus", "training", "publishing")}
    assert all(len(keys) <= 12 for keys in groups.values())
    finished.sees("training")
    finished.shoot("lineage")
    finished.open("/locations/agro_train.definitions/asset-groups/corpus", shows="databases")
    places = [left_of(finished, asset) for asset in ("databases", "profiles", "candidates", "verified", "questions")]
    assert places == sorted(set(places)), "each asset stands to the right of the one before it"
    finished.shoot("lineage-corpus")
    assert finished.errors == []


def left_of(browser: Browser, asset: str) -> float:
    node = browser.page.locator("foreignObject, [data-testid]", has_text=re.compile(f"^{asset}")).first
    node.wait_for(state="attached")
    return float(node.evaluate("node => node.getBoundingClientRect().left"))


def test_a_wrong_setting_is_one_line_on_the_page(finished: Browser, ui: Ui) -> None:
    config = {"ops": {"databases": {"config": {"databases": str(ui.folder / "nowhere")}}}}
    with pytest.raises(AssertionError, match="no such file or folder"):
        materialise(ui, finished, "build_corpus", config)
