-- Merge `seen` (repo, number, kind, updated_at, comments, seen_at, is_absent) into `listed`; what was read stays.

CREATE OR REPLACE TEMP TABLE merged AS
SELECT s.repo, s.number, s.kind, s.updated_at, s.comments, s.seen_at, s.is_absent, l.read_of, l.read_comments,
       coalesce(CASE WHEN l.updated_at = s.updated_at THEN l.tries END, 0) AS tries, l.reason
FROM seen s LEFT JOIN listed l ON l.repo = s.repo AND l.number = s.number;

DELETE FROM listed USING merged m WHERE listed.repo = m.repo AND listed.number = m.number;
INSERT INTO listed BY NAME FROM merged;
DROP TABLE merged;
