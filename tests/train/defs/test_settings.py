"""Settings are read strictly: what is misspelt or of another type is told, by name."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from agro_data import software
from agro_train.aligning import AlignConfig
from agro_train.cold_start import ColdStartConfig
from agro_train.evaluate import EvaluationConfig
from agro_train.programs.settings import SettingsError, read_settings, settings_from, settings_to, training_code_version
from agro_train.reinforcement.config import GrpoConfig


@dataclass(frozen=True)
class Oven:
    degrees: float = 200.0
    minutes: int = 30
    fan: bool = False
    dish: str = "bread"
    racks: tuple[int, ...] = ()


def test_json_gives_the_settings_back(tmp_path: Path) -> None:
    oven = Oven(degrees=180, fan=True)
    path = tmp_path / "oven.json"
    path.write_text(json.dumps(settings_to(oven)), encoding="utf-8")
    assert settings_to(read_settings(Oven, path)) == settings_to(oven)


def test_a_whole_number_is_the_real_one_that_it_stands_for() -> None:
    """Fingerprints are of settings as JSON, which tells 1 from 1.0: a run would not be found again."""
    made = [settings_from(Oven, {"degrees": 180}), Oven(degrees=180), Oven(degrees=180.0)]  # of a program's, too
    assert len({json.dumps(settings_to(oven)) for oven in made}) == 1


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"degree": 180}, "did you mean 'degrees'"),
        ({"colour": "red"}, "known are degrees, dish, fan, minutes, racks"),
        ({"minutes": "30"}, "expected int"),
        ({"minutes": True}, "expected int"),
        ({"degrees": "2e2"}, r'expected float, as in 200\.0; found "2e2"; YAML takes that for text: write 2\.0e\+2$'),
        ({"degrees": "1e-5"}, r"write 1\.0e-5$"),
        ({"degrees": "1.5E2"}, r"write 1\.5e\+2$"),
        ({"degrees": "hot"}, 'found "hot"$'),
        ({"fan": 1}, "expected bool"),
        ({"minutes": 1.5}, "expected int"),
        ({"degrees": 10**400}, "too large"),
        ({"racks": "12"}, 'racks: expected a list of int; found "12"'),
        ({"racks": [1, "2"]}, r'racks: expected a list of int; found \[1, "2"\]'),
    ],
)
def test_what_cannot_be_used_is_told(given: dict[str, object], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        settings_from(Oven, given)


@pytest.mark.parametrize("text", ["{", "[1]", '{"fann": true}'])
def test_errors_name_the_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "oven.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=r"^\S*oven\.json[: ](?!.*Oven)"):
        read_settings(Oven, path)


def test_options_come_on_top_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "oven.json"
    path.write_text('{"minutes": 40, "fan": true}', encoding="utf-8")
    assert read_settings(Oven, path, {"minutes": 50}) == Oven(minutes=50, fan=True)
    with pytest.raises(SettingsError, match=r"oven\.json, with the options on top: minutes: expected int"):
        read_settings(Oven, path, {"minutes": "50"})


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_what_json_can_say_and_no_setting_can_be_is_told(tmp_path: Path, number: str) -> None:
    path = tmp_path / "settings.json"
    for kind, name, least in (
        (EvaluationConfig, "temperature", '"models": ["m"], "corpus": "c", "databases": "d", '),
        (ColdStartConfig, "epochs", ""),
        (GrpoConfig, "spa_alpha", ""),
        (AlignConfig, "temperature", '"corpus": "c", "solvers": ["m"], '),
    ):
        path.write_text(f'{{{least}"{name}": {number}}}')
        with pytest.raises(SettingsError, match=rf"{name} is -?(nan|inf): expected a finite number"):
            read_settings(kind, path)


def test_libraries_are_part_of_what_a_training_is(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = software.installed
    before = training_code_version.__wrapped__()
    assert training_code_version.__wrapped__() == before
    for library in ("torch", "transformers", "trl", "peft"):
        with monkeypatch.context() as other:
            other.setattr(software, "installed", lambda name, new=library: "0" if name == new else installed(name))
            assert training_code_version.__wrapped__() != before


def test_what_is_no_file_of_settings_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nosuch\.json: no such file$"):
        read_settings(Oven, tmp_path / "nosuch.json")
    with pytest.raises(SettingsError, match="a folder; expected a file of settings"):
        read_settings(Oven, tmp_path)
    (tmp_path / "run.yaml").write_text("ops: {}")
    with pytest.raises(SettingsError, match=r"run\.yaml: .*`dagster job execute -j train_grpo -c \S*run\.yaml`"):
        read_settings(Oven, tmp_path / "run.yaml")
