"""Candidates of one question against each other, every pair in both orders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from alignment.aligning import CITIES, FROM_41, NOT_30, OLD, OLDER, SANDBOX, example
from scripted_model import Scripted

from agro_data.alignment.tournament import MATCHES, Opinion, Pairing, Tournament, model_prefers, play
from agro_data.llm.client import Client

TIED = "SELECT nam FROM customer"


def knows(right: str) -> object:
    """A judge who knows which query is right."""

    def prefer(pairings: Sequence[Pairing]) -> list[Opinion]:
        return [
            Opinion("first" if one.first == right else "second" if one.second == right else "neither", "known")
            for one in pairings
        ]

    return prefer


def held(folder: Path, candidates: Sequence[str], prefer: object, most: int = 6) -> Tournament:
    [found] = play([(example(folder), candidates)], prefer, SANDBOX, most)  # type: ignore[arg-type]
    return found


def test_the_better_one_wins_and_every_match_is_logged(tmp_path: Path) -> None:
    found = held(tmp_path, [OLDER, OLDER, NOT_30, FROM_41, OLD, TIED, ""], knows(OLD))
    assert found.winner == OLD
    assert [group.members for group in found.entered.groups] == [(0, 1), (3, 4), (2,)]
    assert [place for place, _ in found.entered.dropped] == [5, 6]
    assert found.entered.dropped[0][1].startswith("unknown_column")
    assert found.points == (1.0, 4.0, 1.0)
    pairs = [(match.first, match.second) for match in found.matches]
    assert sorted(pairs) == sorted((b, a) for a, b in pairs)
    assert len(pairs) == 6
    rows = found.rows()
    assert list(rows[0]) == list(MATCHES)
    assert sum(row["better"] == "neither" for row in rows) == 2


def test_a_habit_decides_nothing(tmp_path: Path) -> None:
    found = held(
        tmp_path, [NOT_30, OLDER, OLDER], lambda pairings: [Opinion("first", "it stands first")] * len(pairings)
    )
    assert found.points == (1.0, 1.0)
    assert found.winner == OLDER  # the larger group


def test_who_has_no_opponent_wins_unasked(tmp_path: Path) -> None:
    found = held(tmp_path, [OLD, FROM_41], knows("nothing"))
    assert (found.winner, found.matches) == (OLD, ())
    assert held(tmp_path, ["", TIED], knows("nothing")).winner == ""


def test_at_most_so_many_play(tmp_path: Path) -> None:
    found = held(tmp_path, [OLD, OLDER, NOT_30, CITIES], knows(CITIES), most=2)
    assert len(found.matches) == 2


def test_a_model_judges_by_what_differs(tmp_path: Path) -> None:
    said = [
        '{"better": "second", "reason": "ages above 40"}',
        '{"better": "first", "reason": "same"}',
        "Both are nice.",
    ]
    backend = Scripted(lambda request: said[(len(backend.asked) - 1) % 3])
    found = held(tmp_path, [NOT_30, OLD, OLDER], model_prefers(Client(backend)))
    assert len(backend.asked) == 6
    told = backend.asked[0].messages[1].content
    assert "Hal" in told  # the two are the same in the shop: what they give in the instance is shown
    assert found.rows()[2]["reason"].startswith("no_json: ")
