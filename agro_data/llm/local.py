"""A model in this process, by transformers: for a few requests, and where there is neither server nor vLLM.

Each request draws its tokens by its own seed, so that what else is in its batch does not change what chance says
(rounding may, as on any engine). Nothing is held to a schema here: the parser sees what the model wrote.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from agro_data.hashing import file_hash, stable_hash
from agro_data.llm.rendering import prompt_ids
from agro_data.llm.types import Completion, Request, Sampling, Usage, failed
from agro_data.models import DEFAULT_WRITER, FoundModel, ModelMissing, find_model

if TYPE_CHECKING:
    import torch

_GREEDY = 1e-6
_TAIL = 16  # tokens in which a stop that has just been written lies, and more where it is longer


@dataclass
class LocalModel:
    """A causal language model of transformers with its tokenizer; `batch` requests are written together.

    `template` is what the chat template is given; `longest` tokens are all that prompt and reply may have.
    """

    name: str
    network: Any
    tokenizer: Any
    revision: str = ""
    batch: int = 16
    template: Mapping[str, Any] = field(default_factory=dict)
    longest: int | None = None

    @property
    def identity(self) -> Mapping[str, str]:
        """What decides its answers."""
        template = stable_hash(dict(self.template))[:8]
        return {"model": self.name, "revision": self.revision, "asked": "transformers", "template": template}

    def complete(self, requests: Sequence[Request]) -> Generator[tuple[int, Completion], None, None]:
        """Batch by batch: requests that are drawn alike, short prompts first."""
        longest = self.longest or getattr(self.network.config, "max_position_embeddings", None)
        groups: dict[Sampling, list[tuple[int, list[int]]]] = {}
        for place, request in enumerate(requests):
            try:
                ids = prompt_ids(request.messages, self.tokenizer, self.template)
            except UnicodeEncodeError as error:
                yield place, failed("refused", f"{self.name}: the request is no text that can be read: {error}")
                continue
            if longest is not None and len(ids) + request.sampling.max_tokens > longest:
                said = f"{len(ids)} tokens and {request.sampling.max_tokens} to write are more than {longest}"
                yield place, failed("refused", f"{self.name}: {said}")
            else:
                groups.setdefault(replace(request.sampling, seed=0), []).append((place, ids))
        for sampling, members in groups.items():
            members.sort(key=lambda one: (len(one[1]), one[0]))
            for start in range(0, len(members), self.batch):
                part = members[start : start + self.batch]
                seeds = [requests[place].seed for place, _ in part]
                written = self._write([ids for _, ids in part], sampling, seeds)
                yield from zip((place for place, _ in part), written, strict=True)

    def close(self) -> None:
        """Let the model go."""
        self.network = None

    def _write(self, prompts: Sequence[Sequence[int]], sampling: Sampling, seeds: Sequence[int]) -> list[Completion]:
        import torch  # noqa: PLC0415
        from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList  # noqa: PLC0415

        device = next(self.network.parameters()).device
        width = max(map(len, prompts))
        pad = self.tokenizer.pad_token_id
        ids = torch.tensor([[pad] * (width - len(prompt)) + list(prompt) for prompt in prompts], device=device)
        mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts], device=device)
        ends = _ends(self.network, self.tokenizer)
        draw = _Draw(sampling, seeds)
        settings = GenerationConfig(
            max_new_tokens=sampling.max_tokens, do_sample=False, eos_token_id=sorted(ends), pad_token_id=pad
        )
        stops = StoppingCriteriaList([_Stops(sampling.stop, self.tokenizer, width)] if sampling.stop else [])
        with torch.inference_mode():
            out = self.network.generate(
                input_ids=ids,
                attention_mask=mask,
                generation_config=settings,
                logits_processor=LogitsProcessorList([draw]),
                stopping_criteria=stops,
            )
        return [
            self._completion(prompt, row, sampling, ends, draw.logprobs[place])
            for place, (prompt, row) in enumerate(zip(prompts, out[:, width:].tolist(), strict=True))
        ]

    def _completion(
        self, prompt: Sequence[int], row: Sequence[int], sampling: Sampling, ends: set[int], logprobs: Sequence[float]
    ) -> Completion:
        """The completion from the tokens after a prompt: tokens up to the end, text up to a stop."""
        count = next((place + 1 for place, token in enumerate(row) if token in ends), len(row))
        over = bool(row) and row[count - 1] in ends
        text = self.tokenizer.decode(row[:count], skip_special_tokens=True)
        if sampling.stop:
            for number in range(1, count + 1):  # the row goes on, padded, while others of its batch are written
                if any(stop in self.tokenizer.decode(row[:number], skip_special_tokens=True) for stop in sampling.stop):
                    count, over = number, True
                    text = self.tokenizer.decode(row[:number], skip_special_tokens=True)
                    text = text[: min(text.find(stop) for stop in sampling.stop if stop in text)]
                    break
        pairs = None
        if sampling.logprobs:
            tokens = (self.tokenizer.decode([token]) for token in row[:count])
            pairs = tuple(zip(tokens, logprobs[:count], strict=True))
        return Completion(text, not over, Usage(len(prompt), count), pairs)


def open_local(name: str, *, batch: int = 16, network: bool = True) -> LocalModel:
    """The model of a folder or a Hub id, on the GPU if there is one. `network` False never asks the Hub.

    Raises `ModelMissing`.
    """
    import torch  # noqa: PLC0415
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    found = find_model(name, like=DEFAULT_WRITER, network=network)
    packed = {"gguf_file": found.gguf.name} if found.gguf is not None else {}
    try:
        module = AutoModelForCausalLM.from_pretrained(found.path, dtype="auto", **packed)
        tokenizer = AutoTokenizer.from_pretrained(found.path, **packed)
    except (OSError, ValueError) as error:
        raise ModelMissing(f"{found.path} cannot be loaded as a causal language model: {error}") from error
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    module.to("cuda" if torch.cuda.is_available() else "cpu")
    return LocalModel(name, module.eval(), tokenizer, weights_of(found), batch)


def weights_of(found: FoundModel) -> str:
    """Which weights these are: 16 hex over their files. Raises `ModelMissing` where there are none."""
    files = [found.gguf] if found.gguf is not None else sorted(found.path.glob("*.safetensors"))
    files = files or sorted(found.path.glob("pytorch_model*.bin"))
    if not files:
        raise ModelMissing(
            f"{found.path} holds no weights: expected *.safetensors or pytorch_model*.bin beside its config"
        )
    return stable_hash([file_hash(file) for file in files])[:16]


def _ends(network: Any, tokenizer: Any) -> set[int]:
    """Every token that ends a reply: a chat model's end of turn is often said in its generation settings alone."""
    known = network.generation_config.eos_token_id if network.generation_config is not None else None
    said = known if isinstance(known, list) else [known]
    return {token for token in (*said, tokenizer.eos_token_id) if token is not None}


