INSERT INTO gate VALUES (1, 0, 'parity', 'KD=4', 'head', 'passed', NULL, '[]', NULL);
INSERT INTO gate_log VALUES
    (1, 0, 0, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa');
INSERT INTO claim (run_id, seq, text, source, outcome, expected, observed, reason)
VALUES (1, 0, 'smem mmq_wide unchanged', 'trailer', 'holds', '', '', NULL);
INSERT INTO sample
    (run_id, seq, bench, side, role, pair, slot, attempt, started_at, wall_ms, value, inner_json,
     failure_json, log_artifact)
VALUES
    (1, 0, 'prefill', 'base', 'pair', 0, 0, 1, 1, 1000.5, 1350.0, '[]', NULL, NULL),
    (1, 1, 'prefill', 'head', 'pair', 0, 1, 1, 2, 1000.5, NULL, '[]', '{"kind":"no-value"}', NULL);
