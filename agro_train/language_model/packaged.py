"""Models that come as a GGUF, made a folder of safetensors: the one form in which they can be trained and served.

Imports torch, transformers and gguf when called, never when imported.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from agro_data.hashing import file_hash
from agro_data.models import FoundModel


def unpacked(found: FoundModel, file: Path, store: Path) -> Path:
    """The folder below `store` in which the weights of `file` lie as safetensors, written where it is not there yet.

    transformers loads a GGUF dense but marks it quantised, so that it can be neither trained nor saved: said here to be
    what it is.
    """
    target = store / "models" / f"{found.name.replace('/', '--')}-{file_hash(file)[:16]}"
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=target.parent))
    try:
        with parsed_once():
            _unpack(found.path, file.name, draft)
        os.replace(draft, target)
    except OSError:
        if not target.is_dir():  # another process was not there first
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target


def _unpack(folder: Path, name: str, draft: Path) -> None:
    from torch import float32  # noqa: PLC0415
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig  # noqa: PLC0415
    from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

    disable_progress_bar()  # as where weights are read
    module = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=float32)
    del module.config.quantization_config
    module.hf_quantizer, module.is_quantized, module.quantization_method = None, False, None
    end = module.config.eos_token_id
    module.generation_config = GenerationConfig(eos_token_id=end, pad_token_id=end)
    module.save_pretrained(draft)
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
    tokenizer.eos_token = tokenizer.pad_token = tokenizer.convert_ids_to_tokens(end)  # the file names another
    tokenizer.save_pretrained(draft)
    _drop_gguf(draft / "config.json")


@contextmanager
def parsed_once() -> Iterator[None]:
    """transformers parses a file anew for its config, its weights and twice for its tokenizer, and looks up the names
    of tensors anew for each module: half a minute on two slow cores, in which nothing changes."""
    import gguf  # noqa: PLC0415

    slow = {name: getattr(gguf, name) for name in ("GGUFReader", "get_tensor_name_map")}
    try:
        for name, function in slow.items():
            setattr(gguf, name, cache(function))
        yield
    finally:
        for name, function in slow.items():
            setattr(gguf, name, function)


def _drop_gguf(config: Path) -> None:
    facts = json.loads(config.read_text(encoding="utf-8"))
    facts.pop("quantization_config", None)
    config.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
