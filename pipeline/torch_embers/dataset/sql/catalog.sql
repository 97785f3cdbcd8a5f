-- What does the embedded catalog tell of each bug?
SELECT repo, number, summary, backends, affected_versions, fixed_versions, facts_as_of
FROM catalog
ANTI JOIN gone USING (repo, number)
ORDER BY repo, number
