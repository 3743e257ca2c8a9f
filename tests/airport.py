"""A small airport whose flights have two dates and two prices: a question about "the date" means either."""

from __future__ import annotations

from pathlib import Path
from random import Random

from making import run_sqlite


def make_airport(path: Path) -> Path:
    """Aircraft and their flights, a few hundred rows in which no two columns hold the same."""
    draw = Random(7)
    makers = ("Airbus", "Boeing", "Embraer", "Cessna", "Fokker")
    towns = ("Lisbon", "Oslo", "Vienna", "Dublin", "Athens", "Turin", "Malmo")
    run_sqlite(
        path,
        """
            CREATE TABLE aircraft (
                aircraft_id INTEGER PRIMARY KEY, model TEXT NOT NULL, maker TEXT, seats INTEGER, wingspan REAL);
            CREATE TABLE flight (
                flight_id INTEGER PRIMARY KEY, aircraft_id INTEGER NOT NULL REFERENCES aircraft (aircraft_id),
                destination TEXT, distance INTEGER, departure_date TEXT, arrival_date TEXT, adult_price REAL,
                child_price REAL);
            """,
        {
            "aircraft": [
                (n, f"{makers[n % 5][0]}{100 + 7 * n}", makers[n % 5], 20 + 11 * n, 15.5 + n * 1.25)
                for n in range(1, 25)
            ],
            "flight": [
                (
                    n,
                    draw.randrange(1, 23),
                    draw.choice(towns),
                    200 + 13 * n + draw.randrange(90),
                    f"20{draw.randrange(18, 24)}-{draw.randrange(1, 13):02d}-{draw.randrange(1, 29):02d}",
                    f"20{draw.randrange(18, 24)}-{draw.randrange(1, 13):02d}-{draw.randrange(1, 29):02d}",
                    80 + draw.randrange(4_000) / 4,
                    20 + draw.randrange(1_000) / 4,
                )
                for n in range(1, 241)
            ],
        },
    )
    return path
