CREATE TABLE faculty (
    faculty_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    building TEXT NOT NULL,
    founded_year INTEGER NOT NULL
);

CREATE TABLE professor (
    professor_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    faculty_id INTEGER NOT NULL REFERENCES faculty (faculty_id),
    academic_rank TEXT NOT NULL,
    salary INTEGER NOT NULL,
    hired_on DATE NOT NULL,
    h_index INTEGER
);

CREATE TABLE program (
    program_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    degree TEXT NOT NULL,
    faculty_id INTEGER NOT NULL REFERENCES faculty (faculty_id),
    tuition_per_year REAL NOT NULL,
    required_credits INTEGER NOT NULL
);

CREATE TABLE student (
    student_id INTEGER PRIMARY KEY,
    matriculation_number TEXT NOT NULL UNIQUE,
    first_name TEXT NOT NULL,
    last_name TEXT NOT NULL,
    birth_date DATE NOT NULL,
    home_country TEXT NOT NULL,
    program_id INTEGER REFERENCES program (program_id),
    advisor_id INTEGER REFERENCES professor (professor_id),
    enrolled_on DATE NOT NULL,
    entrance_score REAL NOT NULL
);

CREATE TABLE course (
    course_code TEXT PRIMARY KEY,
    title TEXT NOT NULL UNIQUE,
    faculty_id INTEGER NOT NULL REFERENCES faculty (faculty_id),
    credits INTEGER NOT NULL,
    course_level TEXT NOT NULL
);

CREATE TABLE prerequisite (
    course_code TEXT NOT NULL REFERENCES course (course_code),
    required_code TEXT NOT NULL REFERENCES course (course_code),
    PRIMARY KEY (course_code, required_code),
    CHECK (course_code <> required_code)
);

CREATE TABLE semester (
    semester_id INTEGER PRIMARY KEY,
    label TEXT NOT NULL UNIQUE,
    starts_on DATE NOT NULL,
    ends_on DATE NOT NULL
);

CREATE TABLE section (
    section_id INTEGER PRIMARY KEY,
    course_code TEXT NOT NULL REFERENCES course (course_code),
    semester_id INTEGER NOT NULL REFERENCES semester (semester_id),
    professor_id INTEGER REFERENCES professor (professor_id),
    room TEXT,
    capacity INTEGER NOT NULL
);

CREATE TABLE enrollment (
    student_id INTEGER NOT NULL REFERENCES student (student_id),
    section_id INTEGER NOT NULL REFERENCES section (section_id),
    registered_on DATE NOT NULL,
    grade_points REAL,
    status TEXT NOT NULL,
    PRIMARY KEY (student_id, section_id)
);

CREATE TABLE scholarship (
    scholarship_id INTEGER PRIMARY KEY,
    student_id INTEGER NOT NULL REFERENCES student (student_id),
    sponsor TEXT NOT NULL,
    amount REAL NOT NULL,
    awarded_on DATE NOT NULL,
    renewable BOOLEAN NOT NULL
);

CREATE TABLE publication (
    publication_id INTEGER PRIMARY KEY,
    title TEXT NOT NULL UNIQUE,
    lead_author_id INTEGER NOT NULL REFERENCES professor (professor_id),
    venue TEXT NOT NULL,
    publication_year INTEGER NOT NULL,
    citations INTEGER NOT NULL
);
