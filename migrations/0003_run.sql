-- A run: one lever, measured once. Its state is what its events say.

CREATE TABLE run (
    id                  INTEGER PRIMARY KEY,
    uuid                TEXT    NOT NULL UNIQUE CHECK (uuid <> ''),
    campaign            TEXT    NOT NULL REFERENCES campaign (name),
    base_sha            TEXT    NOT NULL REFERENCES git_commit (sha),
    head_sha            TEXT    NOT NULL REFERENCES git_commit (sha),
    config_json         TEXT    NOT NULL CHECK (json_valid(config_json)),
    config_sha256       TEXT    NOT NULL CHECK (length(config_sha256) = 64),
    registration_json   TEXT    NOT NULL CHECK (json_valid(registration_json)),
    registration_sha256 TEXT    NOT NULL CHECK (length(registration_sha256) = 64),
    registered_at       INTEGER NOT NULL,
    machine_id          INTEGER NOT NULL REFERENCES machine (id),
    toolchain_id        INTEGER REFERENCES toolchain (id),
    -- An unsigned 64-bit number in decimal: it does not fit SQLite's signed integers.
    seed                TEXT    NOT NULL
                        CHECK (length(seed) BETWEEN 1 AND 20 AND seed NOT GLOB '*[^0-9]*'),
    runner_version      TEXT    NOT NULL,
    runner_sha256       TEXT    NOT NULL,
    started_at          INTEGER NOT NULL,
    replay_of           INTEGER REFERENCES run (id)
) STRICT;

CREATE INDEX run_campaign ON run (campaign, id);
CREATE INDEX run_head ON run (head_sha);
CREATE INDEX run_base ON run (base_sha);

CREATE TABLE run_event (
    run_id      INTEGER NOT NULL REFERENCES run (id),
    seq         INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    -- stage-started, stage-ended, fault, note …; `ended` and `interrupted` close the run.
    kind        TEXT    NOT NULL CHECK (kind <> ''),
    detail_json TEXT    NOT NULL CHECK (json_valid(detail_json)),
    PRIMARY KEY (run_id, seq)
) STRICT;

-- A run is closed once, whether it ended or was found interrupted.
CREATE UNIQUE INDEX run_event_closes ON run_event (run_id)
    WHERE kind IN ('ended', 'interrupted');

CREATE TABLE run_build (
    run_id   INTEGER NOT NULL REFERENCES run (id),
    side     TEXT    NOT NULL CHECK (side IN ('base', 'head')),
    build_id INTEGER NOT NULL REFERENCES build (id),
    cached   INTEGER NOT NULL CHECK (cached IN (0, 1)),
    PRIMARY KEY (run_id, side)
) STRICT;

CREATE INDEX run_build_build ON run_build (build_id);

CREATE TABLE run_artifact (
    run_id   INTEGER NOT NULL REFERENCES run (id),
    name     TEXT    NOT NULL CHECK (name <> ''),
    artifact TEXT    NOT NULL REFERENCES artifact (sha256),
    PRIMARY KEY (run_id, name)
) STRICT;

-- Whole JSON documents of a run: code delta, revert evidence, device.
CREATE TABLE run_document (
    run_id INTEGER NOT NULL REFERENCES run (id),
    name   TEXT    NOT NULL CHECK (name <> ''),
    json   TEXT    NOT NULL CHECK (json_valid(json)),
    PRIMARY KEY (run_id, name)
) STRICT;
