"""Turns written on a GPU: what a token takes is recorded once, as a CUDA graph, and replayed.

A token of a small model is some two thousand kernels that run for a few microseconds each; to launch them from Python
takes ten times as long as they run. A recording has them all, but only for shapes that stay as they are: rows keep
their places, those that have ended are computed on, and keys and values are written into room for the whole turn.
What is drawn is drawn on the device, too, and looked at some tokens at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from transformers.cache_utils import DynamicLayer

from agro_train.sampling.drawing import Turn, inverted
from agro_train.sampling.reading import grows, read, states
from agro_train.sampling.repetition import repeats_itself

if TYPE_CHECKING:
    import torch

LOOK = 8  # tokens that are written between two looks at which turns are over
WARM = 2  # steps before one is recorded: in the first, libraries set themselves up and autocast casts the weights

Over = Callable[[Sequence[int]], bool]


class NotRecorded(RuntimeError):
    """The module does something that a recording cannot hold, keeps something else than keys and values, or there is no
    room for every row's.
    """


class PlacedLayer(DynamicLayer):  # type: ignore[misc]
    """A layer with room for a whole turn. What is new is written at `place`, a tensor, so that a recording can move
    it; the room behind is there, and masked."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, place: torch.Tensor) -> None:
        super().__init__()
        self.lazy_initialization(keys, values)
        self.keys, self.values, self.place = keys, values, place

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self.keys.index_copy_(2, self.place, key_states.to(self.keys.dtype))
        self.values.index_copy_(2, self.place, value_states.to(self.values.dtype))
        return self.keys, self.values


@dataclass
class Board:
    """What a step reads and writes in place. `logits` (rows, vocabulary) of what comes next, `levels` (rows, tokens)
    the chance of each draw in [0, 1) or below 0 where the likeliest is taken; `ids` and `scores` (rows, tokens) what
    was drawn, with its log-probability. `place` (1,): where keys and values of it stand, `count` (1,): how many
    tokens there are; `seen` (rows, 1, 1, places); `positions` (rows, 1).
    """

    module: Any
    cache: Any
    logits: torch.Tensor
    levels: torch.Tensor
    temperature: float
    ids: torch.Tensor
    scores: torch.Tensor
    place: torch.Tensor
    count: torch.Tensor
    seen: torch.Tensor
    positions: torch.Tensor

    @classmethod
    def begin(
        cls, module: Any, prefixes: Sequence[Sequence[int]], levels: torch.Tensor, temperature: float, pad: int
    ) -> Board:
        """Before the first token behind `prefixes`; alike ones are read once. Raises `NotRecorded`."""
        import torch  # noqa: PLC0415

        index = {prefix: row for row, prefix in enumerate(dict.fromkeys(map(tuple, prefixes)))}
        logits, cache, mask = read(module, [*index], pad)
        if not grows(cache):
            raise NotRecorded("the module keeps something else than keys and values of all that it has read")
        rows = mask.new_tensor([index[tuple(prefix)] for prefix in prefixes])
        read_places, tokens = mask.shape[1], levels.shape[1]
        place = mask.new_tensor([read_places])
        cache.layers = [
            PlacedLayer(_room(keys, rows, tokens), _room(values, rows, tokens), place) for keys, values in states(cache)
        ]
        seen = torch.zeros(len(rows), 1, 1, read_places + tokens, dtype=torch.bool, device=mask.device)
        seen[..., :read_places] = mask[rows][:, None, None].bool()
        return cls(
            module,
            cache,
            logits[rows].float(),
            levels.to(mask.device),
            temperature,
            ids=mask.new_zeros(levels.shape),
            scores=logits.new_zeros(levels.shape, dtype=torch.float32),
            place=place,
            count=mask.new_zeros(1),
            seen=seen,
            positions=mask[rows].sum(dim=1, keepdim=True),
        )

    def step(self) -> None:
        """Draw a token for each row and read it."""
        import torch  # noqa: PLC0415

        logprobs = torch.log_softmax(self.logits / self.temperature, dim=-1)
        level = self.levels.index_select(1, self.count)
        drawn = torch.where(level < 0, logprobs.argmax(dim=-1, keepdim=True), inverted(logprobs, level))
        self.ids.index_copy_(1, self.count, drawn)
        self.scores.index_copy_(1, self.count, logprobs.gather(1, drawn))
        self.seen.index_fill_(3, self.place, True)
        out = self.module(
            input_ids=drawn,
            attention_mask=self.seen,
            position_ids=self.positions,
            past_key_values=self.cache,
            use_cache=True,
        )
        self.logits.copy_(out.logits[:, -1])
        self.place.add_(1)
        self.count.add_(1)
        self.positions.add_(1)


