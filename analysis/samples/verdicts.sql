-- What did cases show on the releases? The newest verdict of every current case and release by runs of this database; where they
-- have none, the shipped one. What could not be tested says nothing and is left out, and so are releases that came out after the
-- time, and items that an annotator called no bug. `report_occurs` counts only cases whose relation to the item is `same`: they
-- alone can say that a bug which was closed as fixed is still there. NULL: none of them was decided.
CREATE OR REPLACE TEMP TABLE study_verdicts AS
WITH known AS (
    SELECT c.name, i.repo, i.number, i.relation, split_part(split_part(b.version, '+', 1), '@', 1) AS version, v.verdict, v.provenance
    FROM latest_verdicts v
    JOIN cases c ON c.case_hash = v.case_hash AND c.current AND c.origin = 'curated'
    JOIN case_items i ON i.case_hash = c.case_hash
    JOIN builds b ON b.build = v.build
), rows AS (
    FROM known
    QUALIFY provenance = 'own' OR NOT bool_or(provenance = 'own') OVER (PARTITION BY name, version)
)
-- an item occurs on a release as soon as one of its cases does; it is absent where all that could be tested are clean
SELECT r.repo, r.number, r.version, l.released, l.place, bool_or(verdict = 'occurs') AS occurs,
       bool_or(relation = 'same') AS is_report,
       bool_or(verdict = 'occurs') FILTER (WHERE relation = 'same' AND verdict <> 'not_seen') AS report_occurs, count(DISTINCT r.name) AS cases, bool_or(provenance = 'own') AS own
FROM rows r JOIN study_releases l USING (version)
WHERE verdict IN ('occurs', 'absent', 'not_seen') AND l.released < (SELECT before_day FROM study_time)
  AND NOT EXISTS (SELECT 1 FROM study_labels b WHERE b.repo = r.repo AND b.number = r.number
                  AND b.scheme = 'bug_type' AND b.value = 'not_a_bug')
GROUP BY ALL;
