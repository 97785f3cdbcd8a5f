-- How are items and commits linked around the items that get a page? Every strong link, and mentions of these items.
SELECT DISTINCT l.repo, coalesce(l.number, 0) AS number, CASE WHEN l.number IS NULL THEN l.sha ELSE '' END AS sha, l.relation,
       l.target_repo, coalesce(l.target_number, 0) AS target_number,
       CASE WHEN l.target_number IS NULL THEN l.target_sha ELSE '' END AS target_sha, l.evidence
FROM links l
WHERE list_contains($strong, l.relation)
   OR EXISTS (FROM paged p WHERE p.repo = l.repo AND p.number = l.number)
   OR EXISTS (FROM paged p WHERE p.repo = l.target_repo AND p.number = l.target_number)
ORDER BY ALL
