CREATE TABLE region (
    region_id INTEGER PRIMARY KEY,
    name VARCHAR NOT NULL UNIQUE,
    grid_operator VARCHAR NOT NULL,
    population INTEGER NOT NULL
);

CREATE TABLE tariff (
    tariff_code VARCHAR PRIMARY KEY,
    name VARCHAR NOT NULL UNIQUE,
    price_per_kwh DECIMAL(6, 4) NOT NULL,
    monthly_fee DECIMAL(6, 2) NOT NULL,
    green BOOLEAN NOT NULL,
    valid_from DATE NOT NULL,
    valid_to DATE
);

CREATE TABLE customer (
    customer_id INTEGER PRIMARY KEY,
    name VARCHAR NOT NULL UNIQUE,
    customer_type VARCHAR NOT NULL,
    region_id INTEGER NOT NULL REFERENCES region (region_id),
    street VARCHAR NOT NULL,
    customer_since DATE NOT NULL
);

CREATE TABLE meter (
    meter_id INTEGER PRIMARY KEY,
    serial_number VARCHAR NOT NULL UNIQUE,
    customer_id INTEGER NOT NULL REFERENCES customer (customer_id),
    meter_type VARCHAR NOT NULL,
    installed_on DATE NOT NULL,
    firmware VARCHAR,
    last_inspection DATE
);

CREATE TABLE contract (
    contract_id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customer (customer_id),
    tariff_code VARCHAR NOT NULL REFERENCES tariff (tariff_code),
    start_date DATE NOT NULL,
    end_date DATE,
    expected_annual_kwh INTEGER NOT NULL,
    sales_channel VARCHAR NOT NULL
);

CREATE TABLE reading (
    meter_id INTEGER NOT NULL REFERENCES meter (meter_id),
    read_on DATE NOT NULL,
    consumption_kwh DECIMAL(10, 2) NOT NULL,
    peak_load_kw DECIMAL(8, 3) NOT NULL,
    source VARCHAR NOT NULL,
    PRIMARY KEY (meter_id, read_on)
);

CREATE TABLE invoice (
    invoice_id INTEGER PRIMARY KEY,
    contract_id INTEGER NOT NULL REFERENCES contract (contract_id),
    issued_on DATE NOT NULL,
    billed_kwh DECIMAL(10, 2) NOT NULL,
    amount_due DECIMAL(10, 2) NOT NULL,
    paid_on DATE
);

CREATE TABLE outage (
    outage_id INTEGER PRIMARY KEY,
    region_id INTEGER NOT NULL REFERENCES region (region_id),
    started_at TIMESTAMP NOT NULL,
    ended_at TIMESTAMP,
    cause VARCHAR NOT NULL,
    affected_households INTEGER NOT NULL
);
