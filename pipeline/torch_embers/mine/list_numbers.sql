-- Merge `found` (number, state, kind, updated_at, comments, reason) into `listed`. States: seen in a listing, read whole,
-- absent, failed. Parameters: $repo, $now.

CREATE OR REPLACE TEMP TABLE merged AS
SELECT $repo AS repo, f.number,
       CASE WHEN state = 'failed' THEN l.kind ELSE f.kind END AS kind,
       CASE state WHEN 'seen' THEN f.updated_at WHEN 'read' THEN greatest(l.updated_at, f.updated_at) WHEN 'failed' THEN l.updated_at
            END AS updated_at,
       -- a listing can be ahead of what was read, or behind it: the newer of both tells how many comments there are
       CASE WHEN state = 'seen' OR (state = 'read' AND NOT coalesce(l.updated_at > f.updated_at, false)) THEN f.comments
            WHEN state <> 'absent' THEN l.comments END AS comments,
       CASE WHEN state = 'failed' THEN coalesce(l.seen_at, $now) ELSE $now END AS seen_at,
       CASE WHEN state = 'failed' THEN coalesce(l.is_absent, false) ELSE state = 'absent' END AS is_absent,
       CASE state WHEN 'read' THEN f.updated_at WHEN 'absent' THEN NULL ELSE l.read_of END AS read_of,
       CASE state WHEN 'read' THEN f.comments WHEN 'absent' THEN NULL ELSE l.read_comments END AS read_comments,
       CASE WHEN state = 'failed' THEN coalesce(l.tries, 0) + 1
            WHEN state = 'seen' AND l.updated_at = f.updated_at THEN coalesce(l.tries, 0) ELSE 0 END AS tries,
       CASE state WHEN 'failed' THEN f.reason WHEN 'seen' THEN l.reason END AS reason
FROM found f LEFT JOIN listed l ON l.repo = $repo AND l.number = f.number;

DELETE FROM listed USING merged m WHERE listed.repo = m.repo AND listed.number = m.number;
INSERT INTO listed BY NAME FROM merged;
