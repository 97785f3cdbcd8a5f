-- Which links do the tracker's own events and the sources' stated links give? Replaces all of them.
DELETE FROM links WHERE evidence IN ('event', 'closing_reference', 'sub_issue', 'dataset', 'catalog');

INSERT INTO links
WITH undone AS (
    -- a duplicate mark or a connection counts while it is not taken back later
    SELECT repo, number, other_repo, other_number, type, max(created_at) AS at FROM events
    WHERE type IN ('unmarked_as_duplicate', 'disconnected') GROUP BY ALL
), standing AS (
    SELECT e.* FROM events e LEFT JOIN undone u
      ON u.repo = e.repo AND u.number = e.number
     AND u.other_repo IS NOT DISTINCT FROM e.other_repo AND u.other_number IS NOT DISTINCT FROM e.other_number
     AND u.type = CASE e.type WHEN 'marked_as_duplicate' THEN 'unmarked_as_duplicate' WHEN 'connected' THEN 'disconnected' END
    WHERE u.at IS NULL OR u.at < e.created_at
), stated AS (
    SELECT *, coalesce(other_repo, repo) AS other FROM standing
    WHERE (type IN ('closed', 'marked_as_duplicate', 'cross_referenced', 'connected') AND other_number IS NOT NULL)
       OR (type IN ('closed', 'referenced') AND commit_sha IS NOT NULL)
), oriented AS (
    -- closed and marked_as_duplicate speak of the item, the others of what refers to it
    SELECT repo, number, NULL::VARCHAR AS sha,
           CASE type WHEN 'closed' THEN 'closed_by' ELSE 'duplicates' END AS relation,
           CASE WHEN other_number IS NULL THEN repo ELSE other END AS target_repo, other_number AS target_number,
           CASE WHEN other_number IS NULL THEN lower(commit_sha) END AS target_sha, type, event_id, created_at
    FROM stated WHERE type IN ('closed', 'marked_as_duplicate')
    UNION ALL
    SELECT CASE WHEN type = 'referenced' THEN repo ELSE other END, CASE WHEN type <> 'referenced' THEN other_number END,
           CASE WHEN type = 'referenced' THEN lower(commit_sha) END,
           CASE WHEN type = 'connected' OR will_close THEN 'fixes' ELSE 'mentions' END,
           repo, number, NULL, type, event_id, created_at
    FROM stated WHERE type IN ('cross_referenced', 'connected', 'referenced')
)
SELECT repo, number, sha, relation, target_repo, target_number, target_sha,
       'event', 'event', event_id, type, NULL, created_at
FROM oriented
WHERE NOT (number IS NOT DISTINCT FROM target_number AND number IS NOT NULL AND repo = target_repo)
ORDER BY repo, number, target_number, event_id;

INSERT INTO links
SELECT repo, number, NULL, relation, target_repo, target_number, NULL, evidence, coalesce(nullif(source, ''), evidence), NULL, NULL, NULL, NULL
FROM stated_links WHERE NOT (repo = target_repo AND number = target_number)
ORDER BY repo, number, target_number, relation;
