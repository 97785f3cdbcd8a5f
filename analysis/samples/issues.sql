-- Who is counted? Temporary tables for one span of time (study_time) that all other queries stand on.
-- The study names its filter (sections III and IV), not how it applied it, and not the day. Wherever there is a choice, ours makes the
-- counts smaller, because most of them serve as lower bounds: a bug counts only where maintainers labelled it as a bug, silent, a crash
-- or NaN, nobody annotated it as no bug, and it was reported, patched or closed within the time. The newest thread that the study
-- cites is of July 2024, and its line counts of the main branch are those of late summer 2024: its own time ends there.
CREATE OR REPLACE TEMP TABLE study_issues AS
SELECT * FROM study_items
WHERE kind = 'issue' AND reported_at >= (SELECT first_day FROM study_time) AND reported_at < (SELECT before_day FROM study_time);

-- Issues and pull requests share numbers that grow with time: a patch with a number up to this one was there in time.
CREATE OR REPLACE TEMP TABLE study_last_number AS
SELECT max(number) AS number FROM study_items WHERE reported_at < (SELECT before_day FROM study_time);

CREATE OR REPLACE TEMP TABLE study_patches AS
SELECT DISTINCT l.target_repo AS repo, l.target_number AS number, l.number AS patch, NULL AS sha, d.reported_at AS patched_at
FROM links l LEFT JOIN items p ON p.repo = l.repo AND p.number = l.number
LEFT JOIN study_dates d ON d.repo = l.repo AND d.number = l.number
WHERE l.relation = 'fixes' AND l.target_number IS NOT NULL AND coalesce(p.kind, 'pull') = 'pull'
  AND l.number <= (SELECT number FROM study_last_number)
UNION
SELECT l.repo, l.number, l.target_number, NULL, d.reported_at
FROM links l LEFT JOIN study_dates d ON d.repo = l.target_repo AND d.number = l.target_number
WHERE l.relation = 'closed_by' AND l.target_number <= (SELECT number FROM study_last_number)
UNION
SELECT l.target_repo, l.target_number, NULL, l.sha, c.committed_at
FROM links l JOIN commits c ON c.repo = l.repo AND c.sha = l.sha
WHERE l.relation = 'fixes' AND l.target_number IS NOT NULL AND c.committed_at < (SELECT before_day FROM study_time)
UNION -- closed by a commit: dated by the commit, and where it is not at hand by the closing
SELECT l.repo, l.number, NULL, l.target_sha, coalesce(c.committed_at, l.stated_at)
FROM links l LEFT JOIN commits c ON c.repo = l.target_repo AND c.sha = l.target_sha
WHERE l.relation = 'closed_by' AND l.number IS NOT NULL AND l.target_number IS NULL AND l.target_sha IS NOT NULL
  AND coalesce(c.committed_at, l.stated_at) < (SELECT before_day FROM study_time);

-- Closed in time. Where the day is not known, as for most of the catalog, only a patch speaks for it.
CREATE OR REPLACE TEMP TABLE study_closed AS
SELECT i.* FROM study_issues i
WHERE i.state = 'closed' AND i.in_data_path
  AND (i.closed_at < (SELECT before_day FROM study_time)
       OR (i.closed_at IS NULL AND EXISTS (SELECT 1 FROM study_patches s WHERE s.repo = i.repo AND s.number = i.number)));

CREATE OR REPLACE TEMP TABLE study_bugs AS
SELECT * FROM study_closed
WHERE NOT declined_as_no_bug AND list_has_any(signals, ['label_bug', 'label_silent', 'label_crash', 'label_nan_inf']);

CREATE OR REPLACE TEMP TABLE study_patched AS
SELECT b.* FROM study_bugs b SEMI JOIN study_patches USING (repo, number);
