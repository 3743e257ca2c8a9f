"""A language model of a few thousand random weights, with a tokenizer of its own: every path of training in seconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TEXTS = (
    "<think>I look at the names.</think>\n<sql>SELECT name FROM city ORDER BY 1 LIMIT 5</sql>",
    "<observation>\nname | age\n(5 rows, 5 turns left)\n</observation>\n",
    "<think>The result answers the question.</think>\n<solution>SELECT COUNT(*) FROM country</solution>",
    "Answer the question with one SQLite query. Question: How many singers are there in each country?",
)
CHAT = "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}<|assistant|>"


def make_tiny_model(folder: Path, seed: int = 0, vocabulary: int = 400, head: int | None = None) -> Path:
    """Save a random Llama of two layers with its tokenizer in `folder`; its heads are `head` wide, or 8."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    special = ["<|end|>", "<|user|>", "<|assistant|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(
        TEXTS, trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=special, initial_alphabet=alphabet)
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<|end|>", pad_token="<|end|>")
    tokenizer.chat_template = CHAT
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=head,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_tiny_other(folder: Path, kind: str, **facts: Any) -> Path:
    """Save a random model of another class of transformers in `folder`, with the tokenizer of the first."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    tokens = len(AutoTokenizer.from_pretrained(make_tiny_model(folder)))
    ends = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"), 0)
    config = AutoConfig.for_model(kind, vocab_size=tokens, **ends, **facts)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return folder


def oddly_sampled(folder: Path) -> Path:
    """The model of `folder`, whose files now name a temperature and take what is likeliest, as Vicuna's do."""
    path = folder / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"do_sample": False, "temperature": 0.9}))
    return folder
