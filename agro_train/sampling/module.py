"""Turns sampled from a torch module, as it stands in the trainer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import inf
from typing import TYPE_CHECKING, Any

from agro_data.protocol import STOPS
from agro_train.language_model.loading import reads
from agro_train.naming.writing import Restriction
from agro_train.sampling.beams import search
from agro_train.sampling.held import Held
from agro_train.sampling.rows import Rows
from agro_train.sampling.types import Sampled, rooms, too_long

if TYPE_CHECKING:
    import torch

_TAIL = 12  # tokens in which the end of a closing tag lies
_GREEDY = 1e-6


@dataclass
class ModuleSampler:
    """Samples from a torch module. Prefixes that are alike are read once: the rollouts of a group share a prompt.

    `batch` is how many turns are written together. The module runs `under` what is given: a trainer's autocast.
    """

    module: Any
    tokenizer: Any
    batch: int = 64
    under: Callable[[], AbstractContextManager[object]] = nullcontext
    held: Held = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.held = Held(self.tokenizer)

    def __call__(
        self, prefixes: Sequence[Sequence[int]], *, temperature: float, max_tokens: int, seeds: Sequence[int]
    ) -> list[Sampled]:
        return self._sample(None, prefixes, temperature, max_tokens, seeds, 1)

    def within(
        self,
        restrictions: Sequence[Restriction],
        prefixes: Sequence[Sequence[int]],
        *,
        temperature: float,
        max_tokens: int,
        seeds: Sequence[int],
        beams: int = 1,
    ) -> list[Sampled]:
        return self._sample(restrictions, prefixes, temperature, max_tokens, seeds, beams)

    def _sample(
        self,
        restrictions: Sequence[Restriction] | None,
        prefixes: Sequence[Sequence[int]],
        temperature: float,
        max_tokens: int,
        seeds: Sequence[int],
        beams: int,
    ) -> list[Sampled]:
        import torch  # noqa: PLC0415

        config = getattr(self.module, "config", None)
        context = reads(config) if config else inf
        room = rooms(prefixes, max_tokens, context)
        found = {place: too_long(len(one), context) for place, one in enumerate(prefixes) if place not in room}
        training = self.module.training
        self.module.eval()  # dropout off
        try:
            # not inference mode, in which autocast casts every weight anew for each token
            with torch.no_grad(), self.under():
                for most, places in self._batches(prefixes, room):
                    some = [prefixes[place] for place in places]
                    if restrictions is not None and temperature < _GREEDY:
                        turns = self._search(some, [restrictions[place] for place in places], most, beams)
                    else:
                        chances = [torch.Generator().manual_seed(seeds[place] % 2**63) for place in places]
                        held = None if restrictions is None else [restrictions[place] for place in places]
                        turns = self._write(self._begin(some), temperature, most, chances, held)
                    found |= dict(zip(places, turns, strict=True))
        finally:
            self.module.train(training)
        return [found[place] for place in range(len(prefixes))]

    def _batches(self, prefixes: Sequence[Sequence[int]], room: Mapping[int, int]) -> Iterator[tuple[int, list[int]]]:
        """Places of prefixes that are written on together, those of one length side by side, with the tokens that each
        has `room` for: nearly always the same for all."""
        order = sorted(room, key=lambda place: (-room[place], len(prefixes[place]), tuple(prefixes[place])))
        for most, some in groupby(order, key=room.__getitem__):
            places = [*some]
            yield from ((most, places[start : start + self.batch]) for start in range(0, len(places), self.batch))

    def _begin(self, prefixes: Sequence[Sequence[int]]) -> Rows:
        return Rows.begin(self.module, prefixes, self.tokenizer.pad_token_id)

    def _search(
        self, prefixes: Sequence[Sequence[int]], restrictions: Sequence[Restriction], max_tokens: int, beams: int
    ) -> list[Sampled]:
        """Turns with one beginning under way; those that were turned from what is likeliest again, with `beams`.

        One that only a single beginning could end stays as it is.
        """
        found = search(self._begin(prefixes), restrictions, self.held, 1, max_tokens, self._over)
        turned = [place for place, (_, turned) in enumerate(found) if turned and beams > 1]
        batch = max(1, self.batch // beams)
        for start in range(0, len(turned), batch):
            places = turned[start : start + batch]
            rows = self._begin([prefixes[place] for place in places])
            again = search(rows, [restrictions[place] for place in places], self.held, beams, max_tokens, self._over)
            for place, one in zip(places, again, strict=True):
                if not one[0].cut:
                    found[place] = one
        return [turn for turn, _ in found]

    def _write(
        self,
        rows: Rows,
        temperature: float,
        max_tokens: int,
        chances: Sequence[torch.Generator],
        restrictions: Sequence[Restriction] | None,
    ) -> list[Sampled]:
        turns = [Sampled([], [], cut=True) for _ in chances]
        active = list(range(len(turns)))
        for written in range(max_tokens):
            drawn, scores = _draw(rows.logits, temperature, [chances[turn] for turn in active])
            stuck: set[int] = set()
            if restrictions is not None:
                stuck = self._hold(rows.logits, temperature, active, turns, chances, restrictions, drawn, scores)
            going: list[int] = []
            for place, turn in enumerate(active):
                if place in stuck:
                    continue  # and stays cut
                turns[turn].ids.append(drawn[place])
                turns[turn].logprobs.append(scores[place])
                if self._over(turns[turn].ids):
                    turns[turn] = replace(turns[turn], cut=False)
                else:
                    going.append(place)
            if not going or written + 1 == max_tokens:
                break
            seated = rows.go_on(going, [drawn[place] for place in going])  # rows that are done are not read on
            active = [active[place] for _, place in sorted(zip(seated, going, strict=True))]
        return turns

    def _hold(
        self,
        logits: torch.Tensor,
        temperature: float,
        active: Sequence[int],
        turns: Sequence[Sampled],
        chances: Sequence[torch.Generator],
        restrictions: Sequence[Restriction],
        drawn: list[int],
        scores: list[float],
    ) -> set[int]:
        """Draw again, among what is allowed, where a restriction refuses what was drawn; gives the places where nothing
        is. So a token is drawn as from the allowed alone, and the restriction is mostly asked about one.
        """
        import torch  # noqa: PLC0415

        stuck: set[int] = set()
        for place, turn in enumerate(active):
            restriction = restrictions[turn]
            if restriction.active:
                begun = self.held.begun(turns[turn].ids)
                if not self.held.allows(restriction, drawn[place], begun):
                    logprobs = torch.log_softmax(logits[place].float() / temperature, dim=-1)
                    found = self.held.draw(restriction, logprobs, chances[turn], begun)
                    if found is None:
                        stuck.add(place)
                        continue
                    turns[turn].turned.add(len(turns[turn].ids))
                    drawn[place], scores[place] = found
            restriction.go_on(self.tokenizer.decode([*turns[turn].ids, drawn[place]]))
        return stuck

    def _over(self, ids: Sequence[int]) -> bool:
        if ids[-1] == self.tokenizer.eos_token_id:
            return True
        tail = self.tokenizer.decode(ids[-_TAIL:])
        return any(stop in tail for stop in STOPS)


def _draw(
    logits: torch.Tensor, temperature: float, chances: Sequence[torch.Generator]
) -> tuple[list[int], list[float]]:
    """A token for each row of `logits` (rows, vocabulary), each by its own generator, and its log-probability."""
    import torch  # noqa: PLC0415

    greedy = temperature < _GREEDY
    logprobs = torch.log_softmax(logits.float() / (1.0 if greedy else temperature), dim=-1)
    if greedy:
        drawn = logprobs.argmax(dim=-1)
    else:  # by inversion: one uniform number a token, drawn on the CPU, so that a seed means the same on any device
        level = torch.stack([torch.rand(1, generator=chance, dtype=torch.float64) for chance in chances])
        mass = logprobs.double().exp().cumsum(dim=-1)
        drawn = torch.searchsorted(mass, level.to(mass.device) * mass[:, -1:]).squeeze(1).clamp(max=mass.shape[1] - 1)
    scores = logprobs.gather(1, drawn.unsqueeze(1)).squeeze(1)
    return drawn.tolist(), scores.tolist()
