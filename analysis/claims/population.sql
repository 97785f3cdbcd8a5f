-- Who is counted in the claims? Temporary tables that all other queries here stand on.
-- The study names its filter (sections III and IV), not how it applied it, and not the day. Wherever there is a choice, ours makes the
-- counts smaller, because most of them serve as lower bounds: a bug counts only where maintainers labelled it as a bug, silent, a crash
-- or NaN, nobody annotated it as no bug, and it was reported, patched or closed before August 2024. The newest thread that the study
-- cites is of July 2024, and its line counts of the main branch are those of late summer 2024.
CREATE OR REPLACE TEMP TABLE study_issues AS
SELECT * FROM judged_items
WHERE repo = 'pytorch/pytorch' AND kind = 'issue' AND created_at >= TIMESTAMP '2017-01-01' AND created_at < TIMESTAMP '2024-08-01';

-- One label for each item and scheme: people before the paper before automated annotators, then the majority.
-- Predictions of the classifier are no labels: what rests on them needs correction and has no place in a bound.
CREATE OR REPLACE TEMP TABLE study_labels AS
SELECT repo, number, scheme, value
FROM (
    SELECT repo, number, scheme, value, count(*) AS votes,
           min(CASE annotator_kind WHEN 'human' THEN 0 WHEN 'paper' THEN 1 ELSE 2 END) AS place
    FROM gold_labels GROUP BY ALL
)
QUALIFY row_number() OVER (PARTITION BY repo, number, scheme ORDER BY place, votes DESC, value) = 1;

-- Issues and pull requests share numbers that grow with time: a patch with a number up to this one was there before August 2024.
CREATE OR REPLACE TEMP TABLE study_last_number AS
SELECT max(number) AS number FROM items WHERE repo = 'pytorch/pytorch' AND created_at < TIMESTAMP '2024-08-01';

CREATE OR REPLACE TEMP TABLE study_patches AS
SELECT DISTINCT l.target_repo AS repo, l.target_number AS number
FROM links l LEFT JOIN items p ON p.repo = l.repo AND p.number = l.number
WHERE l.relation = 'fixes' AND l.target_number IS NOT NULL AND coalesce(p.kind, 'pull') = 'pull'
  AND l.number <= (SELECT number FROM study_last_number)
UNION
SELECT repo, number FROM links
WHERE relation = 'closed_by' AND target_number <= (SELECT number FROM study_last_number)
UNION
SELECT l.target_repo, l.target_number FROM links l JOIN commits c ON c.repo = l.repo AND c.sha = l.sha
WHERE l.relation = 'fixes' AND l.target_number IS NOT NULL AND c.committed_at < TIMESTAMP '2024-08-01';

-- Closed in time. Where the day is not known, as for most of the catalog, only a patch speaks for it.
CREATE OR REPLACE TEMP TABLE study_closed AS
SELECT i.* FROM study_issues i LEFT JOIN study_patches s USING (repo, number)
WHERE i.state = 'closed' AND i.in_data_path
  AND (i.closed_at < TIMESTAMP '2024-08-01' OR (i.closed_at IS NULL AND s.number IS NOT NULL));

CREATE OR REPLACE TEMP TABLE study_bugs AS
SELECT * FROM study_closed
WHERE NOT declined_as_no_bug AND list_has_any(signals, ['label_bug', 'label_silent', 'label_crash', 'label_nan_inf']);

CREATE OR REPLACE TEMP TABLE study_patched AS
SELECT b.* FROM study_bugs b JOIN study_patches USING (repo, number);
