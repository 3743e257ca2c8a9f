"""What several rows begin with is held once, and each row sees what it would see with a copy of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from train.tiny import make_tiny_model, make_tiny_other

from agro_train.language_model import shared_prefix
from agro_train.language_model.loading import load
from agro_train.language_model.shared_prefix import Beginnings
from agro_train.sampling.rows import Rows

HEADS, QUERIES, SIZE = 2, 3, 8


@given(
    lengths=st.lists(st.integers(0, 9), min_size=1, max_size=4),
    data=st.data(),
    own=st.integers(1, 6),
    by_hand=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_it_is_attention_over_both(lengths: list[int], data: st.DataObject, own: int, by_hand: bool) -> None:
    """Beginnings of any lengths, nothing at all among them, padded on the left; what rows have of their own, too."""
    of = data.draw(st.lists(st.integers(0, len(lengths) - 1), min_size=1, max_size=7))
    padding = data.draw(st.lists(st.integers(0, own - 1), min_size=len(of), max_size=len(of)))
    chance = torch.Generator().manual_seed(len(of))
    places = max(*lengths, 1)
    mask = torch.tensor([[0] * (places - length) + [1] * length for length in lengths])
    keys, values = (torch.randn(len(lengths), HEADS, places, SIZE, generator=chance) for _ in range(2))
    query = torch.randn(len(of), HEADS, QUERIES, SIZE, generator=chance)
    key, value = (torch.randn(len(of), HEADS, own, SIZE, generator=chance) for _ in range(2))
    seen = torch.tensor([[0] * left + [1] * (own - left) for left in padding])
    with pytest.MonkeyPatch.context() as patch:
        if by_hand:
            patch.setattr(shared_prefix, "_flash_for_cpu", lambda: None)  # as on a GPU, or in a release without it
        found = Beginnings([(keys, values)], mask, of).attended(
            0, query, key, value, seen[:, None, None].bool(), scale=0.3
        )
    whole = torch.cat([mask[of], seen], dim=1)[:, None, None].bool()
    expected = torch.nn.functional.scaled_dot_product_attention(
        query, torch.cat([keys[of], key], dim=2), torch.cat([values[of], value], dim=2), attn_mask=whole, scale=0.3
    )
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_rows_hold_their_beginning_once(tmp_path: Path, kind: str) -> None:
    """Eight rows of two texts keep two beginnings, also where all but one have ended, and say what copies say."""
    folder = make_tiny_model(tmp_path / kind) if kind == "llama" else make_tiny_other(
        tmp_path / kind, kind, n_embd=32, n_layer=2, n_head=2, n_positions=64
    )  # fmt: skip
    module = load(str(folder), Path("unused")).network.eval()
    texts = [[5, 6, 7] * 6, [8, 9] * 5]
    both = [Rows.begin(module, [text for text in texts for _ in range(4)], 0, share) for share in (True, False)]
    held, copied = both
    assert copied.begun is None
    assert held.begun is not None
    assert held.begun.mask.sum(dim=1).tolist() == [17, 9]
    assert held.mask.shape == (8, 1)
    for parents in ([*range(8)], [7, 0, 0, 3], [2], [0, 0, 0]):
        with torch.no_grad():
            for rows in both:
                rows.go_on(parents, [20 + place for place in range(len(parents))])
        torch.testing.assert_close(held.logits, copied.logits, atol=1e-4, rtol=1e-4)
    assert len(held.begun.mask) == 1


def test_autocast_casts_a_beginning_once(tmp_path: Path) -> None:
    module = load(str(make_tiny_model(tmp_path)), Path("unused")).network.eval()
    prefixes = [[5, 6, 7] * 6] * 4
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        held, copied = (Rows.begin(module, prefixes, 0, share) for share in (True, False))
        for rows in (held, copied):
            rows.go_on([0, 1, 2, 3], [20, 21, 22, 23])
    assert held.begun is not None
    assert {tensor.dtype for layer in held.begun.layers for tensor in layer} == {torch.bfloat16}
    torch.testing.assert_close(held.logits, copied.logits, atol=0.02, rtol=0.1)


@pytest.mark.parametrize(
    ("kind", "facts"),
    [
        ("mistral", {"sliding_window": 4}),  # forgets what is further off than its window
        ("bloom", {}),  # sees how far off a token stands
    ],
)
def test_who_cannot_attend_behind_something_has_copies(tmp_path: Path, kind: str, facts: dict[str, int]) -> None:
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    own = {"hidden_size": 32, "n_layer": 2, "n_head": 2} if kind == "bloom" else {**sizes, "num_key_value_heads": 2}
    folder = make_tiny_other(tmp_path, kind, **own, **facts)
    module = load(str(folder), Path("unused")).network.eval()
    rows = Rows.begin(module, [[5, 6, 7] * 6] * 3, 0)
    assert rows.begun is None
    with torch.no_grad():
        rows.go_on([0, 1, 2], [20, 21, 22])
        for token, logits in zip((20, 21, 22), rows.logits, strict=True):
            expected = module(torch.tensor([[*[5, 6, 7] * 6, token]])).logits[0, -1]
            torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)
