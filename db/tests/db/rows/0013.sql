INSERT INTO run
    (id, uuid, campaign, base_sha, head_sha, config_json, config_sha256, registration_json,
     registration_sha256, registered_at, machine_id, toolchain_id, seed, runner_version,
     runner_sha256, started_at, replay_of, purpose)
VALUES
    (13, 'calibration', 'mmqr', '1111111111111111111111111111111111111111',
     '1111111111111111111111111111111111111111', '{}',
     'cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc', '{}',
     'dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd', 1, 1, 1,
     '7', '0.1.0', 'e', 1, NULL, 'calibration');
INSERT INTO bench_plan VALUES (13, 'prefill', 8, '{}');
INSERT INTO run_event VALUES (13, 0, 1, 'ended', '{}');
INSERT INTO noise_profile VALUES
    (13, 'prefill', 1, 'mmqr',
     'ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff', 2, '{}');
