"""Turns drawn by chance, each by its own seed, or taken as likeliest; turns that are equal so far are computed once.

Turns of one prefix that have drawn the same tokens are a strand: one row, from whose distribution each draws by itself,
and which parts where they draw differently. So the turns are the same as one by one. The turns of a confident model
diverge late, so eight turns cost less than eight times one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING

from agro_train.naming.writing import Restriction
from agro_train.sampling.repetition import repeats_itself
from agro_train.sampling.rows import Rows
from agro_train.sampling.token_mask import Held, Scored
from agro_train.sampling.types import Sampled

if TYPE_CHECKING:
    import torch

GREEDY = 1e-6  # a temperature below it takes the likeliest token


@dataclass
class Turn:
    """A turn that is being written, and what decides it: its draws (without `chance` each token is the likeliest), and
    what holds it to something."""

    chance: torch.Generator | None = None
    restriction: Restriction | None = None
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    turned: set[int] = field(default_factory=set)
    cut: bool = True

    def sampled(self) -> Sampled:
        return Sampled(self.ids, self.logprobs, self.cut, turned=self.turned)


def draw(
    rows: Rows,
    strands: Sequence[Sequence[Turn]],
    held: Held,
    temperature: float,
    max_tokens: int,
    over: Callable[[Sequence[int]], bool],
) -> int:
    """Write turns to their ends, a strand of them at each row. Gives how many tokens were computed.

    A turn that its restriction lets nothing follow, or that repeats itself, stays as it is, cut. `temperature` also
    scales the log-probabilities of turns that take what is likeliest.
    """
    computed = 0
    for written in range(max_tokens):
        drawn = _tokens(rows.logits, temperature, [[turn.chance for turn in strand] for strand in strands])
        going: dict[tuple[int, int], list[Turn]] = defaultdict(list)  # by row, and the token that follows it
        for row, (strand, tokens) in enumerate(zip(strands, drawn, strict=True)):
            for turn, found in zip(strand, tokens, strict=True):
                kept = _hold(turn, found, rows.logits[row], temperature, held)
                if kept is not None:
                    turn.ids.append(kept[0])
                    turn.logprobs.append(kept[1])
                    going[row, kept[0]].append(turn)
        computed += len(going)
        for way in [way for way, strand in going.items() if over(strand[0].ids)]:
            for turn in going.pop(way):
                turn.cut = False
        going = {way: strand for way, strand in going.items() if not repeats_itself(strand[0].ids)}
        if not going or written + 1 == max_tokens:
            break
        seated = rows.go_on([row for row, _ in going], [token for _, token in going])  # who is done is not read on
        strands = [strand for _, strand in sorted(zip(seated, going.values(), strict=True), key=itemgetter(0))]
    return computed


def _hold(turn: Turn, drawn: Scored, logits: torch.Tensor, temperature: float, held: Held) -> Scored | None:
    """What was drawn, where the turn's restriction allows it; else another draw among what it allows, None where that
    is nothing. So a token is drawn as from the allowed alone, and the restriction is mostly asked about one.
    """
    import torch  # noqa: PLC0415

    restriction = turn.restriction
    if restriction is None:
        return drawn
    if restriction.active:
        begun = held.begun(turn.ids)
        if not held.allows(restriction, drawn[0], begun):
            logprobs = torch.log_softmax(logits.float() / temperature, dim=-1)
            found = held.draw(restriction, logprobs, turn.chance, begun)
            if found is None:
                return None
            turn.turned.add(len(turn.ids))
            drawn = found
    restriction.go_on(held.tokenizer.decode([*turn.ids, drawn[0]]))
    return drawn


def _tokens(
    logits: torch.Tensor, temperature: float, chances: Sequence[Sequence[torch.Generator | None]]
) -> list[list[Scored]]:
    """A token for each place of each row of `logits` (rows, vocabulary), with its log-probability: drawn by the chance
    that stands there, the likeliest where there is none."""
    import torch  # noqa: PLC0415

    logprobs = torch.log_softmax(logits.float() / temperature, dim=-1)
    drawn = torch.zeros(len(chances), max(map(len, chances)), dtype=torch.long, device=logprobs.device)
    if any(chance is not None for some in chances for chance in some):
        # by inversion: one uniform number a token, drawn on the CPU, so that a seed means the same on any device
        levels = torch.zeros(drawn.shape, dtype=torch.float64)
        for row, some in enumerate(chances):
            for place, chance in enumerate(some):
                if chance is not None:
                    levels[row, place] = torch.rand((), generator=chance, dtype=torch.float64)
        drawn = inverted(logprobs, levels.to(logprobs.device))
    if sure := [(row, place) for row, some in enumerate(chances) for place, one in enumerate(some) if one is None]:
        rows, places = zip(*sure, strict=True)
        drawn[rows, places] = logprobs.argmax(dim=-1)[list(rows)]
    scores = logprobs.gather(1, drawn).tolist()
    return [
        [*zip(some, scored, strict=True)][: len(here)]
        for some, scored, here in zip(drawn.tolist(), scores, chances, strict=True)
    ]


def inverted(logprobs: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
    """The tokens (rows, draws) at which the probability up to them passes `levels` (rows, draws), in [0, 1)."""
    import torch  # noqa: PLC0415

    mass = logprobs.double().exp().cumsum(dim=-1)
    return torch.searchsorted(mass, levels * mass[:, -1:]).clamp(max=mass.shape[1] - 1)
