"""A scripted migration of the shop, with what a person says becomes of each example; and what several of them share.

`repaired` holds the right SQL on the new schema, written by hand; what is not named is kept as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Migration:
    """`changes` are SQL of both engines, `broken` the class of the reason for each example that is."""

    name: str
    changes: Sequence[str]
    repaired: Mapping[str, str] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    broken_in_duckdb: Mapping[str, str] = field(default_factory=dict)  # besides: its types are strict
    questions: Mapping[str, str] = field(default_factory=dict)  # those that have another text now


CUSTOMER = ("in_paris", "per_city", "open", "aliased", "codes", "big_cities")
PRODUCT = ("dear", "tall", "wider", "unsold", "units", "shelf_of")


def all_broken(names: Sequence[str], reason: str) -> dict[str, str]:
    return dict.fromkeys(names, reason)


CLIENT = {
    "in_paris": "SELECT full_name FROM client WHERE city = 'Paris'",
    "per_city": "SELECT city, COUNT(*) FROM client GROUP BY city",
    "open": "SELECT c.full_name, COUNT(*) FROM client c JOIN purchase p ON c.customer_id = p.customer_id "
    "WHERE p.status = 'open' GROUP BY c.customer_id, c.full_name",
    "aliased": "SELECT full_name FROM client WHERE birth_year < 1970",
    "codes": "SELECT cust_cd FROM client WHERE birth_year > 1990",
    "big_cities": "SELECT city FROM client GROUP BY city HAVING COUNT(*) > 4",
}
OPEN = "SELECT c.full_name, COUNT(*) FROM customer c JOIN {p} p ON c.customer_id = p.customer_id " \
    "WHERE p.{status} = 'open' GROUP BY c.customer_id, c.full_name"  # fmt: skip

SHELF = "SELECT p.{}, s.shelf FROM {} p JOIN stock s ON p.{} = s.product_id WHERE s.amount > 20"
