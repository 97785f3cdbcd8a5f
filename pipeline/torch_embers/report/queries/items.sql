-- What is known of every item that still exists, in one row: facts, why it was closed, classes, components.
WITH named AS (
    SELECT repo, number, list_sort(list(DISTINCT subcomponent)) AS components FROM components GROUP BY ALL
), strong AS (
    SELECT repo, number FROM links WHERE number IS NOT NULL AND list_contains($strong, relation)
    UNION
    SELECT target_repo, target_number FROM links WHERE target_number IS NOT NULL AND list_contains($strong, relation)
)
SELECT i.repo, i.number, coalesce(nullif(i.kind, ''), 'issue') AS kind, coalesce(i.title, '') AS title, i.state, i.state_reason,
       i.created_at, i.updated_at, i.closed_at, i.author, coalesce(i.labels, []) AS labels,
       k.summary, coalesce(k.backends, []) AS backends, d.disposition, d.evidence AS closing_evidence,
       d.evidence_ref AS closing_reference,
       coalesce(l.classes, []) AS classes, coalesce(n.components, []) AS components,
       s.number IS NOT NULL AS has_links, g.number IS NOT NULL AS has_gold,
       t.number IS NOT NULL AS is_candidate
FROM items i
LEFT JOIN catalog k USING (repo, number)
LEFT JOIN item_dispositions d USING (repo, number)
LEFT JOIN item_classes l USING (repo, number)
LEFT JOIN named n USING (repo, number)
LEFT JOIN strong s USING (repo, number)
LEFT JOIN (SELECT DISTINCT repo, number FROM gold_labels) g USING (repo, number)
LEFT JOIN candidates t USING (repo, number)
WHERE i.deleted_at IS NULL
ORDER BY i.repo, i.number
