-- What is known of each item that is not gone from its tracker: components, patches, gold labels, signals.
-- Base of the views candidates and funnel; {gold_data_path_types} comes from data/candidates.toml.
CREATE OR REPLACE VIEW item_facts AS
WITH part AS (
    SELECT repo, number,
           bool_or(component = 'data_path') AS data_path,
           bool_or(component = 'data_path' AND strict) AS data_path_strict,
           bool_or(component = 'computation') AS computation
    FROM components GROUP BY ALL
), patch AS (
    -- a patch is a pull request or commit that says it fixes the item, or that closed it
    SELECT repo, number, count(DISTINCT who) AS patches
    FROM (
        SELECT l.target_repo AS repo, l.target_number AS number,
               coalesce(l.repo || '#' || l.number, l.sha) AS who
        FROM links l LEFT JOIN items f ON f.repo = l.repo AND f.number = l.number
        WHERE l.relation = 'fixes' AND l.target_number IS NOT NULL AND (l.sha IS NOT NULL OR f.kind IS NULL OR f.kind = 'pull')
        UNION ALL
        SELECT repo, number, coalesce(target_repo || '#' || target_number, target_sha)
        FROM links WHERE relation = 'closed_by' AND number IS NOT NULL
    )
    WHERE who IS NOT NULL GROUP BY ALL
), gold AS (
    SELECT repo, number,
           bool_or(scheme = 'bug_type' AND value = 'not_a_bug') AS not_a_bug,
           bool_or(scheme = 'bug_type' AND value <> 'not_a_bug') AS is_bug,
           bool_or(scheme = 'bug_type' AND list_contains({gold_data_path_types}, value)) AS in_data_path
    FROM gold_labels GROUP BY ALL
), fixer AS (
    SELECT DISTINCT l.repo, l.number
    FROM links l JOIN items t ON t.repo = l.target_repo AND t.number = l.target_number
    WHERE l.relation = 'fixes' AND l.number IS NOT NULL AND t.kind = 'issue'
), signal AS (
    SELECT repo, number, list_sort(list(signal)) AS signals, list_sort(list(DISTINCT consequence)) AS consequences
    FROM signals GROUP BY ALL
)
SELECT i.repo, i.number, coalesce(nullif(i.kind, ''), 'issue') AS kind, i.title, i.state, i.state_reason,
       i.created_at, i.updated_at, i.closed_at, coalesce(i.labels, []::VARCHAR[]) AS label_names,
       coalesce(p.data_path, false) AS data_path,
       coalesce(p.data_path_strict, false) AS data_path_strict,
       coalesce(p.computation, false) AS computation,
       coalesce(patch.patches, 0) AS patches,
       coalesce(g.not_a_bug AND NOT g.is_bug, false) AS gold_not_a_bug,
       coalesce(g.is_bug, false) AS gold_bug,
       coalesce(g.in_data_path, false) AS gold_data_path,
       (i.kind = 'pull' AND f.number IS NOT NULL) AS patch_of_reported_bug,
       coalesce(s.signals, []::VARCHAR[]) AS signals,
       coalesce(s.consequences, []::VARCHAR[]) AS consequences
FROM items i
LEFT JOIN part p USING (repo, number)
LEFT JOIN patch USING (repo, number)
LEFT JOIN gold g USING (repo, number)
LEFT JOIN fixer f USING (repo, number)
LEFT JOIN signal s USING (repo, number)
WHERE i.deleted_at IS NULL;
COMMENT ON VIEW item_facts IS 'Components, patches, gold labels and signals of every item that still exists.';
