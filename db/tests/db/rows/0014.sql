INSERT INTO sample_facts VALUES (1, 0, '{"work":{"tokens":512}}');
INSERT INTO run (id, uuid, campaign, base_sha, head_sha, config_json, config_sha256,
                 registration_json, registration_sha256, registered_at, machine_id, toolchain_id,
                 seed, runner_version, runner_sha256, started_at, replay_of)
SELECT 1014, 'confirmation', campaign, base_sha, head_sha, config_json, config_sha256,
       registration_json, registration_sha256, registered_at, machine_id, toolchain_id,
       seed, runner_version, runner_sha256, started_at, NULL
FROM run WHERE id = 1;
INSERT INTO confirmation VALUES (1014, 1, 7, 'the measurements leave it open');
INSERT INTO run_event (run_id, seq, at, kind, detail_json)
VALUES (1014, 0, 8, 'ended', '{}');
