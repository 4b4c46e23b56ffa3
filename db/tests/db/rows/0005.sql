INSERT INTO judgement VALUES (1, 1, 3, 'landed', 'it landed', '{}', '1', 'measured');
INSERT INTO decision VALUES (1, 1, 4, 'land', 'it helps', 'owner');
INSERT INTO correction VALUES
    (1, 5, 1, 'verdict', 'landed', 'reverted', 'the base was wrong', 'owner', NULL);
