-- What was seen of the machine before, during and after a sample. A sample that nobody watched,
-- and every one from before this table, has no row.

CREATE TABLE sample_state (
    run_id     INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    state_json TEXT    NOT NULL
               CHECK (json_valid(state_json) AND json_type(state_json) = 'object'),
    PRIMARY KEY (run_id, seq),
    FOREIGN KEY (run_id, seq) REFERENCES sample (run_id, seq)
) STRICT;

CREATE TRIGGER sample_state_no_update BEFORE UPDATE ON sample_state
BEGIN SELECT RAISE(ABORT, 'sample_state is append-only'); END;

CREATE TRIGGER sample_state_no_delete BEFORE DELETE ON sample_state
BEGIN SELECT RAISE(ABORT, 'sample_state is append-only'); END;

-- Nothing is learnt about a sample afterwards.
CREATE TRIGGER sample_state_after_close BEFORE INSERT ON sample_state
WHEN EXISTS (SELECT 1 FROM run_event
             WHERE run_id = NEW.run_id AND kind IN ('ended', 'interrupted'))
BEGIN
    SELECT RAISE(ABORT, 'this run is closed: a sample''s state cannot be added to it');
END;
