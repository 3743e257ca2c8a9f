CREATE TABLE country (
    country_code VARCHAR PRIMARY KEY,
    name VARCHAR NOT NULL UNIQUE,
    continent VARCHAR NOT NULL
);

CREATE TABLE airport (
    iata_code VARCHAR PRIMARY KEY,
    name VARCHAR NOT NULL UNIQUE,
    city VARCHAR NOT NULL,
    country_code VARCHAR NOT NULL REFERENCES country (country_code),
    elevation_m INTEGER NOT NULL,
    annual_passengers BIGINT NOT NULL
);

CREATE TABLE aircraft_type (
    type_code VARCHAR PRIMARY KEY,
    manufacturer VARCHAR NOT NULL,
    model VARCHAR NOT NULL UNIQUE,
    seats INTEGER NOT NULL,
    range_km INTEGER NOT NULL,
    cruise_speed_kmh INTEGER NOT NULL
);

CREATE TABLE aircraft (
    tail_number VARCHAR PRIMARY KEY,
    type_code VARCHAR NOT NULL REFERENCES aircraft_type (type_code),
    delivered_on DATE NOT NULL,
    flight_hours INTEGER NOT NULL,
    leased BOOLEAN NOT NULL
);

CREATE TABLE route (
    route_id INTEGER PRIMARY KEY,
    origin VARCHAR NOT NULL REFERENCES airport (iata_code),
    destination VARCHAR NOT NULL REFERENCES airport (iata_code),
    distance_km INTEGER NOT NULL,
    base_fare DECIMAL(8, 2) NOT NULL,
    opened_on DATE NOT NULL,
    UNIQUE (origin, destination),
    CHECK (origin <> destination)
);

CREATE TABLE flight (
    flight_id INTEGER PRIMARY KEY,
    flight_number VARCHAR NOT NULL,
    route_id INTEGER NOT NULL REFERENCES route (route_id),
    tail_number VARCHAR REFERENCES aircraft (tail_number),
    scheduled_departure TIMESTAMP NOT NULL,
    departure_delay_min INTEGER,
    status VARCHAR NOT NULL,
    fuel_used_kg INTEGER
);

CREATE TABLE passenger (
    passenger_id INTEGER PRIMARY KEY,
    first_name VARCHAR NOT NULL,
    last_name VARCHAR NOT NULL,
    nationality VARCHAR NOT NULL REFERENCES country (country_code),
    birth_date DATE NOT NULL,
    frequent_flyer_tier VARCHAR,
    miles_balance INTEGER NOT NULL
);

CREATE TABLE booking (
    booking_id INTEGER PRIMARY KEY,
    locator VARCHAR NOT NULL UNIQUE,
    passenger_id INTEGER NOT NULL REFERENCES passenger (passenger_id),
    flight_id INTEGER NOT NULL REFERENCES flight (flight_id),
    booked_at TIMESTAMP NOT NULL,
    cabin_class VARCHAR NOT NULL,
    fare DECIMAL(9, 2) NOT NULL,
    checked_bags INTEGER NOT NULL,
    checked_in BOOLEAN NOT NULL
);
