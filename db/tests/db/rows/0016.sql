INSERT INTO canary_reading VALUES
    (1, 'before', 5, 'cuda-1', 'GPU-1', 1500, 5200.5, 110.25, NULL),
    (1, 'after', 9, 'cuda-1', 'GPU-1', 1500, NULL, NULL, 'the device is lost');
