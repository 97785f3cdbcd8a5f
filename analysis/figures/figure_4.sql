-- Figure 4: how many patches did each part of the data path get in each half year? A patch counts once for each part that its files
-- touch; where no files are known, for the parts that labels or words of its issue name. Dated by the opening of the patch.
WITH patches AS (
    SELECT DISTINCT sample, repo, patch, number AS issue, patched_at FROM study_sample_patches
    WHERE patch IS NOT NULL AND patched_at IS NOT NULL
), by_files AS (
    SELECT DISTINCT p.sample, p.repo, p.patch, p.patched_at, c.subcomponent
    FROM patches p JOIN components c ON c.repo = p.repo AND c.number = p.patch
    WHERE c.evidence = 'path' AND c.component = 'data_path'
), by_issue AS (
    SELECT DISTINCT p.sample, p.repo, p.patch, p.patched_at, c.subcomponent
    FROM patches p JOIN components c ON c.repo = p.repo AND c.number = p.issue
    WHERE c.component = 'data_path'
      AND NOT EXISTS (SELECT 1 FROM by_files f WHERE f.sample = p.sample AND f.repo = p.repo AND f.patch = p.patch)
)
SELECT sample, year(patched_at) AS year, CASE WHEN month(patched_at) <= 6 THEN 1 ELSE 2 END AS half, subcomponent,
       count(DISTINCT patch) AS k
FROM (FROM by_files UNION ALL FROM by_issue)
GROUP BY ALL ORDER BY sample, year, half, subcomponent;
