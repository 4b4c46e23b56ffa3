INSERT INTO artifact VALUES
    ('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 10, 9, 1, NULL, NULL),
    ('bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', 10, 9, 1, 2, 'removed by gc');
INSERT INTO campaign VALUES ('mmqr', 'q4_K MMQ', 1);
INSERT INTO git_commit (sha, tree, patch_id, parent, subject, message, author, committed_at,
                        pack_artifact) VALUES
    ('1111111111111111111111111111111111111111', '1111111111111111111111111111111111111112',
     NULL, NULL, 'start', 'start', 'A. Person', 1, NULL),
    ('2222222222222222222222222222222222222222', '2222222222222222222222222222222222222223',
     'abcd', '1111111111111111111111111111111111111111', 'lever', 'lever', 'A. Person', 2,
     'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa');
INSERT INTO machine VALUES (1, 'gb10', '{}');
INSERT INTO toolchain VALUES (1, 'cuda-13.0', '{}');
