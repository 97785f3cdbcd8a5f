-- Raw rows of the items in `touched`, and of those that are linked with them: both ends of a link can state it.

CREATE OR REPLACE TEMP TABLE near AS
FROM touched
UNION SELECT l.target_repo, l.target_number FROM stated_links l JOIN touched t ON l.repo = t.repo AND l.number = t.number
UNION SELECT l.repo, l.number FROM stated_links l JOIN touched t ON l.target_repo = t.repo AND l.target_number = t.number;

CREATE OR REPLACE TEMP VIEW raw_of_near AS
SELECT r.* FROM raw r SEMI JOIN near n ON r.repo = n.repo AND split_part(r.id, '/', 1) = n.number::VARCHAR AND r.kind <> 'commit';
