"""Settings: wrong ones are refused in words, and what cannot matter does not change a fingerprint."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agro_data.config import STRUCTURAL, BuildConfig, ConfigError, RunConfig, cache_folder
from agro_data.databases.types import Catalog, Database
from agro_data.defs.place import Place
from agro_data.fingerprint import fingerprint
from agro_data.hashing import seed_of, stable_hash
from agro_data.profiling.cache import LIBRARIES as PROFILING
from agro_data.profiling.cache import LISTING, ROOMS, profile_key
from agro_data.software import LIBRARIES, code_version, installed


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 0}, "at least 1"),
        ({"oversample": 0.5}, "between 1 and 20"),
        ({"values": "none"}, "source"),
        ({"split_by": "rows"}, "skeleton"),
        ({"name": "a/b"}, "letters"),
        ({"name": "données"}, "letters from a to z"),
        ({"name": "_shop"}, "a letter or digit first"),
        ({"name": "x" * 81}, "80 at most"),
        ({"styles_per_sql": 9}, "6 styles"),
        ({"generator": "me"}, "grammar.*log.*llm.*both"),
        ({"generator": "log"}, "query_log"),
        ({"log_dialect": "postgres"}, "query_log"),
        ({"generator": "both"}, "writer"),
    ],
)
def test_a_wrong_setting_says_what_to_do(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        BuildConfig.from_dict({"databases": "x"} | settings)


def test_all_that_is_wrong_is_said_with_what_was_given() -> None:
    with pytest.raises(ConfigError, match=r"^size: .*'many'; values: .*'synthetic'.*'syn'$"):
        BuildConfig.from_dict({"databases": "x", "size": "many", "values": "syn"})


def test_an_unknown_setting_names_the_known() -> None:
    with pytest.raises(ConfigError, match=r"sizes.*known are.*size"):
        BuildConfig.from_dict({"databases": "x", "sizes": 3})


def test_a_manifest_is_a_configuration(tmp_path: Path) -> None:
    config = BuildConfig(databases="x", size=7, only=("a", "b"))
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps({"fingerprint": "f", "config": config.to_dict()}))
    assert BuildConfig.from_file(manifest) == config


def catalog(content: str = "c") -> Catalog:
    return Catalog(Path("x"), (Database("d", "sqlite", "sqlite", Path("x/d.sqlite"), content, "d.sqlite"),))


def test_fingerprint_sees_content_and_settings_and_no_paths() -> None:
    config = BuildConfig(databases="x", size=10)
    same = fingerprint(config, catalog())
    assert fingerprint(replace(config, databases="elsewhere"), catalog()) == same
    assert fingerprint(replace(config, size=11), catalog()) != same
    assert fingerprint(replace(config, seed=1), catalog()) != same
    assert fingerprint(config, catalog("other")) != same


def test_a_model_counts_by_what_it_is_and_not_by_where_it_is() -> None:
    config = BuildConfig(databases="x", generator="llm", writer="http://one/v1")
    moved = replace(config, writer="http://two/v1")
    assert fingerprint(config, catalog(), {"model": "m"}) == fingerprint(moved, catalog(), {"model": "m"})
    assert fingerprint(config, catalog(), {"model": "m"}) != fingerprint(config, catalog(), {"model": "n"})


def test_every_library_that_writes_bytes_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    config = BuildConfig(databases="x", embedding_model=STRUCTURAL)
    database = catalog().databases[0]
    name, key = fingerprint(config, catalog()), profile_key(database, {})
    for library in ("polars", "pyarrow", "jinja2", "pyyaml", "duckdb", "inflect", "lemminflect", "wordninja"):
        with monkeypatch.context() as upgrade:
            versions = {other: installed(other) for other in (*LIBRARIES, *PROFILING)}
            upgrade.setattr("agro_data.software.installed", (versions | {library: "999"}).get)
            assert fingerprint(config, catalog()) != name, library
            shapes_profiles = library not in ("polars", "pyarrow", "jinja2")
            assert (profile_key(database, {}) != key) == shapes_profiles, library


def test_code_that_decides_no_version_changes_no_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("software.py", "pipeline.py", "doctor.py", "verbs/doctor.py", "stages/doctor.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    monkeypatch.setattr("agro_data.software.__file__", str(tmp_path / "software.py"))
    before = code_version.__wrapped__()
    for name, decides in {"doctor.py": False, "verbs/doctor.py": False, "stages/doctor.py": True}.items():
        (tmp_path / name).write_text("# changed")
        assert (code_version.__wrapped__() != before) == decides, name


def test_a_profile_is_kept_by_all_the_code_that_reads_databases_for_it() -> None:
    program = "import sys, agro_data.profiling.profiler; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    rooms = [room.replace("/", ".") for room in ROOMS]
    silent = ("children", "scratch", "types")  # say nothing of what is read
    listed = [f"databases.{name}" for name in (*LISTING, *silent)]
    ours = {name.removeprefix("agro_data.") for name in loaded if name.startswith("agro_data.")}
    assert {*listed, "errors", "faults"} == {
        name for name in ours if name != "databases" and not any(f"{name}.".startswith(f"{room}.") for room in rooms)
    }


def test_excluded_files_count_by_content(tmp_path: Path) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    first.write_text("[]")
    second.write_text("[]")
    config = BuildConfig(databases="x", exclude=(str(first),))
    moved = replace(config, exclude=(str(second),))
    assert fingerprint(config, catalog()) == fingerprint(moved, catalog())
    second.write_text("[1]")
    assert fingerprint(config, catalog()) != fingerprint(moved, catalog())


def test_a_tilde_is_the_home_folder_in_every_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("dev.json", "log.sql", "focus.json"):
        (tmp_path / name).write_text("[]")
    said = {"exclude": ["~/dev.json"], "query_log": "~/log.sql", "focus": "~/focus.json"}
    whole = {"exclude": [f"{tmp_path}/dev.json"], "query_log": f"{tmp_path}/log.sql", "focus": f"{tmp_path}/focus.json"}
    short, full = (BuildConfig.from_dict({"databases": "x"} | given) for given in (said, whole))
    assert short == full
    assert fingerprint(short, catalog()) == fingerprint(full, catalog())


@pytest.mark.parametrize("out", [".", "../here", "{folder}/here", "~/here"])
def test_the_cache_lies_beside_the_output_however_that_is_said(
    out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("AGRO_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    out = out.format(folder=tmp_path)
    assert cache_folder(RunConfig(out=Path(out))) == tmp_path / ".agro-cache"
    assert Place(datasets=out).cache == tmp_path / ".agro-cache"


def test_hashes_are_stable() -> None:
    assert stable_hash({"b": 1, "a": [1, "é"]}) == stable_hash({"a": [1, "é"], "b": 1})
    assert seed_of("a", 1) == seed_of("a", 1) != seed_of("a", 2)
    assert 0 <= seed_of("a") < 2**63
    with pytest.raises(TypeError):
        stable_hash({"path": Path("x")})
