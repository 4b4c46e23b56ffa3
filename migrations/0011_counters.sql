-- What a profiler counted on each side: a profile is one command of the config, run once under
-- the profiler. Profiles may be taken again after the run ended; the newest taking counts.

CREATE TABLE counter_profile (
    run_id       INTEGER NOT NULL REFERENCES run (id),
    seq          INTEGER NOT NULL,
    taking       INTEGER NOT NULL CHECK (taking >= 1),
    at           INTEGER NOT NULL,
    entry        TEXT    NOT NULL CHECK (entry <> ''),
    side         TEXT    NOT NULL CHECK (side IN ('base', 'head')),
    profiler     TEXT,                                        -- NULL: there is none
    absent_json  TEXT    NOT NULL CHECK (json_valid(absent_json)), -- metrics without a value
    failure_json TEXT    CHECK (failure_json IS NULL OR json_valid(failure_json)),
    log_artifact TEXT    REFERENCES artifact (sha256),
    PRIMARY KEY (run_id, seq),
    UNIQUE (run_id, taking, entry, side)
) STRICT;

CREATE INDEX counter_profile_log ON counter_profile (log_artifact);

CREATE TABLE counter_launch (
    run_id      INTEGER NOT NULL,
    profile_seq INTEGER NOT NULL,
    launch      INTEGER NOT NULL CHECK (launch >= 0), -- in the profiler's order, from 0
    kernel      TEXT    NOT NULL CHECK (kernel <> ''),
    arch        TEXT,                                 -- NULL: the profiler did not say
    grid        TEXT    NOT NULL,
    block       TEXT    NOT NULL,
    PRIMARY KEY (run_id, profile_seq, launch),
    FOREIGN KEY (run_id, profile_seq) REFERENCES counter_profile (run_id, seq)
) STRICT;

CREATE INDEX counter_launch_kernel ON counter_launch (kernel);

CREATE TABLE counter_value (
    run_id      INTEGER NOT NULL,
    profile_seq INTEGER NOT NULL,
    launch      INTEGER NOT NULL,
    position    INTEGER NOT NULL CHECK (position >= 0), -- in the profiler's order, from 0
    metric      TEXT    NOT NULL CHECK (metric <> ''),
    unit        TEXT    NOT NULL,
    -- Zero is a value. A metric that has none has no row; the profile says why.
    value       REAL    NOT NULL CHECK (value >= 0 AND value < 1e300),
    PRIMARY KEY (run_id, profile_seq, launch, metric),
    FOREIGN KEY (run_id, profile_seq, launch)
        REFERENCES counter_launch (run_id, profile_seq, launch)
) STRICT;

-- A run's claims are evaluated again when counters are there. All of them get rows each time;
-- the newest evaluation counts.
ALTER TABLE claim ADD COLUMN evaluation INTEGER NOT NULL DEFAULT 1 CHECK (evaluation >= 1);

CREATE TRIGGER counter_profile_no_update BEFORE UPDATE ON counter_profile
BEGIN SELECT RAISE(ABORT, 'counter_profile is append-only'); END;

CREATE TRIGGER counter_profile_no_delete BEFORE DELETE ON counter_profile
BEGIN SELECT RAISE(ABORT, 'counter_profile is append-only'); END;

CREATE TRIGGER counter_launch_no_update BEFORE UPDATE ON counter_launch
BEGIN SELECT RAISE(ABORT, 'counter_launch is append-only'); END;

CREATE TRIGGER counter_launch_no_delete BEFORE DELETE ON counter_launch
BEGIN SELECT RAISE(ABORT, 'counter_launch is append-only'); END;

CREATE TRIGGER counter_value_no_update BEFORE UPDATE ON counter_value
BEGIN SELECT RAISE(ABORT, 'counter_value is append-only'); END;

CREATE TRIGGER counter_value_no_delete BEFORE DELETE ON counter_value
BEGIN SELECT RAISE(ABORT, 'counter_value is append-only'); END;

DROP VIEW artifact_use;

-- Every use of an artefact by a build, through a run, or by a commit.
CREATE VIEW artifact_use AS
SELECT log_artifact AS artifact, 'build log' AS what, id AS build_id, NULL AS run_id,
       NULL AS commit_sha
FROM build WHERE log_artifact IS NOT NULL
UNION ALL
SELECT report_artifact, 'inspection report', id, NULL, NULL
FROM build WHERE report_artifact IS NOT NULL
UNION ALL
SELECT artifact, 'built file ' || path, build_id, NULL, NULL FROM build_output
UNION ALL
SELECT artifact, 'disassembly of ' || container, build_id, NULL, NULL FROM build_listing
UNION ALL
SELECT artifact, 'gate log', NULL, run_id, NULL FROM gate_log
UNION ALL
SELECT log_artifact, 'counters log', NULL, run_id, NULL
FROM counter_profile WHERE log_artifact IS NOT NULL
UNION ALL
SELECT log_artifact, 'sample log', NULL, run_id, NULL
FROM sample WHERE log_artifact IS NOT NULL
UNION ALL
SELECT artifact, 'run file ' || name, NULL, run_id, NULL FROM run_artifact
UNION ALL
SELECT pack_artifact, 'commit', NULL, NULL, sha
FROM git_commit WHERE pack_artifact IS NOT NULL;
