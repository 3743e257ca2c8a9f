CREATE TABLE hub (
    hub_code VARCHAR PRIMARY KEY,
    city VARCHAR NOT NULL UNIQUE,
    country VARCHAR NOT NULL,
    storage_m3 INTEGER NOT NULL,
    opened_on DATE NOT NULL
);

CREATE TABLE client (
    client_id INTEGER PRIMARY KEY,
    company VARCHAR NOT NULL UNIQUE,
    industry VARCHAR NOT NULL,
    credit_limit DECIMAL(12, 2) NOT NULL,
    account_manager VARCHAR,
    since_year INTEGER NOT NULL
);

CREATE TABLE vehicle (
    vehicle_id INTEGER PRIMARY KEY,
    plate VARCHAR NOT NULL UNIQUE,
    vehicle_type VARCHAR NOT NULL,
    payload_kg INTEGER NOT NULL,
    model_year INTEGER NOT NULL,
    home_hub VARCHAR NOT NULL REFERENCES hub (hub_code),
    mileage_km INTEGER NOT NULL
);

CREATE TABLE driver (
    driver_id INTEGER PRIMARY KEY,
    name VARCHAR NOT NULL UNIQUE,
    birth_date DATE NOT NULL,
    hired_on DATE NOT NULL,
    license_class VARCHAR NOT NULL,
    home_hub VARCHAR NOT NULL REFERENCES hub (hub_code),
    mentor_id INTEGER
);

CREATE TABLE trip (
    trip_id INTEGER PRIMARY KEY,
    vehicle_id INTEGER NOT NULL REFERENCES vehicle (vehicle_id),
    driver_id INTEGER NOT NULL REFERENCES driver (driver_id),
    from_hub VARCHAR NOT NULL REFERENCES hub (hub_code),
    to_hub VARCHAR NOT NULL REFERENCES hub (hub_code),
    departed_at TIMESTAMP NOT NULL,
    arrived_at TIMESTAMP,
    distance_km INTEGER NOT NULL,
    fuel_liters DECIMAL(8, 2),
    CHECK (from_hub <> to_hub)
);

CREATE TABLE shipment (
    shipment_id INTEGER PRIMARY KEY,
    reference VARCHAR NOT NULL UNIQUE,
    client_id INTEGER NOT NULL REFERENCES client (client_id),
    origin_hub VARCHAR NOT NULL REFERENCES hub (hub_code),
    destination_hub VARCHAR NOT NULL REFERENCES hub (hub_code),
    booked_on DATE NOT NULL,
    delivered_on DATE,
    weight_kg DECIMAL(10, 2) NOT NULL,
    declared_value DECIMAL(12, 2),
    priority VARCHAR NOT NULL,
    hazardous BOOLEAN NOT NULL,
    freight_charge DECIMAL(10, 2) NOT NULL
);

CREATE TABLE shipment_leg (
    shipment_id INTEGER NOT NULL REFERENCES shipment (shipment_id),
    leg_number INTEGER NOT NULL,
    trip_id INTEGER NOT NULL REFERENCES trip (trip_id),
    handling_minutes INTEGER NOT NULL,
    PRIMARY KEY (shipment_id, leg_number)
);

CREATE TABLE incident (
    incident_id INTEGER PRIMARY KEY,
    trip_id INTEGER NOT NULL REFERENCES trip (trip_id),
    reported_at TIMESTAMP NOT NULL,
    category VARCHAR NOT NULL,
    damage_cost DECIMAL(10, 2),
    resolved BOOLEAN NOT NULL
);
