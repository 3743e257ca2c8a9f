"""The likeliest turn that a restriction allows: beam search.

A greedy model that is kept from the name it wants writes on from a query that names the wrong table, where only
nonsense is allowed. With several beginnings under way (2109.05093 keeps four) that nonsense is what drops out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Any

from agro_train.naming.writing import Restriction
from agro_train.sampling.held import Held, Scored
from agro_train.sampling.rows import Rows
from agro_train.sampling.types import Sampled

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Beam:
    """A beginning of a turn. `score` is its log-probability, `row` where what it continues stands.

    `turned`: a token was taken that was not the likeliest.
    """

    restriction: Restriction
    row: int
    ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    score: float = 0.0
    turned: bool = False

    def then(self, token: int, logprob: float, likeliest: int, tokenizer: Any) -> Beam:
        restriction, ids = self.restriction.copy(), (*self.ids, token)
        restriction.go_on(tokenizer.decode(ids))
        turned = self.turned or token != likeliest
        return Beam(restriction, self.row, ids, (*self.logprobs, logprob), self.score + logprob, turned)


def search(
    rows: Rows,
    restrictions: Sequence[Restriction],
    held: Held,
    width: int,
    max_tokens: int,
    over: Callable[[Sequence[int]], bool],
) -> list[tuple[Sampled, bool]]:
    """The likeliest turn found for each row, with `width` beginnings of each under way; and whether it was `turned`.

    A turn that nothing allowed can follow is given as it stands, as cut.
    """
    import torch  # noqa: PLC0415

    live = [[Beam(restriction, row)] for row, restriction in enumerate(restrictions)]
    found: list[Beam | None] = [None] * len(live)
    last = [beams[0] for beams in live]  # the likeliest that was under way
    for written in range(max_tokens):
        logprobs = torch.log_softmax(rows.logits.float(), dim=-1)
        for place, beams in enumerate(live):
            if not beams:
                continue
            grown = _grown(beams, logprobs, held, width)
            for one in grown:
                best = found[place]
                if over(one.ids) and (best is None or one.score > best.score):
                    found[place] = one
            floor = float("-inf") if (best := found[place]) is None else best.score
            live[place] = [one for one in grown if not over(one.ids) and one.score > floor]  # it can only fall
            last[place] = max(grown, key=lambda one: one.score, default=last[place])
        going = [one for beams in live for one in beams]
        if not going or written + 1 == max_tokens:
            break
        rows.go_on([one.row for one in going], [one.ids[-1] for one in going])
        numbers = iter(range(len(going)))
        live = [[replace(one, row=next(numbers)) for one in beams] for beams in live]
    chosen = [(best or cut, best is None) for best, cut in zip(found, last, strict=True)]
    return [(Sampled(list(one.ids), list(one.logprobs), cut), one.turned) for one, cut in chosen]


def _grown(beams: Sequence[Beam], logprobs: torch.Tensor, held: Held, width: int) -> list[Beam]:
    """The likeliest continuations of all of `beams`, at most `width`, in the order of rows, which then seldom change
    places; none where nothing may follow."""
    ways = [_ways(beam, held.near(beam.restriction, logprobs[beam.row])) for beam in beams]
    chosen = list(islice(merge(*ways, key=lambda way: -way[0]), width))
    if not chosen:
        likeliest = max(beams, key=lambda beam: beam.score)
        chosen = list(islice(_ways(likeliest, held.allowed(likeliest.restriction, logprobs[likeliest.row])), 1))
        held.dead_ends += not chosen
    by_row = sorted(chosen, key=lambda way: way[1].row)
    return [
        beam.then(token, logprob, int(logprobs[beam.row].argmax()), held.tokenizer)
        for _, beam, token, logprob in by_row
    ]


def _ways(beam: Beam, scored: Iterator[Scored]) -> Iterator[tuple[float, Beam, int, float]]:
    return ((beam.score + logprob, beam, token, logprob) for token, logprob in scored)
