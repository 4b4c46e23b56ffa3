-- The content store's index, and the facts that runs refer to: commits, machines, toolchains.
-- All times are milliseconds since 1970-01-01 UTC; all sizes are bytes.

PRAGMA application_id = 1380930894; -- 'ROUN': how a Roundhouse database is told from others

CREATE TABLE artifact (
    sha256       TEXT    NOT NULL PRIMARY KEY
                 CHECK (length(sha256) = 64 AND sha256 NOT GLOB '*[^0-9a-f]*'),
    bytes        INTEGER NOT NULL CHECK (bytes >= 0),
    stored_bytes INTEGER NOT NULL CHECK (stored_bytes >= 0),
    created_at   INTEGER NOT NULL,
    -- Set when the content was removed or found damaged; the row itself stays.
    lost_at      INTEGER,
    lost_reason  TEXT,
    CHECK ((lost_at IS NULL) = (lost_reason IS NULL))
) STRICT;

CREATE TABLE campaign (
    name       TEXT    NOT NULL PRIMARY KEY CHECK (name <> ''),
    title      TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE git_commit (
    sha           TEXT    NOT NULL PRIMARY KEY
                  CHECK (length(sha) IN (40, 64) AND sha NOT GLOB '*[^0-9a-f]*'),
    tree          TEXT    NOT NULL
                  CHECK (length(tree) IN (40, 64) AND tree NOT GLOB '*[^0-9a-f]*'),
    patch_id      TEXT    CHECK (patch_id NOT GLOB '*[^0-9a-f]*'),
    parent        TEXT,
    subject       TEXT    NOT NULL,
    message       TEXT    NOT NULL,
    author        TEXT    NOT NULL,
    committed_at  INTEGER NOT NULL,
    -- The commit itself with what it needs, as a git pack or bundle.
    pack_artifact TEXT    REFERENCES artifact (sha256)
) STRICT;

CREATE INDEX git_commit_tree ON git_commit (tree);
CREATE INDEX git_commit_patch_id ON git_commit (patch_id);

CREATE TABLE machine (
    id          INTEGER PRIMARY KEY,
    fingerprint TEXT    NOT NULL UNIQUE CHECK (fingerprint <> ''),
    json        TEXT    NOT NULL CHECK (json_valid(json))
) STRICT;

CREATE TABLE toolchain (
    id          INTEGER PRIMARY KEY,
    fingerprint TEXT    NOT NULL UNIQUE CHECK (fingerprint <> ''),
    json        TEXT    NOT NULL CHECK (json_valid(json))
) STRICT;
