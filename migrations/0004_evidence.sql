-- What a run observed: gates, claims, samples.

CREATE TABLE gate (
    run_id       INTEGER NOT NULL REFERENCES run (id),
    seq          INTEGER NOT NULL,
    kind         TEXT    NOT NULL CHECK (kind <> ''),
    name         TEXT    NOT NULL,
    side         TEXT    CHECK (side IN ('base', 'head')), -- NULL: a comparison of both
    -- Not run, no data and passed are three different things.
    outcome      TEXT    NOT NULL
                 CHECK (outcome IN ('passed', 'flaky', 'failed', 'no-data', 'not-run')),
    reason       TEXT,
    figures_json TEXT    NOT NULL CHECK (json_valid(figures_json)),
    failure_json TEXT    CHECK (json_valid(failure_json)),
    PRIMARY KEY (run_id, seq),
    CHECK (outcome = 'passed' OR reason IS NOT NULL)
) STRICT;

CREATE TABLE gate_log (
    run_id   INTEGER NOT NULL,
    gate_seq INTEGER NOT NULL,
    position INTEGER NOT NULL,
    artifact TEXT    NOT NULL REFERENCES artifact (sha256),
    PRIMARY KEY (run_id, gate_seq, position),
    FOREIGN KEY (run_id, gate_seq) REFERENCES gate (run_id, seq)
) STRICT;

CREATE TABLE claim (
    run_id   INTEGER NOT NULL REFERENCES run (id),
    seq      INTEGER NOT NULL,
    text     TEXT    NOT NULL CHECK (text <> ''),
    source   TEXT    NOT NULL CHECK (source <> ''),
    outcome  TEXT    NOT NULL CHECK (outcome IN ('holds', 'fails', 'not-evaluated')),
    expected TEXT    NOT NULL,
    observed TEXT    NOT NULL,
    reason   TEXT,
    PRIMARY KEY (run_id, seq),
    CHECK (outcome <> 'not-evaluated' OR reason IS NOT NULL)
) STRICT;

CREATE TABLE sample (
    run_id       INTEGER NOT NULL REFERENCES run (id),
    seq          INTEGER NOT NULL, -- the order in which samples were taken, from 0
    bench        TEXT    NOT NULL CHECK (bench <> ''),
    side         TEXT    NOT NULL CHECK (side IN ('base', 'head', 'reference')),
    role         TEXT    NOT NULL CHECK (role <> ''),
    pair         INTEGER NOT NULL CHECK (pair >= 0),
    slot         INTEGER NOT NULL CHECK (slot >= 0),
    attempt      INTEGER NOT NULL CHECK (attempt >= 1),
    started_at   INTEGER NOT NULL,
    wall_ms      REAL    NOT NULL CHECK (wall_ms >= 0 AND wall_ms < 1e300),
    -- In the bench's unit. A missing measurement is NULL with a failure, never zero.
    value        REAL    CHECK (value IS NULL OR (value > 0 AND value < 1e300)),
    inner_json   TEXT    NOT NULL
                 CHECK (json_valid(inner_json) AND json_type(inner_json) = 'array'),
    failure_json TEXT    CHECK (json_valid(failure_json)),
    log_artifact TEXT    REFERENCES artifact (sha256),
    PRIMARY KEY (run_id, seq),
    UNIQUE (run_id, bench, side, role, pair, attempt),
    CHECK ((value IS NULL) <> (failure_json IS NULL))
) STRICT;

CREATE INDEX sample_bench ON sample (bench, side, run_id);
CREATE INDEX sample_log ON sample (log_artifact);

-- A closed run takes no more samples: an interrupted window is never continued.
CREATE TRIGGER sample_after_close BEFORE INSERT ON sample
WHEN EXISTS (SELECT 1 FROM run_event
             WHERE run_id = NEW.run_id AND kind IN ('ended', 'interrupted'))
BEGIN
    SELECT RAISE(ABORT, 'this run is closed: a sample cannot be added to it');
END;
