-- The record is append-only: what was observed, concluded or decided is never changed or removed.
-- A correction is a new row. (`INSERT OR REPLACE` is caught too where `recursive_triggers` is on,
-- as it is on every connection that the `db` crate opens.)

CREATE TRIGGER machine_no_update BEFORE UPDATE ON machine
BEGIN SELECT RAISE(ABORT, 'machine is append-only'); END;

CREATE TRIGGER machine_no_delete BEFORE DELETE ON machine
BEGIN SELECT RAISE(ABORT, 'machine is append-only'); END;

CREATE TRIGGER toolchain_no_update BEFORE UPDATE ON toolchain
BEGIN SELECT RAISE(ABORT, 'toolchain is append-only'); END;

CREATE TRIGGER toolchain_no_delete BEFORE DELETE ON toolchain
BEGIN SELECT RAISE(ABORT, 'toolchain is append-only'); END;

CREATE TRIGGER build_no_update BEFORE UPDATE ON build
BEGIN SELECT RAISE(ABORT, 'build is append-only'); END;

CREATE TRIGGER build_no_delete BEFORE DELETE ON build
BEGIN SELECT RAISE(ABORT, 'build is append-only'); END;

CREATE TRIGGER build_output_no_update BEFORE UPDATE ON build_output
BEGIN SELECT RAISE(ABORT, 'build_output is append-only'); END;

CREATE TRIGGER build_output_no_delete BEFORE DELETE ON build_output
BEGIN SELECT RAISE(ABORT, 'build_output is append-only'); END;

CREATE TRIGGER kernel_no_update BEFORE UPDATE ON kernel
BEGIN SELECT RAISE(ABORT, 'kernel is append-only'); END;

CREATE TRIGGER kernel_no_delete BEFORE DELETE ON kernel
BEGIN SELECT RAISE(ABORT, 'kernel is append-only'); END;

CREATE TRIGGER run_no_update BEFORE UPDATE ON run
BEGIN SELECT RAISE(ABORT, 'run is append-only'); END;

CREATE TRIGGER run_no_delete BEFORE DELETE ON run
BEGIN SELECT RAISE(ABORT, 'run is append-only'); END;

CREATE TRIGGER run_event_no_update BEFORE UPDATE ON run_event
BEGIN SELECT RAISE(ABORT, 'run_event is append-only'); END;

CREATE TRIGGER run_event_no_delete BEFORE DELETE ON run_event
BEGIN SELECT RAISE(ABORT, 'run_event is append-only'); END;

CREATE TRIGGER run_build_no_update BEFORE UPDATE ON run_build
BEGIN SELECT RAISE(ABORT, 'run_build is append-only'); END;

CREATE TRIGGER run_build_no_delete BEFORE DELETE ON run_build
BEGIN SELECT RAISE(ABORT, 'run_build is append-only'); END;

CREATE TRIGGER run_artifact_no_update BEFORE UPDATE ON run_artifact
BEGIN SELECT RAISE(ABORT, 'run_artifact is append-only'); END;

CREATE TRIGGER run_artifact_no_delete BEFORE DELETE ON run_artifact
BEGIN SELECT RAISE(ABORT, 'run_artifact is append-only'); END;

CREATE TRIGGER run_document_no_update BEFORE UPDATE ON run_document
BEGIN SELECT RAISE(ABORT, 'run_document is append-only'); END;

CREATE TRIGGER run_document_no_delete BEFORE DELETE ON run_document
BEGIN SELECT RAISE(ABORT, 'run_document is append-only'); END;

CREATE TRIGGER gate_no_update BEFORE UPDATE ON gate
BEGIN SELECT RAISE(ABORT, 'gate is append-only'); END;

CREATE TRIGGER gate_no_delete BEFORE DELETE ON gate
BEGIN SELECT RAISE(ABORT, 'gate is append-only'); END;

CREATE TRIGGER gate_log_no_update BEFORE UPDATE ON gate_log
BEGIN SELECT RAISE(ABORT, 'gate_log is append-only'); END;

CREATE TRIGGER gate_log_no_delete BEFORE DELETE ON gate_log
BEGIN SELECT RAISE(ABORT, 'gate_log is append-only'); END;

CREATE TRIGGER claim_no_update BEFORE UPDATE ON claim
BEGIN SELECT RAISE(ABORT, 'claim is append-only'); END;

CREATE TRIGGER claim_no_delete BEFORE DELETE ON claim
BEGIN SELECT RAISE(ABORT, 'claim is append-only'); END;

CREATE TRIGGER sample_no_update BEFORE UPDATE ON sample
BEGIN SELECT RAISE(ABORT, 'sample is append-only'); END;

CREATE TRIGGER sample_no_delete BEFORE DELETE ON sample
BEGIN SELECT RAISE(ABORT, 'sample is append-only'); END;

CREATE TRIGGER judgement_no_update BEFORE UPDATE ON judgement
BEGIN SELECT RAISE(ABORT, 'judgement is append-only'); END;

CREATE TRIGGER judgement_no_delete BEFORE DELETE ON judgement
BEGIN SELECT RAISE(ABORT, 'judgement is append-only'); END;

CREATE TRIGGER decision_no_update BEFORE UPDATE ON decision
BEGIN SELECT RAISE(ABORT, 'decision is append-only'); END;

CREATE TRIGGER decision_no_delete BEFORE DELETE ON decision
BEGIN SELECT RAISE(ABORT, 'decision is append-only'); END;

CREATE TRIGGER correction_no_update BEFORE UPDATE ON correction
BEGIN SELECT RAISE(ABORT, 'correction is append-only'); END;

CREATE TRIGGER correction_no_delete BEFORE DELETE ON correction
BEGIN SELECT RAISE(ABORT, 'correction is append-only'); END;


-- Commits and artefacts have one column each that may be filled in later.

CREATE TRIGGER git_commit_no_delete BEFORE DELETE ON git_commit
BEGIN SELECT RAISE(ABORT, 'git_commit is append-only'); END;

CREATE TRIGGER git_commit_no_update BEFORE UPDATE ON git_commit
WHEN NOT (OLD.pack_artifact IS NULL
          AND NEW.sha IS OLD.sha AND NEW.tree IS OLD.tree AND NEW.patch_id IS OLD.patch_id
          AND NEW.parent IS OLD.parent AND NEW.subject IS OLD.subject
          AND NEW.message IS OLD.message AND NEW.author IS OLD.author
          AND NEW.committed_at IS OLD.committed_at)
BEGIN SELECT RAISE(ABORT, 'git_commit is append-only: only a missing pack may be filled in'); END;

CREATE TRIGGER artifact_no_delete BEFORE DELETE ON artifact
BEGIN SELECT RAISE(ABORT, 'artifact is append-only'); END;

CREATE TRIGGER artifact_no_update BEFORE UPDATE ON artifact
WHEN NOT (NEW.sha256 IS OLD.sha256 AND NEW.bytes IS OLD.bytes
          AND NEW.created_at IS OLD.created_at)
BEGIN SELECT RAISE(ABORT, 'artifact is append-only: only its loss or return may be noted'); END;
