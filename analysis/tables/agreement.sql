-- How far do two annotators agree who labelled the same items without seeing each other's labels? One row per pair of answers; kappa
-- and its interval are computed from them.
SELECT a.scheme, a.annotator AS one, b.annotator AS other, a.value AS first, b.value AS second, count(*) AS k
FROM gold_labels a JOIN gold_labels b USING (repo, number, scheme)
WHERE a.annotator < b.annotator AND a.annotator_kind <> 'paper' AND b.annotator_kind <> 'paper' -- the paper's labels were known to the others
GROUP BY ALL ORDER BY scheme, one, other, first, second;
