-- SELECTs that are needed in more than one place.

-- The correction of each figure that counts: the newest.
CREATE VIEW correction_newest AS
SELECT c.id, c.at, c.run_id, c.field, c.old_value, c.new_value, c.reason, c.by, c.source_run_id
FROM correction c
WHERE c.id = (SELECT max(n.id) FROM correction n
              WHERE n.run_id = c.run_id AND n.field = c.field);

-- Each judged run's newest judgement. `verdict` is what tables show: the corrected one where
-- there is a correction; `judged_verdict` is what the judge said.
CREATE VIEW judgement_newest AS
SELECT j.id, j.run_id, j.at, coalesce(c.new_value, j.verdict) AS verdict,
       j.verdict AS judged_verdict, j.headline, j.json, j.judge_version, j.reason,
       (SELECT count(*) FROM correction k WHERE k.run_id = j.run_id) AS corrections
FROM judgement j
LEFT JOIN correction_newest c ON c.run_id = j.run_id AND c.field = 'verdict'
WHERE j.id = (SELECT max(n.id) FROM judgement n WHERE n.run_id = j.run_id);

CREATE VIEW decision_newest AS
SELECT d.id, d.run_id, d.at, d.action, d.reason, d.by
FROM decision d
WHERE d.id = (SELECT max(n.id) FROM decision n WHERE n.run_id = d.run_id);

-- Runs with their state: `open`, `ended` or `interrupted`, and when they were closed.
CREATE VIEW run_state AS
SELECT r.id AS run_id, coalesce(e.kind, 'open') AS state, e.at AS closed_at
FROM run r
LEFT JOIN run_event e ON e.run_id = r.id AND e.kind IN ('ended', 'interrupted');

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
SELECT artifact, 'gate log', NULL, run_id, NULL FROM gate_log
UNION ALL
SELECT log_artifact, 'sample log', NULL, run_id, NULL
FROM sample WHERE log_artifact IS NOT NULL
UNION ALL
SELECT artifact, 'run file ' || name, NULL, run_id, NULL FROM run_artifact
UNION ALL
SELECT pack_artifact, 'commit', NULL, NULL, sha
FROM git_commit WHERE pack_artifact IS NOT NULL;
