INSERT INTO sample_state VALUES
    (1, 0, '{"before":{"host":{"load":0.5}},"during":{"readings":9,"span_ms":1000.5,"longest_gap_ms":101.5},"after":{}}');
