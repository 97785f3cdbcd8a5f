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
-- an item occurs on a release as soon as one of its cases does; it is absent where all that could be tested are, and NULL where one was
-- only not seen
SELECT r.repo, r.number, r.version, l.released, l.place,
       CASE WHEN bool_or(verdict = 'occurs') THEN true WHEN bool_and(verdict = 'absent') THEN false END AS occurs,
       bool_or(coalesce(relation, '') = 'same') AS is_report,  -- NULL: nobody could compare the case with the report
       bool_or(verdict = 'occurs') FILTER (WHERE relation = 'same' AND verdict <> 'not_seen') AS report_occurs, count(DISTINCT r.name) AS cases, bool_or(provenance = 'own') AS own
FROM rows r JOIN study_releases l USING (version)
WHERE verdict IN ('occurs', 'absent', 'not_seen') AND l.released < (SELECT before_day FROM study_time)
  AND NOT EXISTS (SELECT 1 FROM study_labels b WHERE b.repo = r.repo AND b.number = r.number
                  AND b.scheme = 'bug_type' AND b.value = 'not_a_bug')
GROUP BY ALL;

-- Why was each issue closed? Kept once, because three queries read it.
CREATE OR REPLACE TEMP TABLE study_dispositions AS FROM item_dispositions;

-- What had the tracker decided about an issue by the end of the time? Closed as fixed: its thread shows a fix. For a day in the past only a
-- closing by then counts: an issue that was closed later was open then, and one whose closing nobody dates is left out (NULL) unless it was
-- seen closed by then. The day of an annotator's evidence is that of the closing only where the evidence is what closes an issue: a reason or
-- event of the tracker, or the pull request or commit that fixed it. A comment may be older or younger, and what leaves the reason unknown dates
-- nothing. Why an issue was closed is known as of today: for a day in the past it does not count where the evidence is of a later day, nor where
-- the tracker closed or reopened the issue since: such issues are left out (NULL). A pull request is no bug and is not in the table.
CREATE OR REPLACE TEMP TABLE study_closings AS
WITH dated AS (
    SELECT i.repo, i.number, i.state, d.disposition, d.evidence_date::DATE AS known_on,
           coalesce(i.closed_at::DATE, k.closed_at::DATE,
                    CASE WHEN d.evidence_kind IN ('state_reason', 'event')
                           OR (d.disposition = 'fixed' AND d.evidence_kind IN ('closing_pr', 'commit')) THEN d.evidence_date END) AS closed_on,
           coalesce(c.facts_as_of, i.fetched_at)::DATE AS seen_on
    FROM items i LEFT JOIN study_dispositions d USING (repo, number) LEFT JOIN catalog c USING (repo, number)
    LEFT JOIN closings k USING (repo, number)
    WHERE i.state IS NOT NULL AND coalesce(nullif(i.kind, ''), 'issue') = 'issue'
), decided_since AS (
    SELECT DISTINCT repo, number FROM main.events
    WHERE type IN ('closed', 'reopened') AND created_at >= (SELECT before_day FROM study_time)
)
SELECT repo, number,
       CASE WHEN state = 'open' OR (t.is_past AND closed_on >= t.before_day) THEN 'open'
            WHEN t.is_past AND closed_on IS NULL AND coalesce(seen_on >= t.before_day, true) THEN NULL
            WHEN t.is_past AND (known_on >= t.before_day OR (repo, number) IN (FROM decided_since)) THEN NULL
            WHEN disposition = 'fixed' THEN 'closed as fixed'
            ELSE 'closed otherwise' END AS closing
FROM dated, study_time t;
