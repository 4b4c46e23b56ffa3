-- Runs that are no rounds: a calibration is base against base, an anchor and a bisection compare
-- commits that nobody proposes. What is learnt of the machine's noise, and how many inner runs a
-- sample has.

-- What a run is for. Only a `lever` is a round of its campaign and an attempt at its registration.
ALTER TABLE run ADD COLUMN purpose TEXT NOT NULL DEFAULT 'lever'
    CHECK (purpose IN ('lever', 'calibration', 'anchor', 'bisect'));

-- From the question to the answer, where a harness was asked: what the inner runs took, without
-- the start of the process. NULL: the value came from a command's output.
ALTER TABLE sample ADD COLUMN answer_ms REAL
    CHECK (answer_ms IS NULL OR (answer_ms >= 0 AND answer_ms < 1e300));

-- A bench's noise on a machine, from one calibration. The newest counts.
CREATE TABLE noise_profile (
    run_id     INTEGER NOT NULL REFERENCES run (id),
    bench      TEXT    NOT NULL CHECK (bench <> ''),
    machine_id INTEGER NOT NULL REFERENCES machine (id),
    campaign   TEXT    NOT NULL REFERENCES campaign (name),
    what       TEXT    NOT NULL CHECK (length(what) = 64), -- SHA-256 of what the bench runs
    at         INTEGER NOT NULL,
    json       TEXT    NOT NULL CHECK (json_valid(json)),
    PRIMARY KEY (run_id, bench)
) STRICT;

CREATE INDEX noise_profile_bench ON noise_profile (campaign, bench, machine_id, run_id);

-- Half a calibration says nothing that can be relied on.
CREATE TRIGGER noise_profile_of_whole_calibration BEFORE INSERT ON noise_profile
WHEN NOT EXISTS (SELECT 1 FROM run r JOIN run_state s ON s.run_id = r.id
                 WHERE r.id = NEW.run_id AND r.purpose = 'calibration' AND s.state = 'ended')
BEGIN
    SELECT RAISE(ABORT, 'a noise profile comes from a calibration that ended');
END;

CREATE TRIGGER noise_profile_no_update BEFORE UPDATE ON noise_profile
BEGIN SELECT RAISE(ABORT, 'noise_profile is append-only'); END;

CREATE TRIGGER noise_profile_no_delete BEFORE DELETE ON noise_profile
BEGIN SELECT RAISE(ABORT, 'noise_profile is append-only'); END;

-- How a bench's samples are taken, settled before the first one that counts.
CREATE TABLE bench_plan (
    run_id INTEGER NOT NULL REFERENCES run (id),
    bench  TEXT    NOT NULL CHECK (bench <> ''),
    inner  INTEGER NOT NULL CHECK (inner >= 1), -- timed runs of a sample
    json   TEXT    NOT NULL CHECK (json_valid(json)), -- the whole plan, with its reason
    PRIMARY KEY (run_id, bench)
) STRICT;

CREATE TRIGGER bench_plan_first BEFORE INSERT ON bench_plan
WHEN EXISTS (SELECT 1 FROM sample
             WHERE run_id = NEW.run_id AND bench = NEW.bench AND role = 'pair')
BEGIN
    SELECT RAISE(ABORT, 'a plan is stored before the first sample of a pair');
END;

CREATE TRIGGER bench_plan_no_update BEFORE UPDATE ON bench_plan
BEGIN SELECT RAISE(ABORT, 'bench_plan is append-only'); END;

CREATE TRIGGER bench_plan_no_delete BEFORE DELETE ON bench_plan
BEGIN SELECT RAISE(ABORT, 'bench_plan is append-only'); END;
