"""From corpus to promotion by conditions: what is asked for when a parent is new, and what a failed check stops."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import pytest

from agro_train.definitions import defs
from agro_train.defs.assets import ASSETS

CHAIN = {"cold_start_trajectories", "cold_start_model", "grpo_model", "model_evaluation", "promoted_model"}
CORPUS = ("corpus_is_whole", "stored_digests_replay", "certificates_hold")


class Evaluations:
    """The automation sensor, tick after tick, over what is reported to an instance."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self.instance = instance
        self.cursor = None

    def tick(self) -> set[str]:
        """What is asked for now."""
        done = dg.evaluate_automation_conditions(
            defs, instance=self.instance, asset_selection=dg.AssetSelection.assets(*ASSETS), cursor=self.cursor
        )
        self.cursor = done.cursor
        return {key.to_user_string() for key in CHAIN_KEYS if done.get_num_requested(key)}

    def made(self, asset: str, *checks: str, failing: str = "") -> None:
        """An asset was made, and these checks of it ran."""
        self.instance.report_runless_asset_event(dg.AssetMaterialization(asset))
        for check in checks:
            self.instance.report_runless_asset_event(
                dg.AssetCheckEvaluation(
                    asset_key=dg.AssetKey(asset), check_name=check, passed=check != failing, blocking=True
                )
            )


CHAIN_KEYS = [dg.AssetKey(name) for name in sorted(CHAIN)]


@pytest.fixture
def evaluations() -> Iterator[Evaluations]:
    with dg.instance_for_test() as instance:
        found = Evaluations(instance)
        assert not found.tick()  # nothing is there, and nothing is begun by looking at it first
        yield found


def test_a_new_corpus_whose_checks_passed_is_followed_up_to_promotion(evaluations: Evaluations) -> None:
    evaluations.made("corpus", *CORPUS)
    assert evaluations.tick() == CHAIN
    assert not evaluations.tick()  # asked for once


def test_a_corpus_that_fails_a_check_is_not_learnt_from(evaluations: Evaluations) -> None:
    evaluations.made("corpus", *CORPUS, failing="certificates_hold")
    assert not evaluations.tick()
    evaluations.made("corpus", *CORPUS)  # mended
    assert evaluations.tick() == CHAIN


def test_a_corpus_whose_checks_have_not_run_waits_for_them(evaluations: Evaluations) -> None:
    evaluations.made("corpus")
    assert not evaluations.tick()


def test_a_model_that_learnt_nothing_is_neither_trained_further_nor_evaluated(evaluations: Evaluations) -> None:
    evaluations.made("corpus", *CORPUS)
    evaluations.tick()
    evaluations.made("cold_start_trajectories", "golds_earn_the_reward")
    checks = ("cold_start_parameters_moved", "loss_went_down")
    evaluations.made("cold_start_model", *checks, failing="loss_went_down")
    evaluations.made("grpo_model", "grpo_parameters_moved")
    assert not evaluations.tick() & {"model_evaluation", "promoted_model", "grpo_model"}


def test_a_model_trained_by_hand_is_evaluated_and_perhaps_promoted(evaluations: Evaluations) -> None:
    evaluations.made("corpus", *CORPUS)
    evaluations.tick()
    evaluations.made("cold_start_trajectories", "golds_earn_the_reward")
    evaluations.made("cold_start_model", "cold_start_parameters_moved", "loss_went_down")
    evaluations.made("grpo_model", "grpo_parameters_moved")
    evaluations.made("model_evaluation", "evaluation_is_on_unseen_databases")
    evaluations.made("promoted_model")
    evaluations.tick()
    evaluations.made("grpo_model", "grpo_parameters_moved")
    assert evaluations.tick() == {"model_evaluation", "promoted_model"}


def test_nothing_is_published_by_itself() -> None:
    graph = defs.resolve_asset_graph()
    assert graph.get(dg.AssetKey("published_corpus")).automation_condition is None
