-- Builds, what they made, and the kernels in it. Several attempts may share a key; the newest
-- one that succeeded counts.

CREATE TABLE build (
    id              INTEGER PRIMARY KEY,
    key             TEXT    NOT NULL CHECK (key <> ''),
    tree            TEXT    NOT NULL,
    commit_sha      TEXT    NOT NULL REFERENCES git_commit (sha),
    config_json     TEXT    NOT NULL CHECK (json_valid(config_json)),
    toolchain_id    INTEGER REFERENCES toolchain (id),
    machine_id      INTEGER NOT NULL REFERENCES machine (id),
    started_at      INTEGER NOT NULL,
    wall_ms         INTEGER NOT NULL CHECK (wall_ms >= 0),
    failure_json    TEXT    CHECK (json_valid(failure_json)),
    first_error     TEXT,
    log_artifact    TEXT    REFERENCES artifact (sha256),
    report_artifact TEXT    REFERENCES artifact (sha256)
) STRICT;

CREATE INDEX build_key ON build (key, id);

CREATE TABLE build_output (
    build_id   INTEGER NOT NULL REFERENCES build (id),
    path       TEXT    NOT NULL CHECK (path <> ''),
    artifact   TEXT    NOT NULL REFERENCES artifact (sha256),
    bytes      INTEGER NOT NULL CHECK (bytes >= 0),
    executable INTEGER NOT NULL CHECK (executable IN (0, 1)),
    PRIMARY KEY (build_id, path)
) STRICT;

CREATE INDEX build_output_artifact ON build_output (artifact);

CREATE TABLE kernel (
    build_id         INTEGER NOT NULL REFERENCES build (id),
    seq              INTEGER NOT NULL,
    name             TEXT    NOT NULL,
    symbol           TEXT    NOT NULL,
    arch             TEXT    NOT NULL,
    container        TEXT    NOT NULL,
    code_hash        TEXT    NOT NULL CHECK (code_hash <> ''),
    registers        INTEGER NOT NULL CHECK (registers >= 0),
    spill_stores     INTEGER NOT NULL CHECK (spill_stores >= 0),
    spill_loads      INTEGER NOT NULL CHECK (spill_loads >= 0),
    stack_bytes      INTEGER NOT NULL CHECK (stack_bytes >= 0),
    static_smem      INTEGER NOT NULL CHECK (static_smem >= 0),
    barriers         INTEGER NOT NULL CHECK (barriers >= 0),
    max_threads      INTEGER CHECK (max_threads > 0),
    required_threads TEXT    CHECK (json_valid(required_threads)), -- [x, y, z]
    param_bytes      INTEGER NOT NULL CHECK (param_bytes >= 0),
    code_bytes       INTEGER NOT NULL CHECK (code_bytes >= 0),
    census_json      TEXT    CHECK (json_valid(census_json)),      -- NULL: no disassembler
    PRIMARY KEY (build_id, seq)
) STRICT;

CREATE INDEX kernel_code_hash ON kernel (code_hash);
CREATE INDEX kernel_name ON kernel (name, arch);
