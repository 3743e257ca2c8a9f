"""vLLM's engine: started on a model's folder, and turns sampled from it.

In TRL's trainer the engine is TRL's own and lives in the process, so that weights can be put into it. Elsewhere it is
started here, in a child process that ends when the sampler is closed or this process ends. Imports vllm when called.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agro_data.config import ConfigError
from agro_data.protocol import STOPS
from agro_train.language_model.loading import LanguageModel, find_folder, load_tokenizer, read_config
from agro_train.language_model.reach import reads
from agro_train.sampling.repetition import LONGEST, SHORTEST, TIMES
from agro_train.sampling.types import Sampled, rooms, too_long

if TYPE_CHECKING:
    from torch import Tensor

CONTEXT = 8_192  # tokens of prompt and rollout that memory is kept for; a model's own limit may be less
MEMORY = 0.9  # share of the GPU's
CPU_CACHE = 2 << 30  # bytes of keys and values without a GPU, where vLLM would take most of the memory
CUT = ("length", "repetition")  # why a turn ends that is not over, as vLLM says it


@dataclass
class EngineSampler:
    """Samples from a vLLM engine (`vllm.LLM`), which batches and shares prefixes itself.

    The engine must give log-probabilities of the distribution that is drawn from (`processed_logprobs`), as TRL's and
    `load_engine`'s do; a turn without a seed has log-probabilities at temperature 1. `read` counts tokens that were
    computed, without the tokens of a prefix that the engine still had.
    """

    engine: Any
    tokenizer: Any
    read: int = field(default=0, init=False)
    written: int = field(default=0, init=False)

    def __call__(
        self, prefixes: Sequence[Sequence[int]], *, temperature: float, max_tokens: int, seeds: Sequence[int | None]
    ) -> list[Sampled]:
        from vllm import SamplingParams  # noqa: PLC0415
        from vllm.sampling_params import RepetitionDetectionParams  # noqa: PLC0415

        context = self.engine.model_config.max_model_len
        room = rooms(prefixes, max_tokens, context)
        repetition = RepetitionDetectionParams(max_pattern_size=LONGEST, min_pattern_size=SHORTEST, min_count=TIMES)
        asked = [
            SamplingParams(
                temperature=0.0 if seeds[place] is None else temperature,
                max_tokens=most,
                seed=(seeds[place] or 0) % 2**31,
                stop=list(STOPS),
                include_stop_str_in_output=True,
                # Turns end where `ModuleSampler` ends them, not also at what generation_config.json names.
                ignore_eos=True,
                stop_token_ids=[self.tokenizer.eos_token_id],
                repetition_detection=repetition,
                logprobs=0,
            )
            for place, most in room.items()
        ]
        prompts = [{"prompt_token_ids": list(prefixes[place])} for place in room]
        answers = self.engine.generate(prompts, asked, use_tqdm=False) if prompts else []
        wrote = {place: _turn(answer.outputs[0]) for place, answer in zip(room, answers, strict=True)}
        turns = [wrote.get(place) or too_long(len(prefix), context) for place, prefix in enumerate(prefixes)]
        self.read += sum(len(answer.prompt_token_ids) - (answer.num_cached_tokens or 0) for answer in answers)
        self.written += sum(len(turn.ids) for turn in turns)
        return turns

    def take(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        """Write from now on with these weights, by their names in a checkpoint. The engine must run in this process.

        vLLM reloads them layer by layer and repacks what its kernels want repacked (always so on a CPU), which writing
        into its parameters one by one, as TRL does, cannot.
        """
        runner = self.engine.llm_engine.model_executor.driver_worker.model_runner
        runner.reload_weights(weights_iterator=weights)
        network = runner.get_model()
        if getattr(network.config, "tie_word_embeddings", False):  # no weights of its own came, so it was not repacked
            network.lm_head.quant_method.process_weights_after_loading(network.lm_head)
        self.engine.reset_prefix_cache()

    def close(self) -> None:
        """End the engine and give its memory back: another one may then be started."""
        self.engine.llm_engine.engine_core.shutdown()


def _turn(output: Any) -> Sampled:
    ids = list(output.token_ids)
    logprobs = [at[token].logprob for token, at in zip(ids, output.logprobs, strict=True)]
    return Sampled(ids, logprobs, output.finish_reason in CUT)


def refuse_without_vllm(instead: str) -> None:
    """Raise `ConfigError` where vLLM is not installed, which says what to do `instead` of installing it."""
    if find_spec("vllm") is None:
        raise ConfigError(f"vLLM is not installed here: docs/reference.md says how, or {instead}")


def load_engine(name: str, cache: Path, *, dtype: str = "float32") -> LanguageModel:
    """The model `name` (see `loading.find_folder`) in an engine of its own, as a `LanguageModel` whose network that is.

    Raises `ConfigError` where vLLM is not installed, and `ModelMissing`.
    """
    refuse_without_vllm("use --engine transformers")
    import torch  # noqa: PLC0415
    from vllm import LLM  # noqa: PLC0415

    path = find_folder(name, cache)
    cuda = torch.cuda.is_available()
    engine = LLM(
        model=str(path),
        dtype=dtype,
        max_model_len=int(min(reads(read_config(path)), CONTEXT)),
        gpu_memory_utilization=MEMORY,
        kv_cache_memory_bytes=None if cuda else CPU_CACHE,
        enforce_eager=not cuda,  # compiling takes longer than it saves where there is no GPU
        logprobs_mode="processed_logprobs",
        disable_log_stats=True,
    )
    return LanguageModel(name, path, engine, load_tokenizer(path))
