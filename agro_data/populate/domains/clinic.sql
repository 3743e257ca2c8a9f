CREATE TABLE specialty (
    specialty_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    base_fee REAL NOT NULL
);

CREATE TABLE doctor (
    doctor_id INTEGER PRIMARY KEY,
    first_name TEXT NOT NULL,
    last_name TEXT NOT NULL,
    specialty_id INTEGER NOT NULL REFERENCES specialty (specialty_id),
    hire_date DATE NOT NULL,
    hourly_rate REAL NOT NULL CHECK (hourly_rate > 0),
    email TEXT NOT NULL UNIQUE,
    supervisor_id INTEGER REFERENCES doctor (doctor_id)
);

CREATE TABLE patient (
    patient_id INTEGER PRIMARY KEY,
    first_name TEXT NOT NULL,
    last_name TEXT NOT NULL,
    gender TEXT NOT NULL CHECK (gender IN ('F', 'M', 'X')),
    birth_date DATE NOT NULL,
    city TEXT NOT NULL,
    phone TEXT,
    insurance_plan TEXT,
    registered_on DATE NOT NULL
);

CREATE TABLE room (
    room_id INTEGER PRIMARY KEY,
    room_number TEXT NOT NULL UNIQUE,
    floor INTEGER NOT NULL,
    room_type TEXT NOT NULL
);

CREATE TABLE appointment (
    appointment_id INTEGER PRIMARY KEY,
    patient_id INTEGER NOT NULL REFERENCES patient (patient_id),
    doctor_id INTEGER NOT NULL REFERENCES doctor (doctor_id),
    room_id INTEGER REFERENCES room (room_id),
    scheduled_at TIMESTAMP NOT NULL,
    duration_minutes INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('C', 'X', 'N', 'S')),
    reason TEXT
);

CREATE TABLE diagnosis (
    diagnosis_code TEXT PRIMARY KEY,
    title TEXT NOT NULL UNIQUE,
    chapter TEXT NOT NULL,
    is_chronic BOOLEAN NOT NULL
);

CREATE TABLE appointment_diagnosis (
    appointment_id INTEGER NOT NULL REFERENCES appointment (appointment_id),
    diagnosis_code TEXT NOT NULL REFERENCES diagnosis (diagnosis_code),
    severity TEXT NOT NULL,
    PRIMARY KEY (appointment_id, diagnosis_code)
);

CREATE TABLE medication (
    medication_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    form TEXT NOT NULL,
    manufacturer TEXT NOT NULL,
    price_per_pack REAL NOT NULL
);

CREATE TABLE prescription (
    prescription_id INTEGER PRIMARY KEY,
    appointment_id INTEGER NOT NULL REFERENCES appointment (appointment_id),
    medication_id INTEGER NOT NULL REFERENCES medication (medication_id),
    packs INTEGER NOT NULL CHECK (packs > 0),
    daily_dose_mg INTEGER NOT NULL,
    prescribed_on DATE NOT NULL
);

CREATE TABLE invoice (
    invoice_id INTEGER PRIMARY KEY,
    appointment_id INTEGER NOT NULL UNIQUE REFERENCES appointment (appointment_id),
    issued_on DATE NOT NULL,
    amount REAL NOT NULL,
    paid_on DATE,
    payment_method TEXT
);
