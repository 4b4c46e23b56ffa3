INSERT INTO bundle_import (run_id, at, bundle_sha256, bundle_schema, writer, brought, judged)
SELECT min(id), 5, '00000000000000000000000000000000000000000000000000000000000000ab', 21,
       'runner 0.1.0', 'run', 'same' FROM run;
INSERT INTO bundle_build (build_id, run_id) SELECT min(b.id), min(r.id) FROM build b, run r;
INSERT INTO run_reference (of_table, of_column, of_row, run_id, uuid)
SELECT 'run', 'replay_of', min(id), min(id), 'a run that is elsewhere' FROM run;
INSERT INTO bundle_waiting (run_id, of_table, row_json)
SELECT min(id), 'confirmation', '{"confirms":"a run that is elsewhere"}' FROM run;
