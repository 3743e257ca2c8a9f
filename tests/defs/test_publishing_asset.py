"""What a person declares in the launchpad is read as `agro publish` reads it; what is wrong is one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from agro_data.defs.assets import PublicationConfig, published_corpus
from agro_data.defs.failures import by_settings
from agro_train.definitions import defs


def test_licences_may_be_written_as_people_write_them() -> None:
    licenses = {"license": "CC-BY-4.0 ", "source_licenses": {"*": "MIT", "shop": "Other"}}
    declared = PublicationConfig(repo_id="org/name", **licenses).declared()
    assert declared.license == "cc-by-4.0"
    assert declared.licenses_of(["bank", "shop"]) == {"bank": "mit", "shop": "other"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "Dagster has not built a corpus yet: say which `version` to publish, or run build_corpus"),
        ({"version": "{folder}/gone"}, "gone: not a corpus version"),
    ],
)
def test_a_version_is_published_that_dagster_did_not_build(settings: dict[str, str], said: str, tmp_path: Path) -> None:
    given = {key: value.format(folder=tmp_path) for key, value in settings.items()}
    config = {"repo_id": "org/name", "license": "mit", "source_licenses": {"*": "mit"}, **given}
    with dg.instance_for_test() as instance:
        done = defs.resolve_job_def("publish_corpus").execute_in_process(
            instance=instance, run_config={"ops": {"published_corpus": {"config": config}}}, raise_on_error=False
        )
    (failure,) = done.get_step_failure_events()
    assert said in failure.event_specific_data.user_failure_data.description  # type: ignore[union-attr,operator]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"version": "{folder}/gone"}, "gone: not a corpus version"),
        ({"version": "~/no corpus"}, f"{Path.home() / 'no corpus'}: not a corpus version"),
        ({"version": "{folder}", "license": ""}, "are published, such as `license` cc-by-sa-4.0"),
        (
            {"version": "{folder}", "license": "", "source_licenses": {}},
            "`license` cc-by-sa-4.0; no licence is declared for 1 of 1 source databases, such as shop: "
            "`source_licenses: {'shop': LICENSE}`, or `source_licenses: {'*': LICENSE}` where all have the same",
        ),
        ({"version": "{folder}", "repo_id": "shop"}, "`repo_id` 'shop': expected ORG/NAME"),
    ],
)
def test_what_is_wrong_is_one_line(settings: dict[str, Any], said: str, tmp_path: Path) -> None:
    facts = dict.fromkeys(("corpus", "version", "fingerprint", "config"), "") | {"databases": [{"db_id": "shop"}]}
    (tmp_path / "manifest.json").write_text(json.dumps(facts))
    given = {key: value.format(folder=tmp_path) if key == "version" else value for key, value in settings.items()}
    declared: dict[str, Any] = {"repo_id": "org/name", "license": "mit", "source_licenses": {"*": "mit"}}
    config = PublicationConfig(**declared | given)
    with dg.build_asset_context() as context, pytest.raises(dg.Failure) as failure:
        published_corpus(context, config, "")
    assert said in str(failure.value.description)
    assert failure.value.__cause__ is None
    assert failure.value.__suppress_context__  # whose stack the UI would show, too


def test_settings_are_called_as_in_the_launchpad() -> None:
    said = "--source-license (or --databases), see `agro build --databases PATH` of /data/my--shop"
    named = "`source_licenses` (or `databases`), see `agro build --databases PATH` of /data/my--shop"
    assert by_settings(said) == named
