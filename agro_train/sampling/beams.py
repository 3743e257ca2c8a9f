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
from agro_train.sampling.repetition import repeats_itself
from agro_train.sampling.rows import Rows
from agro_train.sampling.token_mask import Held, Scored, likely
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

    A turn that nothing allowed can follow, or that repeats itself, is given as it stands, as cut.
    """
    import torch  # noqa: PLC0415

    live = [[Beam(restriction, row)] for row, restriction in enumerate(restrictions)]
    ended: list[list[Beam]] = [[] for _ in live]
    last = [beams[0] for beams in live]  # the likeliest that was under way
    for written in range(max_tokens):
        logprobs = torch.log_softmax(rows.logits.float(), dim=-1)
        near = likely(logprobs)
        for place, beams in enumerate(live):
            if not beams:
                continue
            grown = _grown(beams, logprobs, near, held, width)
            last[place] = max(grown, key=_score, default=last[place])
            live[place] = []
            for one in grown:
                (ended if over(one.ids) else live)[place].append(one)
            best = max(map(_score, ended[place]), default=float("-inf"))
            better = [one for one in live[place] if one.score > best]  # a score can only fall
            live[place] = [one for one in better if not repeats_itself(one.ids)]
        going = [one for beams in live for one in beams]
        if not going or written + 1 == max_tokens:
            break
        numbers = iter(rows.go_on([one.row for one in going], [one.ids[-1] for one in going]))
        live = [[replace(one, row=next(numbers)) for one in beams] for beams in live]
    chosen = [(max(found, key=_score, default=cut), not found) for found, cut in zip(ended, last, strict=True)]
    return [(Sampled(list(one.ids), list(one.logprobs), cut), one.turned) for one, cut in chosen]


def _grown(
    beams: Sequence[Beam], logprobs: torch.Tensor, near: Sequence[Sequence[Scored]], held: Held, width: int
) -> list[Beam]:
    """The likeliest continuations of all of `beams`, at most `width`; none where nothing may follow."""
    ways = [_ways(beam, near[beam.row], held) for beam in beams]
    chosen = list(islice(merge(*ways, key=lambda way: -way[0]), width))
    if not chosen:
        likeliest = max(beams, key=_score)
        found = held.unlikely(likeliest.restriction, logprobs[likeliest.row], held.begun(likeliest.ids))
        chosen = [] if found is None else [(likeliest.score + found[1], likeliest, *found)]
    return [beam.then(token, logprob, near[beam.row][0][0], held.tokenizer) for _, beam, token, logprob in chosen]


def _score(beam: Beam) -> float:
    return beam.score


def _ways(beam: Beam, near: Sequence[Scored], held: Held) -> Iterator[tuple[float, Beam, int, float]]:
    """What may follow a beginning, with the score it then has, from the likeliest on."""
    begun = held.begun(beam.ids)
    for token, logprob in near:
        if held.allows(beam.restriction, token, begun):
            yield beam.score + logprob, beam, token, logprob
