"""Texts that a module has read, with its keys and values for them: a text that begins with one of them is read from
there on.

A rollout's next turn stands behind its prompt, a second round of attempts behind the prompts of the first. Good only
while the module's weights stay as they are, so whoever asks says how long that is (`types.remembering`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    Layers = Sequence[tuple[torch.Tensor, torch.Tensor]]  # keys and values of each

MOST = 2 << 30  # bytes of keys and values; what is read beyond them is forgotten


@dataclass(frozen=True, eq=False)
class Text:
    """A text that was read: the text `before`, if any, and its own keys and values (2, layers, heads, places, size)
    behind that; `length` tokens in all."""

    before: Text | None
    states: torch.Tensor
    length: int

    def parts(self) -> Iterator[tuple[int, torch.Tensor]]:
        """From the last to the first: the tokens before it, and its keys and values."""
        text: Text | None = self
        while text is not None:
            yield text.before.length if text.before else 0, text.states
            text = text.before


@dataclass
class Remembered:
    """Texts by their tokens, of at most `most` bytes."""

    most: int = MOST
    bytes: int = field(default=0, init=False)
    _texts: dict[tuple[int, ...], Text] = field(default_factory=dict, repr=False)
    _lengths: set[int] = field(default_factory=set, repr=False)

    def longest(self, tokens: tuple[int, ...]) -> Text | None:
        """The longest text that `tokens` begin with."""
        lengths = sorted((length for length in self._lengths if length <= len(tokens)), reverse=True)
        return next((text for length in lengths if (text := self._texts.get(tokens[:length]))), None)

    def add(
        self, tokens: Sequence[tuple[int, ...]], before: Sequence[Text | None], cuts: Sequence[int], layers: Layers
    ) -> list[Text | None]:
        """Remember what was read: behind the first tokens of each text, so many, which are the text `before` it, the
        last places of its row of `layers`. Gives the texts, None for what is not remembered.
        """
        import torch  # noqa: PLC0415

        if len({states.shape for layer in layers for states in layer}) > 1:
            return [None] * len(tokens)
        found: list[Text | None] = []
        for row, (whole, begun, cut) in enumerate(zip(tokens, before, cuts, strict=True)):
            if whole not in self._texts and len(whole) > cut == (begun.length if begun else 0):
                own = slice(cut - len(whole), None)
                states = torch.stack(
                    [torch.stack([each[row, :, own] for each in kind]) for kind in zip(*layers, strict=True)]
                )
                if self.bytes + states.nbytes <= self.most:
                    self.bytes += states.nbytes
                    self._texts[whole] = Text(begun, states, len(whole))
                    self._lengths.add(len(whole))
            found.append(self._texts.get(whole))
        return found


def stacked(texts: Sequence[Text | None], cuts: Sequence[int]) -> tuple[Layers, torch.Tensor]:
    """Keys and values (rows, heads, places, size) of each layer for the first tokens of each text, so many, padded on
    the left, and their mask (rows, places). One of the texts is not None."""
    some = next(text for text in texts if text)
    _two, layers, heads, _places, size = some.states.shape
    longest = max(cuts)
    states = some.states.new_zeros(2, layers, len(texts), heads, longest, size)
    mask = states.new_zeros(len(texts), longest).long()
    for row, (text, cut) in enumerate(zip(texts, cuts, strict=True)):
        left = longest - cut
        mask[row, left:] = 1
        for start, part in text.parts() if text else ():
            own = part[:, :, :, : max(0, cut - start)]
            states[:, :, row, :, left + start : left + start + own.shape[3]] = own
    return [*zip(*states, strict=True)], mask
