-- Figure 4: how many patches did each part of the data path get in each half year? Two ways to say what a patch is about, which are not to be
-- mixed: `folder` is where its files are, `topic` what labels or words of the issue that it repairs name. A patch counts once for
-- each part. Dated by the opening of the patch.
WITH patches AS (
    SELECT DISTINCT sample, repo, patch, number AS issue, patched_at FROM study_sample_patches
    WHERE patch IS NOT NULL AND patched_at IS NOT NULL
), parts AS (
    SELECT DISTINCT p.sample, 'folder' AS basis, p.patch, p.patched_at, c.subcomponent
    FROM patches p JOIN components c ON c.repo = p.repo AND c.number = p.patch
    WHERE c.evidence = 'path' AND c.component = 'data_path'
    UNION ALL
    SELECT DISTINCT p.sample, 'topic', p.patch, p.patched_at, c.subcomponent
    FROM patches p JOIN components c ON c.repo = p.repo AND c.number = p.issue
    WHERE c.evidence IN ('label', 'text') AND c.component = 'data_path'
)
SELECT sample, basis, year(patched_at) AS year, CASE WHEN month(patched_at) <= 6 THEN 1 ELSE 2 END AS half, subcomponent,
       count(DISTINCT patch) AS k
FROM parts GROUP BY ALL ORDER BY sample, basis, year, half, subcomponent;
