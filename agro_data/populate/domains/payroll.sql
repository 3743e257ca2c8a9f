CREATE TABLE Location (
    LocationId INTEGER PRIMARY KEY,
    City TEXT NOT NULL UNIQUE,
    Country TEXT NOT NULL
);

CREATE TABLE JobTitle (
    JobTitleId INTEGER PRIMARY KEY,
    Title TEXT NOT NULL UNIQUE,
    PayGrade TEXT NOT NULL,
    MinSalary INTEGER NOT NULL,
    MaxSalary INTEGER NOT NULL,
    CHECK (MaxSalary > MinSalary)
);

CREATE TABLE Department (
    DepartmentId INTEGER PRIMARY KEY,
    Name TEXT NOT NULL UNIQUE,
    LocationId INTEGER NOT NULL REFERENCES Location (LocationId),
    AnnualBudget INTEGER NOT NULL,
    HeadId INTEGER REFERENCES Employee (EmployeeId)
);

CREATE TABLE Employee (
    EmployeeId INTEGER PRIMARY KEY,
    FirstName TEXT NOT NULL,
    LastName TEXT NOT NULL,
    Email TEXT NOT NULL UNIQUE,
    BirthDate DATE NOT NULL,
    HireDate DATE NOT NULL,
    TerminationDate DATE,
    DepartmentId INTEGER NOT NULL REFERENCES Department (DepartmentId),
    JobTitleId INTEGER NOT NULL REFERENCES JobTitle (JobTitleId),
    ManagerId INTEGER REFERENCES Employee (EmployeeId),
    AnnualSalary INTEGER NOT NULL,
    EmploymentType TEXT NOT NULL CHECK (EmploymentType IN ('F', 'P', 'T'))
);

CREATE TABLE Payslip (
    PayslipId INTEGER PRIMARY KEY,
    EmployeeId INTEGER NOT NULL REFERENCES Employee (EmployeeId),
    PayDate DATE NOT NULL,
    GrossPay REAL NOT NULL,
    IncomeTax REAL NOT NULL,
    PensionContribution REAL NOT NULL,
    NetPay REAL NOT NULL,
    UNIQUE (EmployeeId, PayDate)
);

CREATE TABLE Bonus (
    BonusId INTEGER PRIMARY KEY,
    EmployeeId INTEGER NOT NULL REFERENCES Employee (EmployeeId),
    AwardedOn DATE NOT NULL,
    Reason TEXT NOT NULL,
    Amount REAL NOT NULL
);

CREATE TABLE LeaveRequest (
    LeaveRequestId INTEGER PRIMARY KEY,
    EmployeeId INTEGER NOT NULL REFERENCES Employee (EmployeeId),
    LeaveType TEXT NOT NULL,
    StartDate DATE NOT NULL,
    EndDate DATE NOT NULL,
    Approved BOOLEAN,
    ApproverId INTEGER REFERENCES Employee (EmployeeId),
    CHECK (EndDate >= StartDate)
);

CREATE TABLE Training (
    TrainingId INTEGER PRIMARY KEY,
    CourseName TEXT NOT NULL UNIQUE,
    Provider TEXT NOT NULL,
    DurationHours INTEGER NOT NULL,
    CostPerSeat REAL NOT NULL
);

CREATE TABLE EmployeeTraining (
    EmployeeId INTEGER NOT NULL REFERENCES Employee (EmployeeId),
    TrainingId INTEGER NOT NULL REFERENCES Training (TrainingId),
    CompletedOn DATE NOT NULL,
    Score INTEGER,
    PRIMARY KEY (EmployeeId, TrainingId)
);
