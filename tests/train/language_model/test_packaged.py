"""Models that come as a GGUF."""

from __future__ import annotations

import gguf
import pytest

from agro_train.language_model.packaged import parsed_once


def test_a_file_is_parsed_once_while_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def reader(path: str) -> list[str]:
        parsed.append(path)
        return [path]

    monkeypatch.setattr(gguf, "GGUFReader", reader)
    with parsed_once():
        assert gguf.GGUFReader("a") is gguf.GGUFReader("a")
        gguf.GGUFReader("b")
    assert parsed == ["a", "b"]
    assert vars(gguf)["GGUFReader"] is reader


def test_what_was_parsed_is_forgotten_where_unpacking_fails() -> None:
    before = gguf.GGUFReader, gguf.get_tensor_name_map
    with pytest.raises(OSError, match="full"), parsed_once():
        raise OSError("the disk is full")
    assert (gguf.GGUFReader, gguf.get_tensor_name_map) == before
