-- The commit that a campaign is measured against across rounds, and the runs that did so.

CREATE TABLE anchor (
    id          INTEGER PRIMARY KEY,
    campaign    TEXT    NOT NULL REFERENCES campaign (name),
    at          INTEGER NOT NULL,
    commit_sha  TEXT    NOT NULL REFERENCES git_commit (sha),
    -- Its stored build is what is measured, always.
    build_id    INTEGER NOT NULL REFERENCES build (id),
    -- What is measured and how: the same for the whole series.
    config_json TEXT    NOT NULL CHECK (json_valid(config_json)),
    by          TEXT    NOT NULL CHECK (by <> ''),
    -- The anchor that this one replaces: a new series begins.
    replaces    INTEGER REFERENCES anchor (id)
) STRICT;

CREATE INDEX anchor_campaign ON anchor (campaign, id);
CREATE INDEX anchor_build ON anchor (build_id);

-- An anchor replaces the newest of its campaign, so that the series form one line. (A row put in
-- place of another is refused below, whatever it replaces.)
CREATE TRIGGER anchor_replaces_the_newest BEFORE INSERT ON anchor
WHEN NOT EXISTS (SELECT 1 FROM anchor WHERE id = NEW.id)
 AND NEW.replaces IS NOT (SELECT max(id) FROM anchor WHERE campaign = NEW.campaign)
BEGIN
    SELECT RAISE(ABORT, 'an anchor replaces the newest one of its campaign');
END;

CREATE TRIGGER anchor_no_update BEFORE UPDATE ON anchor
BEGIN SELECT RAISE(ABORT, 'anchor is append-only'); END;

CREATE TRIGGER anchor_no_delete BEFORE DELETE ON anchor
BEGIN SELECT RAISE(ABORT, 'anchor is append-only'); END;

CREATE TABLE anchor_run (
    run_id      INTEGER PRIMARY KEY REFERENCES run (id),
    anchor_id   INTEGER NOT NULL REFERENCES anchor (id),
    -- The commits that head has and the anchor has not, oldest first.
    passed_json TEXT    NOT NULL CHECK (json_valid(passed_json) AND json_type(passed_json) = 'array')
) STRICT;

CREATE INDEX anchor_run_anchor ON anchor_run (anchor_id, run_id);

CREATE TRIGGER anchor_run_is_against_it BEFORE INSERT ON anchor_run
WHEN NOT EXISTS (SELECT 1 FROM run r JOIN anchor a ON a.id = NEW.anchor_id
                 WHERE r.id = NEW.run_id AND r.purpose = 'anchor'
                   AND r.campaign = a.campaign AND r.base_sha = a.commit_sha)
BEGIN
    SELECT RAISE(ABORT, 'a run of a series is against its anchor, and for that purpose');
END;

CREATE TRIGGER anchor_run_no_update BEFORE UPDATE ON anchor_run
BEGIN SELECT RAISE(ABORT, 'anchor_run is append-only'); END;

CREATE TRIGGER anchor_run_no_delete BEFORE DELETE ON anchor_run
BEGIN SELECT RAISE(ABORT, 'anchor_run is append-only'); END;
