CREATE TABLE artist (
    artist_id INTEGER PRIMARY KEY,
    stage_name TEXT NOT NULL UNIQUE,
    country TEXT NOT NULL,
    debut_year INTEGER NOT NULL,
    monthly_listeners INTEGER NOT NULL
);

CREATE TABLE genre (
    genre_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

CREATE TABLE album (
    album_id INTEGER PRIMARY KEY,
    title TEXT NOT NULL UNIQUE,
    artist_id INTEGER NOT NULL REFERENCES artist (artist_id),
    genre_id INTEGER NOT NULL REFERENCES genre (genre_id),
    release_date DATE NOT NULL,
    label TEXT,
    units_sold INTEGER NOT NULL
);

CREATE TABLE track (
    track_id INTEGER PRIMARY KEY,
    title TEXT NOT NULL UNIQUE,
    album_id INTEGER NOT NULL REFERENCES album (album_id),
    track_number INTEGER NOT NULL,
    duration_seconds INTEGER NOT NULL,
    explicit BOOLEAN NOT NULL,
    tempo_bpm INTEGER,
    play_count INTEGER NOT NULL,
    UNIQUE (album_id, track_number)
);

CREATE TABLE track_feature (
    track_id INTEGER NOT NULL REFERENCES track (track_id),
    artist_id INTEGER NOT NULL REFERENCES artist (artist_id),
    role TEXT NOT NULL,
    PRIMARY KEY (track_id, artist_id)
);

CREATE TABLE plan (
    plan_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    monthly_price REAL NOT NULL,
    max_devices INTEGER NOT NULL,
    has_ads BOOLEAN NOT NULL
);

CREATE TABLE listener (
    listener_id INTEGER PRIMARY KEY,
    user_name TEXT NOT NULL UNIQUE,
    email TEXT NOT NULL UNIQUE,
    country TEXT NOT NULL,
    birth_year INTEGER,
    signed_up_at TIMESTAMP NOT NULL
);

CREATE TABLE subscription (
    subscription_id INTEGER PRIMARY KEY,
    listener_id INTEGER NOT NULL REFERENCES listener (listener_id),
    plan_id INTEGER NOT NULL REFERENCES plan (plan_id),
    started_on DATE NOT NULL,
    cancelled_on DATE,
    cancel_reason TEXT,
    total_paid REAL NOT NULL
);

CREATE TABLE playlist (
    playlist_id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    owner_id INTEGER NOT NULL REFERENCES listener (listener_id),
    is_public BOOLEAN NOT NULL,
    follower_count INTEGER NOT NULL,
    created_at TIMESTAMP NOT NULL
);

CREATE TABLE playlist_track (
    playlist_id INTEGER NOT NULL REFERENCES playlist (playlist_id),
    position INTEGER NOT NULL,
    track_id INTEGER NOT NULL REFERENCES track (track_id),
    PRIMARY KEY (playlist_id, position)
);

CREATE TABLE stream (
    stream_id INTEGER PRIMARY KEY,
    listener_id INTEGER NOT NULL REFERENCES listener (listener_id),
    track_id INTEGER NOT NULL REFERENCES track (track_id),
    streamed_at TIMESTAMP NOT NULL,
    seconds_played INTEGER NOT NULL,
    device TEXT NOT NULL,
    skipped BOOLEAN NOT NULL
);

CREATE TABLE follow (
    listener_id INTEGER NOT NULL REFERENCES listener (listener_id),
    artist_id INTEGER NOT NULL REFERENCES artist (artist_id),
    followed_on DATE NOT NULL,
    PRIMARY KEY (listener_id, artist_id)
);
