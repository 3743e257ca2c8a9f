"""TRL's GRPO trainer with our rollouts and our credit. Importing this module imports torch and trl.

A row of TRL's data set is a number: which place of the schedule it is. `schedule` says which task stands there, so that
it can be made after the trainer, which owns the sampler that chooses prompts. TRL repeats each row for the rollouts of
its group; every process plays whole groups.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from accelerate.utils import gather_object
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer
from trl.trainer.utils import add_fused_lm_head, split_tensor_dict

from agro_data.hashing import seed_of
from agro_train.advantages import informative
from agro_train.agents.engine import EngineSampler
from agro_train.language_model.attention import FOLDED, fold_heads
from agro_train.language_model.freezing import freeze
from agro_train.language_model.fused_head import score_only_what_is_learnt
from agro_train.language_model.hooks import check_hooks
from agro_train.language_model.loading import LanguageModel, adapters, reads_spans
from agro_train.language_model.memory import give_back
from agro_train.reinforcement.attempts import log_probs, useful, without_idle
from agro_train.reinforcement.config import GrpoConfig
from agro_train.reinforcement.credit import (
    Credit,
    group_facts,
    of_progress,
    of_rollouts,
    of_states,
    token_advantages,
)
from agro_train.reinforcement.episodes import Episode, Player, measures
from agro_train.reinforcement.progress import ProgressHead, last_states
from agro_train.reinforcement.provers import Provers, of_provers
from agro_train.sampling.module import ModuleSampler
from agro_train.sampling.types import Sampler
from agro_train.tasks import Task
from datasets import Dataset

HOOKS = (  # of TRL and transformers, which call them; `AgenticTrainer` has its own
    *("_prepare_inputs", "_generate_and_score_completions", "_compute_loss", "_get_per_token_logps_and_entropies"),
    *("_save_optimizer_and_scheduler", "_load_optimizer_and_scheduler"),
)


class AgenticTrainer(GRPOTrainer):  # type: ignore[misc]
    """`player` plays the tasks of `schedule`; each token gets the advantage that `config.advantage` gives its turn.

    `reference` is the model before training, for the distance from it that is logged. A group that taught nothing is
    replaced by another task of `spares`, `config.resample` times at most (DAPO's dynamic sampling, 2503.14476).
    """

    def __init__(
        self,
        config: GrpoConfig,
        model: LanguageModel,
        player: Player,
        args: GRPOConfig,
        callbacks: Sequence[TrainerCallback],
    ) -> None:
        check_hooks(GRPOTrainer, *HOOKS)
        score_only_what_is_learnt()
        _drop_nothing(model.network)
        watched = config.kl_every and not config.beta
        self.reference = _frozen(model.network, config.temperature) if watched and not config.lora else None
        slots = config.steps // config.iterations * config.prompts_per_step * args.world_size
        super().__init__(
            model=model.network,
            reward_funcs=[_logged(term.name) for term in player.preset.terms],
            args=args,
            train_dataset=Dataset.from_dict({"prompt": [str(slot) for slot in range(slots)]}),
            processing_class=model.tokenizer,
            peft_config=adapters(config.lora),
            callbacks=list(callbacks),
            rollout_func=lambda slots, _: self._play(slots),
        )
        if self.ref_model is not None:  # which TRL has loaded itself
            fold_heads(self.accelerator.unwrap_model(self.ref_model))
        freeze(self.model, config.freeze)
        self.config = config
        self.player = player
        self.schedule: Sequence[Task] = ()
        self.spares: Sequence[Task] = ()
        self.episodes: list[Episode] = []  # that are learnt from
        self.played: list[Episode] = []  # before groups that taught nothing were replaced: what the log tells of
        self.groups: list[str] = []
        self.micro_batches: list[dict[str, Any]] = []
        self.resampled = 0
        player.sampler = self._sampler(model.tokenizer)
        self.head = self._progress_head() if config.advantage == "spa" else None

    def _sampler(self, tokenizer: Any) -> Sampler:
        if self.use_vllm:
            own = self.vllm_generation
            engine = EngineSampler(own.llm, tokenizer)
            if not torch.cuda.is_available():  # where TRL's way fails: the parameters it writes into are repacked
                own.sync_weights = lambda: engine.take(own._iter_named_params())
            return engine
        module = self.accelerator.unwrap_model(self.model)
        return ModuleSampler(module, tokenizer, self.config.sample_batch, self.accelerator.autocast)

    # --- rollouts ------------------------------------------------------------------------------------------------

    def _play(self, slots: Sequence[str]) -> dict[str, Any]:
        """TRL's rollout function: `slots` (one for each rollout of this process) name places in the schedule."""
        tasks = [self.schedule[int(slot)] for slot in slots]
        self.groups = list(slots)
        self.played = self.player.play(tasks, [self._seed(row) for row in range(len(slots))])
        self.episodes = [*self.played]
        self.resampled = 0
        for attempt in range(1, 1 + self.config.resample):
            self._replace_idle(attempt)
        give_back(self.args.device)  # the sampler's caches
        tokens = [episode.rollout.tokens for episode in self.episodes]
        return {
            "prompt_ids": [one.prompt for one in tokens],
            "completion_ids": [one.ids for one in tokens],
            "logprobs": [one.logprobs for one in tokens],
            "env_mask": [one.mask for one in tokens],
            "terms": [dict(episode.reward.terms) for episode in self.episodes],
        }

    def _replace_idle(self, attempt: int) -> None:
        """Play another task in the place of each group whose rewards are all the same."""
        useful = informative([episode.reward.total for episode in self.episodes], self.groups)
        rows = [row for row, one in enumerate(useful) if not one]
        chosen = {
            group: self.spares[self._seed("spare", attempt, group) % len(self.spares)]
            for group in {self.groups[row] for row in rows}
        }
        tasks = [chosen[self.groups[row]] for row in rows]
        again = self.player.play(tasks, [self._seed("again", attempt, row) for row in rows])
        for row, episode in zip(rows, again, strict=True):
            self.episodes[row] = episode
        self.resampled += len(chosen)

    def _seed(self, *place: object) -> int:
        """The step's seed, so that a continued run draws the same as without a break."""
        return seed_of("grpo", self.config.seed, self.state.global_step, self.accelerator.process_index, *place)

    # --- learning ------------------------------------------------------------------------------------------------

    def _prepare_inputs(self, generation_batch: Any) -> dict[str, Any]:
        """TRL's for training, without its shuffle: attempts at one question go through the model together."""
        parts = self.args.steps_per_generation
        if self._step % (parts * self.num_iterations) == 0 or not self.micro_batches:
            self.micro_batches = split_tensor_dict(self._generate_and_score_completions(generation_batch), parts)
        inputs: dict[str, Any] = self.micro_batches[self._step % parts]
        return inputs

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Any:
        """TRL's, of attempts that teach something; its figures of entropy and clipping are of these."""
        if self.config.beta or self.aux_loss_enabled:  # a distance, or a balance of experts, is of every attempt
            return super()._compute_loss(model, inputs)
        # TRL gathers figures of each attempt, so every process has as many as the one that has the most
        counts = self.accelerator.gather(useful(inputs).sum().reshape(1))
        some = without_idle(inputs, max(1, int(counts.max())))
        share = len(some["advantages"]) / len(inputs["advantages"])
        loss = super()._compute_loss(model, some)
        return loss if self.config.loss_type == "dapo" else loss * share  # the others are means over attempts

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        **others: Any,
    ) -> Any:
        """TRL's, with each prompt read once where attention is PyTorch's own and sees the whole attempt."""
        module = self.accelerator.unwrap_model(model)
        folded = module.config._attn_implementation == FOLDED
        shares = self.config.share_prompts and folded and reads_spans(module, module.config, input_ids.size(1))
        if not shares or others.get("compute_aux_loss"):
            return super()._get_per_token_logps_and_entropies(
                model, input_ids, attention_mask, logits_to_keep, batch_size, compute_entropy, **others
            )
        size = batch_size or len(input_ids)
        found = []
        for ids, mask in zip(torch.split(input_ids, size), torch.split(attention_mask, size), strict=True):
            prompts = ids[:, :-logits_to_keep], mask[:, :-logits_to_keep]
            completions = ids[:, -logits_to_keep:], mask[:, -logits_to_keep:]
            with self.accelerator.autocast():
                found.append(log_probs(model, prompts, completions))
        entropies = [entropy for _, entropy in found if entropy is not None]  # a reference model gives none
        return torch.cat([logps for logps, _ in found]), torch.cat(entropies) if compute_entropy else None, None

    # --- credit --------------------------------------------------------------------------------------------------

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        credit = self._credit()
        found = torch.from_numpy(token_advantages(self.episodes, credit, output["completion_ids"].size(1)))
        output["advantages"] = found.to(output["advantages"])
        facts = {
            **credit.facts,
            **measures(self.played),
            **group_facts(self.played, self.groups),
            "resampled_groups": self.resampled,
            **self._distance(output),
        }
        every = gather_object([facts])  # TRL logs what the first process has: here it is the mean over all
        for name in facts:
            self._metrics["train"][f"agro/{name}"].append(fmean(one[name] for one in every))
        return output

    def _credit(self) -> Credit:
        config, episodes, groups = self.config, self.episodes, self.groups
        if config.advantage == "gigpo":
            return of_states(episodes, groups, config.scale, gamma=config.gamma, omega=config.omega)
        if config.advantage == "pav":
            provers = Provers(config.pav_rollouts, config.pav_groups, config.pav_best_of, config.pav_alpha)
            return of_provers(episodes, groups, config.scale, self.player, provers, self._seed("provers"))
        if self.head is not None:
            states = last_states(self.accelerator.unwrap_model(self.model), episodes, config.micro_batch)
            parts, loss = self.head.contributions(states, episodes, lambda grad: self.accelerator.reduce(grad, "mean"))
            credit = of_progress(
                episodes,
                groups,
                parts,
                scale=config.scale,
                gamma=config.gamma,
                alpha=config.spa_alpha,
                beta=config.spa_beta / config.turns,
            )
            return Credit(credit.turns, {**credit.facts, "progress_loss": loss})
        return of_rollouts(episodes, groups, config.scale)

    def _distance(self, output: Mapping[str, Any]) -> dict[str, float]:
        """KL of the policy from the model it was before, on the tokens that the agent drew (those that it was turned to
        are no sample of it), by the estimator k3; every so often, and in the last step that plays rollouts.

        Both read the tokens in one way: the sampler's own figures differ from it by rounding, which would count.
        """
        step, every = self.state.global_step, self.config.kl_every
        last = step + self.config.iterations >= self.state.max_steps
        if self.config.beta or not every or (step % every and not last):
            return {}
        if not step:  # it is that model
            return {"kl": 0.0}
        ids = torch.cat([output["prompt_ids"], output["completion_ids"]], dim=1)
        attention = torch.cat([output["prompt_mask"], output["completion_mask"]], dim=1)
        module = self.accelerator.unwrap_model(self.model)

        def logps(of: Any) -> torch.Tensor:
            places = output["completion_ids"].size(1)
            found: tuple[torch.Tensor, Any, Any] = self._get_per_token_logps_and_entropies(
                of, ids, attention, places, self.config.micro_batch
            )
            return found[0]

        with torch.no_grad():
            now = logps(module)
            with module.disable_adapter() if self.reference is None else nullcontext():
                ratio = logps(self.reference or module) - now
        mask = output["completion_mask"] * output["tool_mask"]
        for row, episode in zip(mask, self.episodes, strict=True):
            row[sorted(episode.rollout.tokens.turned)] = 0
        return {"kl": float(((ratio.exp() - ratio - 1) * mask).sum() / mask.sum().clamp(min=1))}

    def _progress_head(self) -> ProgressHead:
        config = self.config
        return ProgressHead(
            self.model.config.get_text_config().hidden_size,
            self.accelerator.device,
            learning_rate=config.spa_learning_rate,
            updates=config.spa_updates,
            seed=config.seed,
        )

    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        super()._save_optimizer_and_scheduler(output_dir)
        if self.head is not None and self.args.should_save:
            self.head.save(Path(output_dir))

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if self.head is not None and checkpoint is not None:
            self.head.load(Path(checkpoint))


def _drop_nothing(module: Any) -> None:
    """Attempts are drawn without dropout, and so they are read. TRL ends its modules; OPT and others hold rates."""
    for part in module.modules():
        for name, value in vars(part).items():
            if "drop" in name and isinstance(value, float):
                setattr(part, name, 0.0)


def _frozen(module: Any, temperature: float) -> Any:
    """A copy that is not trained and gives log-probabilities as TRL asks for them."""
    copied = copy.deepcopy(module).eval().requires_grad_(False)
    add_fused_lm_head(copied, temperature=temperature)
    return copied


def _logged(name: str) -> Callable[..., list[float]]:
    """A term of the reward as TRL's reward function: it reads what the rollout has earned."""

    def term(terms: Sequence[Mapping[str, float]], **_: Any) -> list[float]:
        return [one[name] for one in terms]

    term.__name__ = name
    return term
