-- The way an old core system names things: short, abbreviated, with code columns.
CREATE TABLE agt (
    agt_id INTEGER PRIMARY KEY,
    agt_nm TEXT NOT NULL UNIQUE,
    ofc_city TEXT NOT NULL,
    lic_no TEXT NOT NULL UNIQUE,
    comm_pct REAL NOT NULL
);

CREATE TABLE prod (
    prod_cd TEXT PRIMARY KEY,
    prod_nm TEXT NOT NULL UNIQUE,
    lob_cd TEXT NOT NULL,
    base_prem_amt REAL NOT NULL
);

CREATE TABLE cust (
    cust_id INTEGER PRIMARY KEY,
    first_nm TEXT NOT NULL,
    last_nm TEXT NOT NULL,
    birth_dt DATE NOT NULL,
    state_cd TEXT NOT NULL,
    cr_score INTEGER,
    mar_stat_cd TEXT
);

CREATE TABLE pol (
    pol_no TEXT PRIMARY KEY,
    cust_id INTEGER NOT NULL REFERENCES cust (cust_id),
    agt_id INTEGER REFERENCES agt (agt_id),
    prod_cd TEXT NOT NULL REFERENCES prod (prod_cd),
    eff_dt DATE NOT NULL,
    exp_dt DATE NOT NULL,
    ann_prem_amt REAL NOT NULL,
    ded_amt INTEGER NOT NULL,
    stat_cd TEXT NOT NULL CHECK (stat_cd IN ('A', 'L', 'C', 'P')),
    CHECK (exp_dt > eff_dt)
);

CREATE TABLE adj (
    adj_id INTEGER PRIMARY KEY,
    adj_nm TEXT NOT NULL UNIQUE,
    sup_adj_id INTEGER REFERENCES adj (adj_id),
    hire_dt DATE NOT NULL
);

CREATE TABLE clm (
    clm_no TEXT PRIMARY KEY,
    pol_no TEXT NOT NULL REFERENCES pol (pol_no),
    adj_id INTEGER REFERENCES adj (adj_id),
    loss_dt DATE NOT NULL,
    rpt_dt DATE NOT NULL,
    cause_cd TEXT NOT NULL,
    est_loss_amt REAL NOT NULL,
    rsv_amt REAL NOT NULL,
    stat_cd TEXT NOT NULL,
    cls_dt DATE,
    CHECK (rpt_dt >= loss_dt)
);

CREATE TABLE clm_pmt (
    pmt_id INTEGER PRIMARY KEY,
    clm_no TEXT NOT NULL REFERENCES clm (clm_no),
    pmt_dt DATE NOT NULL,
    pmt_amt REAL NOT NULL,
    payee_typ_cd TEXT NOT NULL
);

CREATE TABLE clm_note (
    clm_no TEXT NOT NULL REFERENCES clm (clm_no),
    seq_no INTEGER NOT NULL,
    adj_id INTEGER NOT NULL REFERENCES adj (adj_id),
    note_txt TEXT NOT NULL,
    crt_dt DATE NOT NULL,
    PRIMARY KEY (clm_no, seq_no)
);
