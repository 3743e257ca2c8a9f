CREATE TABLE branch (
    branch_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    district TEXT NOT NULL,
    opened_year INTEGER NOT NULL,
    floor_area_m2 INTEGER NOT NULL
);

CREATE TABLE author (
    author_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    nationality TEXT NOT NULL,
    birth_year INTEGER,
    death_year INTEGER
);

CREATE TABLE publisher (
    publisher_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    city TEXT NOT NULL
);

CREATE TABLE book (
    book_id INTEGER PRIMARY KEY,
    isbn TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL UNIQUE,
    publisher_id INTEGER REFERENCES publisher (publisher_id),
    publication_year INTEGER NOT NULL,
    genre TEXT NOT NULL,
    language TEXT NOT NULL,
    page_count INTEGER,
    weight_grams REAL,
    replacement_cost REAL NOT NULL
);

CREATE TABLE book_author (
    book_id INTEGER NOT NULL REFERENCES book (book_id),
    author_id INTEGER NOT NULL REFERENCES author (author_id),
    contribution TEXT NOT NULL,
    PRIMARY KEY (book_id, author_id)
);

CREATE TABLE copy (
    copy_id INTEGER PRIMARY KEY,
    barcode TEXT NOT NULL UNIQUE,
    book_id INTEGER NOT NULL REFERENCES book (book_id),
    branch_id INTEGER NOT NULL REFERENCES branch (branch_id),
    acquired_on DATE NOT NULL,
    condition TEXT NOT NULL
);

CREATE TABLE member (
    member_id INTEGER PRIMARY KEY,
    full_name TEXT NOT NULL,
    email TEXT UNIQUE,
    birth_date DATE NOT NULL,
    membership_type TEXT NOT NULL,
    joined_on DATE NOT NULL,
    home_branch_id INTEGER NOT NULL REFERENCES branch (branch_id)
);

CREATE TABLE loan (
    loan_id INTEGER PRIMARY KEY,
    copy_id INTEGER NOT NULL REFERENCES copy (copy_id),
    member_id INTEGER NOT NULL REFERENCES member (member_id),
    loaned_on DATE NOT NULL,
    due_on DATE NOT NULL,
    returned_on DATE,
    renewals INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE fine (
    fine_id INTEGER PRIMARY KEY,
    loan_id INTEGER NOT NULL UNIQUE REFERENCES loan (loan_id),
    amount REAL NOT NULL,
    issued_on DATE NOT NULL,
    paid BOOLEAN NOT NULL
);

CREATE TABLE reservation (
    reservation_id INTEGER PRIMARY KEY,
    book_id INTEGER NOT NULL REFERENCES book (book_id),
    member_id INTEGER NOT NULL REFERENCES member (member_id),
    reserved_on DATE NOT NULL,
    status TEXT NOT NULL
);
