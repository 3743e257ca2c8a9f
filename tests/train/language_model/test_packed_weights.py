"""Packed weights give the numbers that they give as they lie, and only while something is written."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import Linear, Module
from train.tiny import make_tiny_model

from agro_train.language_model import packed_weights as packing
from agro_train.language_model.loading import adapters, load
from agro_train.language_model.packed_weights import packed
from agro_train.sampling.module import ModuleSampler

HALF = pytest.mark.skipif(
    not torch.ops.mkldnn._is_mkldnn_bf16_supported(), reason="this CPU has no products in bfloat16"
)
KINDS = pytest.mark.parametrize("kind", ["float32", pytest.param("bfloat16", marks=HALF)])


@KINDS
@given(rows=st.integers(1, 70), wide=st.integers(1, 90), high=st.integers(1, 90), bias=st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_same_numbers(kind: str, rows: int, wide: int, high: int, bias: bool) -> None:
    torch.manual_seed(rows)
    dtype = getattr(torch, kind)
    layer = Linear(wide, high, bias=bias, dtype=dtype)
    entered = torch.randn(2, rows, wide, dtype=dtype)
    with torch.no_grad():
        expected = layer(entered)
        with packed(layer):
            assert _copied(layer) == [""]
            found = layer(entered)
    assert found.dtype == dtype
    torch.testing.assert_close(found, expected)


@KINDS
def test_layers_are_as_before_afterwards(kind: str, tmp_path: Path) -> None:
    """Also where writing fails; and weights that have changed since are read as they are."""
    module = load(str(make_tiny_model(tmp_path)), Path("unused"), dtype=kind).network
    ids = torch.tensor([[5, 6, 7]])
    with packed(module):
        assert _copied(module)
    with pytest.raises((AttributeError, TypeError)), packed(module):
        module("no tokens")
    assert not _copied(module)
    with torch.no_grad():
        before = module(ids).logits
        module.get_parameter("model.layers.0.mlp.up_proj.weight").mul_(-3)
        expected = module(ids).logits
        with packed(module):
            found = module(ids).logits
    torch.testing.assert_close(found, expected)
    assert not torch.equal(found, before)


def _copied(module: Module) -> list[str]:
    """Names of the layers that read a copy of their weights."""
    return [name for name, layer in module.named_modules() if "forward" in layer.__dict__]


@HALF
def test_autocast_and_adapters(tmp_path: Path) -> None:
    from peft import get_peft_model

    module = get_peft_model(load(str(make_tiny_model(tmp_path)), Path("unused")).network, adapters(2)).eval()
    ids = torch.tensor([[5, 6, 7]])
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        expected = module(ids).logits
        with packed(module):
            assert any(name.endswith("up_proj.base_layer") for name in _copied(module))
            torch.testing.assert_close(module(ids).logits, expected)


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_large_models_and_those_on_other_processors_stay(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load(str(make_tiny_model(tmp_path)), Path("unused"), dtype=kind).network
    with monkeypatch.context() as patch:
        patch.setattr(packing, "MOST", 100)
        with packed(module):
            assert not _copied(module)
    with monkeypatch.context() as patch:
        patch.setattr(packing, "PRIVATE", (*packing.PRIVATE, "_of_another_release"))
        with packed(module):
            assert not _copied(module)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    with packed(module):
        assert not _copied(module)


@KINDS
def test_a_sampler_writes_with_them(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load(str(make_tiny_model(tmp_path)), Path("unused"), dtype=kind)
    packs = list[Linear]()
    product = packing._product

    def counted(layer: Linear, kind: torch.dtype) -> object:
        packs.append(layer)
        return product(layer, kind)

    def write() -> list[list[int]]:
        turns = ModuleSampler(model.network, model.tokenizer)(
            [[5, 6, 7], [8, 9]], temperature=0.9, max_tokens=12, seeds=[1, 2]
        )
        return [list(turn.ids) for turn in turns]

    monkeypatch.setattr(packing, "_product", counted)
    with_copies = write()
    assert packs
    monkeypatch.setattr(packing, "MOST", 0)
    assert write() == with_copies
