-- Confirmation runs, what samples reported about their work, and reference programs.

-- A run that is measured to settle a flaky verdict. It is declared with its run, before the run's
-- first sample, and its verdict replaces the other one whatever it says.
CREATE TABLE confirmation (
    run_id   INTEGER PRIMARY KEY REFERENCES run (id),
    confirms INTEGER NOT NULL REFERENCES run (id), -- the run whose verdict stood until now
    at       INTEGER NOT NULL,
    reason   TEXT    NOT NULL CHECK (reason <> ''), -- in what way that verdict is flaky
    CHECK (run_id > confirms)
) STRICT;

CREATE INDEX confirmation_confirms ON confirmation (confirms);

CREATE TRIGGER confirmation_first BEFORE INSERT ON confirmation
WHEN EXISTS (SELECT 1 FROM sample WHERE run_id = NEW.run_id)
  OR EXISTS (SELECT 1 FROM run WHERE id = NEW.run_id AND replay_of IS NOT NULL)
BEGIN
    SELECT RAISE(ABORT, 'a confirmation is declared before its first sample, and is no replay');
END;

CREATE TRIGGER confirmation_one_at_a_time BEFORE INSERT ON confirmation
WHEN EXISTS (SELECT 1 FROM confirmation c JOIN run_state s ON s.run_id = c.run_id
             WHERE c.confirms = NEW.confirms AND s.state = 'open')
BEGIN
    SELECT RAISE(ABORT, 'a confirmation of this run is in progress');
END;

CREATE TRIGGER confirmation_no_update BEFORE UPDATE ON confirmation
BEGIN SELECT RAISE(ABORT, 'confirmation is append-only'); END;

CREATE TRIGGER confirmation_no_delete BEFORE DELETE ON confirmation
BEGIN SELECT RAISE(ABORT, 'confirmation is append-only'); END;

-- What a launch reported besides its value: facts about the work, a hash of the output, and which
-- kernels ran.
CREATE TABLE sample_facts (
    run_id     INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    facts_json TEXT    NOT NULL
               CHECK (json_valid(facts_json) AND json_type(facts_json) = 'object'),
    PRIMARY KEY (run_id, seq),
    FOREIGN KEY (run_id, seq) REFERENCES sample (run_id, seq)
) STRICT;

CREATE TRIGGER sample_facts_no_update BEFORE UPDATE ON sample_facts
BEGIN SELECT RAISE(ABORT, 'sample_facts is append-only'); END;

CREATE TRIGGER sample_facts_no_delete BEFORE DELETE ON sample_facts
BEGIN SELECT RAISE(ABORT, 'sample_facts is append-only'); END;
