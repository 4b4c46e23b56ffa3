-- A commit's pack may leave out what another commit's pack holds; that one is restored first.
ALTER TABLE git_commit ADD COLUMN pack_base TEXT REFERENCES git_commit (sha);
