"""Runs on disk: what an interrupted one goes on from."""

from __future__ import annotations

from pathlib import Path

from agro_train.runs import Draft, begin


def test_a_checkpoint_that_is_cut_short_is_not_gone_on_from(tmp_path: Path) -> None:
    draft = begin(tmp_path, "small", "ab" * 32)
    assert isinstance(draft, Draft)
    assert draft.last_checkpoint() is None
    for step, state in ((2, '{"global_step": 2}'), (10, '{"global_step": 10'), (12, "")):
        (draft.checkpoints / f"checkpoint-{step}").mkdir(parents=True)
        (draft.checkpoints / f"checkpoint-{step}" / "trainer_state.json").write_text(state)
    assert draft.last_checkpoint() == draft.checkpoints / "checkpoint-2"