def write(
    module: Any,
    prefixes: Sequence[Sequence[int]],
    turns: Sequence[Turn],
    temperature: float,
    max_tokens: int,
    over: Over,
    pad: int,
    record: bool = True,
) -> int:
    """Write `turns`, one behind each of `prefixes`, to their ends; gives how many tokens they have. Their draws are the
    same as in `drawing.draw`. Without `record` the steps are taken one by one, on any device.

    Raises `NotRecorded`, and then no turn has been begun.
    """
    import torch  # noqa: PLC0415

    levels = torch.full((len(turns), max_tokens), -1.0, dtype=torch.float64)
    for row, turn in enumerate(turns):
        if turn.chance is not None:
            chance = torch.Generator().set_state(turn.chance.get_state())  # the turn's own is left as it is
            levels[row] = torch.rand(max_tokens, generator=chance, dtype=torch.float64)
    try:
        board = Board.begin(module, prefixes, levels, temperature, pad)
        step = _recorded(board) if record else board.step
    except RuntimeError as error:  # CUDA's: a recording cannot hold this, or memory is short
        raise NotRecorded(str(error)) from error
    going = [*range(len(turns))]
    for start in range(0, max_tokens, LOOK):
        end = min(start + LOOK, max_tokens)
        for _ in range(start, end):
            step()
        ids, scores = board.ids[:, start:end].tolist(), board.scores[:, start:end].tolist()
        going = [row for row in going if not _ended(turns[row], ids[row], scores[row], over)]
        if not going:
            break
    return sum(len(turn.ids) for turn in turns)


def _ended(turn: Turn, ids: Sequence[int], scores: Sequence[float], over: Over) -> bool:
    """Whether a turn that goes on with these tokens is over, or repeats itself; what follows that is left out."""
    for token, score in zip(ids, scores, strict=True):
        turn.ids.append(token)
        turn.logprobs.append(score)
        turn.cut = not over(turn.ids)
        if not turn.cut or repeats_itself(turn.ids):
            return True
    return False


def _room(kept: torch.Tensor, rows: torch.Tensor, tokens: int) -> torch.Tensor:
    """Keys or values `kept` (texts, heads, places, size) of these rows with room for so many tokens: zeros, since what
    is masked counts as 0 times what stands there."""
    _texts, heads, places, size = kept.shape
    held = kept.new_zeros(len(rows), heads, places + tokens, size)
    held[:, :, :places] = kept[rows]
    return held


def _recorded(board: Board) -> Callable[[], None]:
    """The step of `board` as a recording; the board is as it was before. It is good only within the autocast that it
    was made in, whose copies of the weights it reads. Raises `RuntimeError`."""
    import torch  # noqa: PLC0415

    changed = ("logits", "ids", "scores", "place", "count", "seen", "positions")
    before = [getattr(board, name).clone() for name in changed]
    graph = torch.cuda.CUDAGraph()
    beside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(min(WARM, board.ids.shape[1])):
            board.step()
    torch.cuda.current_stream().wait_stream(beside)
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):  # a data loader pins memory beside it
        board.step()
    for name, value in zip(changed, before, strict=True):
        getattr(board, name).copy_(value)
    return graph.replay
