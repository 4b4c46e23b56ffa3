INSERT INTO anchor VALUES
    (1, 'mmqr', 3, '1111111111111111111111111111111111111111', 1, '{}', 'A Person', NULL);
INSERT INTO run
    (id, uuid, campaign, base_sha, head_sha, config_json, config_sha256, registration_json,
     registration_sha256, registered_at, machine_id, toolchain_id, seed, runner_version,
     runner_sha256, started_at, replay_of, purpose)
VALUES
    (15, 'anchor', 'mmqr', '1111111111111111111111111111111111111111',
     '2222222222222222222222222222222222222222', '{}',
     'cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc', '{}',
     'dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd', 1, 1, 1,
     '7', '0.1.0', 'e', 1, NULL, 'anchor');
INSERT INTO anchor_run VALUES (15, 1, '[]');
