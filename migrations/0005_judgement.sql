-- What was concluded: judgements, people's decisions, corrections. The newest of each counts;
-- the earlier ones stay.

CREATE TABLE judgement (
    id            INTEGER PRIMARY KEY,
    run_id        INTEGER NOT NULL REFERENCES run (id),
    at            INTEGER NOT NULL,
    verdict       TEXT    NOT NULL CHECK (verdict <> ''),
    headline      TEXT    NOT NULL,
    json          TEXT    NOT NULL CHECK (json_valid(json)),
    judge_version TEXT    NOT NULL,
    -- Why the run was judged: `measured`, or what made a later judgement necessary.
    reason        TEXT    NOT NULL CHECK (reason <> '')
) STRICT;

CREATE INDEX judgement_run ON judgement (run_id, id);

CREATE TABLE decision (
    id     INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES run (id),
    at     INTEGER NOT NULL,
    action TEXT    NOT NULL CHECK (action IN ('land', 'revert')),
    reason TEXT    NOT NULL CHECK (trim(reason) <> ''),
    by     TEXT    NOT NULL CHECK (by <> '')
) STRICT;

CREATE INDEX decision_run ON decision (run_id, id);

CREATE TABLE correction (
    id        INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    run_id    INTEGER NOT NULL REFERENCES run (id),
    -- Which figure, for example `verdict` or `bench:prefill:estimate`.
    field     TEXT    NOT NULL CHECK (field <> ''),
    old_value TEXT    NOT NULL,
    new_value TEXT    NOT NULL,
    reason    TEXT    NOT NULL CHECK (trim(reason) <> ''),
    by        TEXT    NOT NULL CHECK (by <> ''),
    -- The later run that gave the new figure, if one did.
    source_run_id INTEGER REFERENCES run (id)
) STRICT;

CREATE INDEX correction_run ON correction (run_id, field, id);
