-- What the disassembler printed for each cubin of a build, so that two builds' machine code can be
-- read side by side when the binaries are gone.

CREATE TABLE build_listing (
    build_id  INTEGER NOT NULL REFERENCES build (id),
    container TEXT    NOT NULL CHECK (container <> ''), -- as in kernel.container
    artifact  TEXT    NOT NULL REFERENCES artifact (sha256),
    PRIMARY KEY (build_id, container)
) STRICT;

CREATE INDEX build_listing_artifact ON build_listing (artifact);

CREATE TRIGGER build_listing_no_update BEFORE UPDATE ON build_listing
BEGIN SELECT RAISE(ABORT, 'build_listing is append-only'); END;

CREATE TRIGGER build_listing_no_delete BEFORE DELETE ON build_listing
BEGIN SELECT RAISE(ABORT, 'build_listing is append-only'); END;

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
SELECT log_artifact, 'sample log', NULL, run_id, NULL
FROM sample WHERE log_artifact IS NOT NULL
UNION ALL
SELECT artifact, 'run file ' || name, NULL, run_id, NULL FROM run_artifact
UNION ALL
SELECT pack_artifact, 'commit', NULL, NULL, sha
FROM git_commit WHERE pack_artifact IS NOT NULL;
