CREATE TABLE season (
    season_id INTEGER PRIMARY KEY,
    label TEXT NOT NULL UNIQUE,
    start_date DATE NOT NULL,
    end_date DATE NOT NULL
);

CREATE TABLE stadium (
    stadium_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    city TEXT NOT NULL,
    capacity INTEGER NOT NULL,
    built_year INTEGER NOT NULL,
    has_roof BOOLEAN NOT NULL
);

CREATE TABLE team (
    team_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    city TEXT NOT NULL,
    founded_year INTEGER NOT NULL,
    stadium_id INTEGER NOT NULL UNIQUE REFERENCES stadium (stadium_id),
    annual_budget REAL NOT NULL
);

CREATE TABLE coach (
    coach_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    nationality TEXT NOT NULL,
    team_id INTEGER REFERENCES team (team_id),
    license_level TEXT NOT NULL
);

CREATE TABLE player (
    player_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    team_id INTEGER REFERENCES team (team_id),
    position TEXT NOT NULL CHECK (position IN ('GK', 'DF', 'MF', 'FW')),
    birth_date DATE NOT NULL,
    nationality TEXT NOT NULL,
    height_cm INTEGER NOT NULL,
    market_value INTEGER NOT NULL,
    shirt_number INTEGER
);

CREATE TABLE referee (
    referee_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    experience_years INTEGER NOT NULL
);

CREATE TABLE game (
    game_id INTEGER PRIMARY KEY,
    season_id INTEGER NOT NULL REFERENCES season (season_id),
    played_on DATE NOT NULL,
    home_team_id INTEGER NOT NULL REFERENCES team (team_id),
    away_team_id INTEGER NOT NULL REFERENCES team (team_id),
    referee_id INTEGER REFERENCES referee (referee_id),
    home_goals INTEGER NOT NULL,
    away_goals INTEGER NOT NULL,
    attendance INTEGER,
    CHECK (home_team_id <> away_team_id)
);

CREATE TABLE appearance (
    game_id INTEGER NOT NULL REFERENCES game (game_id),
    player_id INTEGER NOT NULL REFERENCES player (player_id),
    minutes_played INTEGER NOT NULL,
    goals INTEGER NOT NULL,
    assists INTEGER NOT NULL,
    distance_km REAL,
    yellow_cards INTEGER NOT NULL,
    PRIMARY KEY (game_id, player_id)
);

CREATE TABLE transfer (
    transfer_id INTEGER PRIMARY KEY,
    player_id INTEGER NOT NULL REFERENCES player (player_id),
    from_team_id INTEGER REFERENCES team (team_id),
    to_team_id INTEGER NOT NULL REFERENCES team (team_id),
    transfer_date DATE NOT NULL,
    fee INTEGER
);