class _Draw:
    """A logits processor that draws each row's token by the row's own chance and leaves no other one possible.

    By inversion, one uniform number a token, drawn on the CPU: so a seed means the same on any device.
    `logprobs` are the model's own, before temperature, as servers give them.
    """

    def __init__(self, sampling: Sampling, seeds: Sequence[int]) -> None:
        import torch  # noqa: PLC0415

        self.sampling = sampling
        self.chances = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.logprobs: list[list[float]] = [[] for _ in seeds]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        import torch  # noqa: PLC0415

        own = torch.log_softmax(scores.float(), dim=-1)
        chosen = own.argmax(dim=-1) if self.sampling.temperature < _GREEDY else self._drawn(scores)
        for row, value in zip(self.logprobs, own.gather(1, chosen.unsqueeze(1)).squeeze(1).tolist(), strict=True):
            row.append(value)
        return torch.full_like(scores, -torch.inf).scatter(1, chosen.unsqueeze(1), 0.0)

    def _drawn(self, scores: torch.Tensor) -> torch.Tensor:
        """A token (rows,) from the likeliest that together have `top_p`."""
        import torch  # noqa: PLC0415

        chance = torch.softmax(scores.double() / self.sampling.temperature, dim=-1)
        likely, order = chance.sort(dim=-1, descending=True, stable=True)
        before = likely.cumsum(dim=-1) - likely
        mass = likely.masked_fill(before >= self.sampling.top_p, 0.0).cumsum(dim=-1)
        level = torch.stack([torch.rand(1, generator=one, dtype=torch.float64) for one in self.chances]).to(mass.device)
        place = torch.searchsorted(mass, level * mass[:, -1:]).clamp(max=mass.shape[1] - 1)
        return order.gather(1, place).squeeze(1)


class _Stops:
    """A stopping criterion: which rows have written one of the texts."""

    def __init__(self, stops: Sequence[str], tokenizer: Any, start: int) -> None:
        self.stops, self.tokenizer, self.start = stops, tokenizer, start
        self.tail = max(_TAIL, *(len(stop) for stop in stops))  # a token has at least a character, nearly always

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, **_: Any) -> torch.Tensor:
        import torch  # noqa: PLC0415

        written = [self.tokenizer.decode(row[self.start :][-self.tail :]) for row in input_ids.tolist()]
        done = [any(stop in text for stop in self.stops) for text in written]
        return torch.tensor(done, device=input_ids.device)
