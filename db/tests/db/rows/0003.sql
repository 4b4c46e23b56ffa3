INSERT INTO run
    (id, uuid, campaign, base_sha, head_sha, config_json, config_sha256, registration_json,
     registration_sha256, registered_at, machine_id, toolchain_id, seed, runner_version,
     runner_sha256, started_at, replay_of)
VALUES
    (1, 'uuid', 'mmqr', '1111111111111111111111111111111111111111',
     '2222222222222222222222222222222222222222', '{}',
     'cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc', '{}',
     'dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd', 1, 1, 1,
     '18446744073709551615', '0.1.0', 'e', 1, NULL);
INSERT INTO run_event VALUES (1, 0, 1, 'stage-started', '{}');
INSERT INTO run_build VALUES (1, 'base', 1, 0);
INSERT INTO run_artifact VALUES
    (1, 'sass', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa');
INSERT INTO run_document VALUES (1, 'code', '{}');
