INSERT INTO build VALUES
    (1, 'key', '1111111111111111111111111111111111111112',
     '1111111111111111111111111111111111111111', '{}', 1, 1, 1, 1000, NULL, NULL,
     'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', NULL);
INSERT INTO build_output VALUES
    (1, 'engine', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', 10, 1);
INSERT INTO kernel VALUES
    (1, 0, 'mmq_wide', '_Z8mmq_wide', 'sm_121', 'engine#0', 'hash', 141, 0, 0, 0, 0, 1, 256,
     NULL, 64, 4096, '{"total":1,"opcodes":{"LDSM":1}}');
