"""Turns sampled from a torch module, as it stands in the trainer."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import groupby
from math import inf
from typing import TYPE_CHECKING, Any

from agro_data.protocol import STOPS
from agro_train.language_model.attention import attends_behind
from agro_train.language_model.packed_weights import packed
from agro_train.language_model.reach import reads
from agro_train.naming.writing import Restriction
from agro_train.programs.usual import BATCH
from agro_train.sampling.beams import search
from agro_train.sampling.drawing import GREEDY, Turn, draw
from agro_train.sampling.prefix_cache import Remembered
from agro_train.sampling.rows import Rows
from agro_train.sampling.token_mask import Held
from agro_train.sampling.types import Sampled, rooms, too_long

if TYPE_CHECKING:
    import torch

AGAIN = 0.7  # temperature at which a turn is drawn that none of the likeliest beginnings ends
_TAIL = 12  # tokens in which the end of a closing tag lies
_LAST = {stop[-1] for stop in STOPS}  # characters that end one: few tokens have them


@dataclass
class ModuleSampler:
    """Samples from a torch module. The common beginning of prefixes is read once: questions of a database share its
    schema, the rollouts of a group a prompt. Prefixes that were read are `remembered` until the turns are written, or
    as long as someone asks for that.

    Turns `share` what they have in common, prompts (`rows`) and what they begin with (`drawing`): a vote's samples and
    a group's rollouts begin alike. `written` counts the tokens that were computed for turns that were drawn.

    `batch` is how many turns with prefixes of their own are written together; of turns that share a prefix more fit in
    the same memory. The module runs `under` what is given: a trainer's autocast.

    On a GPU it may `record` how a token of turns that nothing restricts is written; these then share nothing.
    """

    module: Any
    tokenizer: Any
    batch: int = BATCH
    under: Callable[[], AbstractContextManager[object]] = nullcontext
    share: bool = True
    record: bool = True
    written: int = field(default=0, init=False)
    held: Held = field(init=False, repr=False)
    remembered: Remembered | None = field(default=None, init=False, repr=False)
    _closing: dict[int, bool] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self.held = Held(self.tokenizer)

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """What is read meanwhile is not read again. The module's weights must stay as they are."""
        outer = self.remembered
        self.remembered = outer or (Remembered() if self.share else None)
        try:
            yield
        finally:
            self.remembered = outer

    def __call__(
        self, prefixes: Sequence[Sequence[int]], *, temperature: float, max_tokens: int, seeds: Sequence[int | None]
    ) -> list[Sampled]:
        return self._sample(None, prefixes, temperature, max_tokens, seeds, 1)

    def within(
        self,
        restrictions: Sequence[Restriction],
        prefixes: Sequence[Sequence[int]],
        *,
        temperature: float,
        max_tokens: int,
        seeds: Sequence[int | None],
        beams: int = 1,
    ) -> list[Sampled]:
        return self._sample(restrictions, prefixes, temperature, max_tokens, seeds, beams)

    def _sample(
        self,
        restrictions: Sequence[Restriction] | None,
        prefixes: Sequence[Sequence[int]],
        temperature: float,
        max_tokens: int,
        seeds: Sequence[int | None],
        beams: int,
    ) -> list[Sampled]:
        import torch  # noqa: PLC0415

        config = getattr(self.module, "config", None)
        context = reads(config) if config else inf
        room = rooms(prefixes, max_tokens, context)
        found = {place: too_long(len(one), context) for place, one in enumerate(prefixes) if place not in room}
        sure = temperature < GREEDY
        training = self.module.training
        self.module.eval()  # dropout off
        try:
            # not inference mode, in which autocast casts every weight anew for each token
            with torch.no_grad(), self.under(), packed(self.module), self.remembering():
                for most, places in self._batches(prefixes, room, self._records(restrictions)):
                    some = [prefixes[place] for place in places]
                    if restrictions is not None and sure:
                        turns = self._search(some, [restrictions[place] for place in places], most, beams)
                    else:
                        held = [restrictions[place] if restrictions else None for place in places]
                        chances = [None if sure else _chance(seeds[place]) for place in places]
                        writing = [Turn(chance, one) for chance, one in zip(chances, held, strict=True)]
                        self._draw(some, writing, 1.0 if sure else temperature, most)
                        turns = [turn.sampled() for turn in writing]
                    found |= dict(zip(places, turns, strict=True))
        finally:
            self.module.train(training)
        return [found[place] for place in range(len(prefixes))]

    def _batches(
        self, prefixes: Sequence[Sequence[int]], room: Mapping[int, int], alone: bool
    ) -> Iterator[tuple[int, list[int]]]:
        """Places of prefixes that are written on together, those that begin alike side by side, with the tokens that
        each has `room` for: nearly always the same for all. `alone`: what rows have in common is not shared."""
        order = sorted(room, key=lambda place: (-room[place], tuple(prefixes[place])))
        shared = self.share and not alone and attends_behind(self.module)
        for most, some in groupby(order, key=room.__getitem__):
            places = [*some]
            for start, end in parts([prefixes[place] for place in places], most, self.batch, shared):
                yield most, places[start:end]

    def _begin(self, prefixes: Sequence[Sequence[int]], most: int) -> Rows:
        return Rows.begin(self.module, prefixes, self.tokenizer.pad_token_id, self.share, self.remembered, most)

    def _search(
        self, prefixes: Sequence[Sequence[int]], restrictions: Sequence[Restriction], max_tokens: int, beams: int
    ) -> list[Sampled]:
        """Turns with one beginning under way; those that were turned from what is likeliest again, with `beams`.

        One that only a single beginning could end stays as it is. One that none ends, since kept from what it wants it
        goes on until it is cut, is drawn instead.
        """
        found = search(self._begin(prefixes, max_tokens), restrictions, self.held, 1, max_tokens, self._over)
        turns = [turn for turn, _ in found]
        if beams == 1:
            return turns
        for places in self._parts([place for place, (_, turned) in enumerate(found) if turned], beams):
            rows = self._begin([prefixes[place] for place in places], max_tokens)
            again = search(rows, [restrictions[place] for place in places], self.held, beams, max_tokens, self._over)
            for place, (turn, _) in zip(places, again, strict=True):
                if not turn.cut:
                    turns[place] = turn
        for places in self._parts([place for place, turn in enumerate(turns) if turn.cut], beams):
            some = [prefixes[place] for place in places]
            drawn = self._draw_ended(some, [restrictions[place] for place in places], max_tokens, beams)
            for place, one in zip(places, drawn, strict=True):
                turns[place] = one or turns[place]
        return turns

    def _parts(self, places: Sequence[int], beams: int) -> Iterator[Sequence[int]]:
        """As many of `places` at a time as have `beams` rows each in a batch."""
        size = max(1, self.batch // beams)
        return (places[start : start + size] for start in range(0, len(places), size))

    def _draw_ended(
        self, prefixes: Sequence[Sequence[int]], restrictions: Sequence[Restriction], max_tokens: int, tries: int
    ) -> list[Sampled | None]:
        """For each prefix the likeliest of so many drawn turns that come to an end, if any; their seeds are always the
        same."""
        drawn = [[Turn(_chance(seed), one.copy()) for seed in range(tries)] for one in restrictions]
        flat = [(prefix, turn) for prefix, some in zip(prefixes, drawn, strict=True) for turn in some]
        self._draw([prefix for prefix, _ in flat], [turn for _, turn in flat], AGAIN, max_tokens)
        ended = [[turn for turn in some if not turn.cut] for some in drawn]
        return [max(some, key=_likelihood).sampled() if some else None for some in ended]

    def _draw(self, prefixes: Sequence[Sequence[int]], turns: Sequence[Turn], temperature: float, most: int) -> None:
        held = [turn.restriction for turn in turns if turn.restriction is not None]
        if self._records(held) and self._recorded(prefixes, turns, temperature, most):
            return
        strands = [[turn] for turn in turns]
        if self.share:
            alike: dict[tuple[int, ...], list[Turn]] = defaultdict(list)
            for prefix, turn in zip(prefixes, turns, strict=True):
                alike[tuple(prefix)].append(turn)
            prefixes, strands = [*alike], [*alike.values()]
        self.written += draw(self._begin(prefixes, most), strands, self.held, temperature, most, self._over)

    def _records(self, restrictions: Sequence[Restriction] | None) -> bool:
        return self.record and not restrictions and attends_behind(self.module) and self.module.device.type == "cuda"

    def _recorded(
        self, prefixes: Sequence[Sequence[int]], turns: Sequence[Turn], temperature: float, most: int
    ) -> bool:
        """Whether the turns could be written so; where not, it is not tried again."""
        from agro_train.sampling.cuda_graph import NotRecorded, write  # noqa: PLC0415 (imports transformers)

        pad = self.tokenizer.pad_token_id
        try:
            self.written += write(self.module, prefixes, turns, temperature, most, self._over, pad)
        except NotRecorded as error:
            said = str(error).partition("\n")[0]
            warnings.warn(f"turns are written row by row from here on, which is slower: {said}", stacklevel=2)
            self.record = False
        return self.record

    def _over(self, ids: Sequence[int]) -> bool:
        last = ids[-1]
        if last == self.tokenizer.eos_token_id:
            return True
        if last not in self._closing:
            self._closing[last] = any(end in self.tokenizer.decode([last]) for end in _LAST)
        if not self._closing[last]:
            return False
        tail = self.tokenizer.decode(ids[-_TAIL:])
        return any(stop in tail for stop in STOPS)


def parts(prefixes: Sequence[Sequence[int]], most: int, batch: int, shared: bool) -> Iterator[tuple[int, int]]:
    """Where batches begin and end in ordered `prefixes`, behind each of which up to `most` tokens are written. A batch
    has `batch` prefixes; if equal prefixes are `shared`, it has as many as fit in the same number of tokens.
    """
    limit = batch * (max(map(len, prefixes)) + most)
    start, tokens = 0, 0
    for place, prefix in enumerate(prefixes):
        again = shared and place > start and tuple(prefix) == tuple(prefixes[place - 1])
        own = most + (0 if again else len(prefix))
        if place > start and (tokens + own > limit if shared else place - start == batch):
            yield start, place
            start, tokens, own = place, 0, most + len(prefix)
        tokens += own
    yield start, len(prefixes)


def _chance(seed: int | None) -> torch.Generator | None:
    import torch  # noqa: PLC0415

    return None if seed is None else torch.Generator().manual_seed(seed % 2**63)


def _likelihood(turn: Turn) -> float:
    return sum(turn.logprobs) / len(turn.logprobs)
