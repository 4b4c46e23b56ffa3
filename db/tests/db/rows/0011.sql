INSERT INTO counter_profile VALUES
    (1, 0, 1, 5, 'q_proj', 'base', 'Nsight Compute 2025.3.1', '[]', NULL,
     'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'),
    (1, 1, 1, 6, 'q_proj', 'head', NULL, '[]', '{"kind":"missing","detail":"not on PATH"}', NULL);
INSERT INTO counter_launch VALUES (1, 0, 0, 'mmq_wide', 'sm_90', '(28, 21, 1)', '(256, 1, 1)');
INSERT INTO counter_value VALUES (1, 0, 0, 0, 'smsp__inst_executed.sum', 'inst', 189928256);
INSERT INTO claim VALUES
    (1, 1, 'smem mmq_wide unchanged', 'trailer', 'fails', '', '', NULL, 2);
