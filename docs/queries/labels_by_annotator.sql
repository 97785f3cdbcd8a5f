-- Bug types by the kind of annotator.
SELECT value AS bug_type, annotator_kind, count(DISTINCT number) AS items
FROM gold_labels
WHERE scheme = 'bug_type'
GROUP BY ALL
ORDER BY items DESC, bug_type, annotator_kind
LIMIT 5
