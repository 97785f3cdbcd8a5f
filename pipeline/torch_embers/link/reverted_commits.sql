-- Which commit did a revert or back-out take out, where its message names it otherwise than by number or hash?
-- 1. "Original commit changeset: x" is a hash of Meta's own repository; the original commit carries it as fbshipit-source-id,
--    the last one of its message: a reland repeats the message, with the hash, of what it lands again.
-- 2. 'Revert "title"', 'Revert D123: title' and 'Back out "title"' alone: the newest earlier commit of that title.
CREATE OR REPLACE TEMP TABLE imported AS
SELECT repo, list_last(regexp_extract_all(message, 'fbshipit-source-id: ([0-9a-f]{12})', 1)) AS source_id,
       min(lower(sha)) AS sha, min(pull_number) AS number
FROM commits WHERE contains(message, 'fbshipit-source-id: ')
GROUP BY ALL HAVING source_id IS NOT NULL AND count(*) = 1;

UPDATE links SET target_sha = i.sha, target_number = i.number FROM imported i
WHERE links.rule = 'original-changeset' AND links.target_repo = i.repo AND left(links.target_sha, 12) = i.source_id
  AND length(links.target_sha) >= 12;
DROP TABLE imported;

-- what was found in an earlier run has the number of its commit, which can be another one now
UPDATE links SET target_number = c.pull_number FROM commits c
WHERE links.rule = 'original-changeset' AND links.target_repo = c.repo AND links.target_sha = lower(c.sha)
  AND links.target_number IS DISTINCT FROM c.pull_number;

DELETE FROM links WHERE rule = 'same-title';

CREATE OR REPLACE TEMP TABLE titled AS
SELECT repo, lower(sha) AS sha, subject, committed_at, pull_number,
       -- a title without its numbers
       trim(regexp_replace(subject, '(\s*\(#\d+\))+\s*$', '')) AS title,
       trim(regexp_replace(coalesce(
           nullif(regexp_extract(subject, '^(?:Manually )?(?:[Rr]evert|[Bb]ack(?:ed)?[ -]?out)(?: of)? D\d{5,10}:\s*(.+)$', 1), ''),
           nullif(regexp_extract(subject, '^(?:[Rr]evert|[Bb]ack(?:ed)?[ -]?out) "(.+)"(?:\s*\(#\d+\))*\s*$', 1), '')
       ), '^(?:\[pytorch\]\[PR\]\s*)|(\s*\(#\d+\))+\s*$', '', 'g')) AS taken_out
FROM commits WHERE subject IS NOT NULL;

INSERT INTO links (repo, sha, relation, target_repo, target_number, target_sha, evidence, rule, found_id, found_in, snippet, stated_at)
SELECT r.repo, r.sha, 'reverts', r.repo, arg_max(o.pull_number, o.committed_at) AS number, arg_max(o.sha, o.committed_at),
       'commit', 'same-title', r.sha, 'message', left(any_value(r.subject), 160), r.committed_at
FROM titled r
JOIN titled o ON o.repo = r.repo AND o.title = r.taken_out AND o.committed_at < r.committed_at
WHERE r.taken_out IS NOT NULL AND NOT EXISTS (
    FROM links l WHERE l.repo = r.repo AND l.sha = r.sha AND l.relation IN ('reverts', 'backs_out')
      AND (l.target_number IS NOT NULL OR l.target_sha IN (SELECT sha FROM titled))
)
GROUP BY r.repo, r.sha, r.committed_at
ORDER BY r.repo, r.sha;
DROP TABLE titled;
