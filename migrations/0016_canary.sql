-- The canary: a fixed work before and after a run's window. Readings of the same work on the same
-- device of the same machine, under the same lock of the clock, are each other's history.

CREATE TABLE canary_reading (
    run_id      INTEGER NOT NULL REFERENCES run (id),
    phase       TEXT    NOT NULL CHECK (phase IN ('before', 'after')),
    at          INTEGER NOT NULL,
    work        TEXT    NOT NULL CHECK (work <> ''),
    device      TEXT    NOT NULL CHECK (device <> ''),
    locked_mhz  INTEGER CHECK (locked_mhz > 0),              -- NULL: the clock was not locked
    -- Both NULL where it did not run; `failure` says why.
    compute_us  REAL    CHECK (compute_us > 0 AND compute_us < 1e300),
    copy_us     REAL    CHECK (copy_us > 0 AND copy_us < 1e300),
    failure     TEXT    CHECK (failure <> ''),
    PRIMARY KEY (run_id, phase),
    CHECK ((compute_us IS NULL) = (copy_us IS NULL)),
    CHECK ((compute_us IS NULL) = (failure IS NOT NULL))
) STRICT;

CREATE INDEX canary_reading_device ON canary_reading (device, work);

CREATE TRIGGER canary_reading_no_update BEFORE UPDATE ON canary_reading
BEGIN SELECT RAISE(ABORT, 'canary_reading is append-only'); END;

CREATE TRIGGER canary_reading_no_delete BEFORE DELETE ON canary_reading
BEGIN SELECT RAISE(ABORT, 'canary_reading is append-only'); END;
