INSERT INTO run VALUES
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
