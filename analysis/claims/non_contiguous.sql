-- How many patched non-contiguity bugs were reported from 2020 to 2024? With a backend: how many of them show there?
SELECT count(*) AS k
FROM study_patched p JOIN study_labels t USING (repo, number) LEFT JOIN catalog c USING (repo, number)
WHERE t.scheme = 'memory_type' AND t.value = 'non_contiguous' AND p.created_at >= TIMESTAMP '2020-01-01'
  AND ($backend = '' OR list_contains(c.backends, $backend));
