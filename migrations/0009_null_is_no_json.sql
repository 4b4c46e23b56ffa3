-- json_valid(NULL) is NULL in the SQLite of this program, and 0 in those before 3.41: there, an
-- integrity check called every row without a failure damaged. The columns' checks say now what
-- they mean in both. Rows stay as they are, so the text of the tables is changed in place
-- (https://www.sqlite.org/lang_altertable.html, "Making Other Kinds Of Table Schema Changes").

PRAGMA writable_schema = ON;

UPDATE sqlite_schema
SET sql = replace(replace(replace(sql,
        'CHECK (json_valid(failure_json))',
        'CHECK (failure_json IS NULL OR json_valid(failure_json))'),
        'CHECK (json_valid(required_threads))',
        'CHECK (required_threads IS NULL OR json_valid(required_threads))'),
        'CHECK (json_valid(census_json))',
        'CHECK (census_json IS NULL OR json_valid(census_json))')
WHERE type = 'table' AND name IN ('build', 'kernel', 'gate', 'sample');

PRAGMA writable_schema = RESET;

-- Any change of the schema makes other connections read it again.
CREATE VIEW schema_changed AS SELECT 1;
DROP VIEW schema_changed;
