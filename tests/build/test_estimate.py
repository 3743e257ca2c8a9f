"""The time that a build would take does not swing with what else the machine does."""

from __future__ import annotations

from pathlib import Path

import pytest
from making import make_school

import agro_data
from agro_data import estimate
from agro_data.shown import show_estimate


@pytest.mark.parametrize(
    ("wall", "said"),
    [(1.0, "about 2 min 10 s"), (3.0, "about 2 min 10 s; 6 min 40 s if the machine stays as busy as it is now")],
)
def test_a_busy_machine_is_told_from_a_long_build(
    wall: float, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def probe(config: agro_data.BuildConfig, folder: Path, progress: object) -> estimate.Probe:
        """Half a second of a processor for each example, on a machine that gives it a share of one."""
        return estimate.Probe(wall * config.size / 2, config.size / 2, config.size, 0, 0.9, ())

    make_school(tmp_path / "school.sqlite")
    monkeypatch.setattr(estimate, "_probe", probe)
    asked = agro_data.BuildConfig(databases=str(tmp_path), size=150, oversample=1.7, embedding_model="structural")
    figures = estimate.estimate(asked, agro_data.RunConfig())
    show_estimate(figures, as_json=False)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.lstrip().startswith("time")]
    assert line.split(maxsplit=1)[1] == said
    assert figures["seconds"] == 132
