-- Which rows did the former parse of some texts give? The view todo (origin, repo, id) holds the texts, the variable inverse the rules by
-- which a link starts at the other item.
-- Two repositories can each have a text of the same id, so an end of the link must be the text's own. Where both ends have that id,
-- the rule tells which of them is the text's.
WITH ends AS (
    SELECT rowid AS link, found_id, rule, repo, target_repo,
           CASE found_in WHEN 'comment' THEN 'comment' WHEN 'message' THEN 'commit' ELSE 'item' END AS origin,
           if(found_in = 'message', sha, number::VARCHAR) AS id, if(found_in = 'message', target_sha, target_number::VARCHAR) AS target_id
    FROM links WHERE evidence IN ('text', 'commit')
)
DELETE FROM links WHERE rowid IN (
    SELECT link FROM ends e JOIN todo t ON t.origin = e.origin AND t.id = e.found_id
    WHERE CASE WHEN e.origin = 'comment' THEN t.repo IN (e.repo, e.target_repo)
               WHEN e.id = t.id AND e.target_id = t.id THEN t.repo = if(list_contains(getvariable('inverse'), e.rule), e.target_repo, e.repo)
               ELSE (t.repo = e.repo AND t.id = e.id) OR (t.repo = e.target_repo AND t.id = e.target_id) END
);

DELETE FROM components USING todo t
WHERE components.evidence = 'text' AND t.origin = 'item' AND components.repo = t.repo AND components.number::VARCHAR = t.id;

DELETE FROM rejects USING todo t WHERE rejects.source = 'link' AND rejects.origin = concat_ws(' ', t.repo, t.origin, t.id);

DELETE FROM link_scans USING todo t
WHERE link_scans.repo = t.repo AND link_scans.origin IN (t.origin, 'own ' || t.origin) AND link_scans.id = t.id;
