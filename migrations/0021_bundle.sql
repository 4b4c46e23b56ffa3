-- Runs that came in bundles from other databases, and what they refer to that is not here.

-- One row for each bundle that changed the record.
CREATE TABLE bundle_import (
    id            INTEGER PRIMARY KEY,
    run_id        INTEGER NOT NULL REFERENCES run (id),
    at            INTEGER NOT NULL,
    bundle_sha256 TEXT    NOT NULL
                  CHECK (length(bundle_sha256) = 64 AND bundle_sha256 NOT GLOB '*[^0-9a-f]*'),
    bundle_schema INTEGER NOT NULL CHECK (bundle_schema >= 1),
    writer        TEXT    NOT NULL CHECK (writer <> ''),
    -- The whole run, or what was added to a run that was here.
    brought       TEXT    NOT NULL CHECK (brought IN ('run', 'additions')),
    -- What judging it again from its evidence said, beside the judgement that came with it.
    judged        TEXT    NOT NULL
                  CHECK (judged IN ('same', 'details-differ', 'verdict-differs', 'never-judged'))
) STRICT;

CREATE INDEX bundle_import_run ON bundle_import (run_id, id);

-- Builds that were not made here: shown and replayed, never taken for a build of this machine.
CREATE TABLE bundle_build (
    build_id INTEGER PRIMARY KEY REFERENCES build (id),
    run_id   INTEGER NOT NULL REFERENCES run (id)
) STRICT;

-- References to runs that were not here at the import, by the run's identity across databases.
CREATE TABLE run_reference (
    of_table  TEXT    NOT NULL CHECK (of_table <> ''),
    of_column TEXT    NOT NULL CHECK (of_column <> ''),
    of_row    INTEGER NOT NULL, -- the rowid of the row that refers
    run_id    INTEGER NOT NULL REFERENCES run (id), -- the run to which that row belongs
    uuid      TEXT    NOT NULL CHECK (uuid <> ''),
    PRIMARY KEY (of_table, of_column, of_row)
) STRICT;

CREATE INDEX run_reference_uuid ON run_reference (uuid);

-- Rows that cannot be stored without a run that is not here. They have no effect, and are exported
-- with their run.
CREATE TABLE bundle_waiting (
    run_id   INTEGER NOT NULL REFERENCES run (id),
    of_table TEXT    NOT NULL CHECK (of_table <> ''),
    row_json TEXT    NOT NULL CHECK (json_valid(row_json)),
    PRIMARY KEY (run_id, of_table, row_json)
) STRICT;

CREATE TRIGGER bundle_import_no_update BEFORE UPDATE ON bundle_import
BEGIN SELECT RAISE(ABORT, 'bundle_import is append-only'); END;

CREATE TRIGGER bundle_import_no_delete BEFORE DELETE ON bundle_import
BEGIN SELECT RAISE(ABORT, 'bundle_import is append-only'); END;

CREATE TRIGGER bundle_build_no_update BEFORE UPDATE ON bundle_build
BEGIN SELECT RAISE(ABORT, 'bundle_build is append-only'); END;

CREATE TRIGGER bundle_build_no_delete BEFORE DELETE ON bundle_build
BEGIN SELECT RAISE(ABORT, 'bundle_build is append-only'); END;

CREATE TRIGGER run_reference_no_update BEFORE UPDATE ON run_reference
BEGIN SELECT RAISE(ABORT, 'run_reference is append-only'); END;

CREATE TRIGGER run_reference_no_delete BEFORE DELETE ON run_reference
BEGIN SELECT RAISE(ABORT, 'run_reference is append-only'); END;

CREATE TRIGGER bundle_waiting_no_update BEFORE UPDATE ON bundle_waiting
BEGIN SELECT RAISE(ABORT, 'bundle_waiting is append-only'); END;

CREATE TRIGGER bundle_waiting_no_delete BEFORE DELETE ON bundle_waiting
BEGIN SELECT RAISE(ABORT, 'bundle_waiting is append-only'); END;

-- A run's original may come after the run that repeats it: then, and only then, the missing
-- reference is filled in. Everything else of a run stays as it is; a statement that sets one of
-- the columns listed here is refused whatever it sets, and a test holds the list to the table.
DROP TRIGGER run_no_update;

CREATE TRIGGER run_no_update
BEFORE UPDATE OF id, uuid, campaign, base_sha, head_sha, config_json, config_sha256,
    registration_json, registration_sha256, registered_at, machine_id, toolchain_id, seed,
    runner_version, runner_sha256, started_at, purpose ON run
BEGIN SELECT RAISE(ABORT, 'run is append-only'); END;

CREATE TRIGGER run_no_other_original BEFORE UPDATE OF replay_of ON run
WHEN NOT (OLD.replay_of IS NULL
          AND EXISTS (SELECT 1 FROM run_reference f JOIN run o ON o.uuid = f.uuid
                      WHERE f.of_table = 'run' AND f.of_column = 'replay_of'
                        AND f.of_row = OLD.id AND o.id = NEW.replay_of))
BEGIN SELECT RAISE(ABORT, 'run is append-only: only the original that a bundle named may be filled in'); END;
