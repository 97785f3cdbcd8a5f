-- What several queries of this folder read. Files of data/*.toml are one row each, as JSON of the same name.

-- The shipped verdicts of the sweep: of each case on each release the first that says `occurs`, else the first. Those of bugs are the matrix.
CREATE TEMP VIEW sweep AS
FROM read_csv('analysis/results/verdicts.csv', types = {'build': 'VARCHAR', 'k': 'INT', 'n': 'INT', 'control_build': 'VARCHAR'})
QUALIFY row_number() OVER (PARTITION BY "case", build ORDER BY verdict <> 'occurs', day) = 1;

CREATE TEMP VIEW matrix AS
SELECT *, regexp_extract(environment, '^[^,]*, (.*), [^,]*$', 1) AS processor
FROM sweep WHERE "case" IN (SELECT name FROM cases WHERE current);

-- Releases of the matrix, oldest first, and the newest.
CREATE TEMP TABLE releases AS
SELECT build, row_number() OVER (ORDER BY list_transform(string_split(build, '.'), lambda part: part::INT)) AS place,
  place = count(*) OVER () AS is_newest
FROM (SELECT DISTINCT build FROM matrix);

-- Verdicts on the newest release, each with the release from which on the case has it without a gap.
CREATE TEMP VIEW newest AS
WITH decided AS (
  SELECT m.*, r.place, last_value(verdict) OVER (PARTITION BY "case" ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS final
  FROM matrix m JOIN releases r USING (build)
  WHERE verdict IN ('occurs', 'absent', 'not_seen', 'changed')
), since AS (
  SELECT "case", min(place) AS first_place,
    coalesce(max(place) FILTER (verdict <> final), 0) AS last_other, min(place) AS first_tested
  FROM decided GROUP BY "case"
), start AS (
  SELECT s."case", arg_min(d.build, d.place) AS build, min(d.place) = any_value(s.first_tested) AS is_all
  FROM since s JOIN decided d ON d."case" = s."case" AND d.place > s.last_other GROUP BY s."case"
)
SELECT m.*, CASE WHEN s.is_all THEN 'all tested (' || s.build || ')' ELSE s.build END AS since,
  CASE control WHEN 'build' THEN control_k || '/' || control_n || ' on ' || control_build
    WHEN 'injected' THEN 'injected fault' || if(control_k = 0, ' not noticed', ': shows only that the check can fail') ELSE 'none' END AS control_words
FROM matrix m JOIN releases r USING (build) LEFT JOIN start s USING ("case")
WHERE r.is_newest;

-- The evidence of a disposition with its address.
CREATE TEMP VIEW closing AS
SELECT repo, number, disposition, duplicate_of, {
  text: disposition || ': ' || evidence,
  url: CASE WHEN evidence_ref IS NULL OR evidence_ref = '' THEN NULL
    WHEN evidence_ref LIKE '#%' THEN 'https://github.com/' || repo || '/issues/' || evidence_ref[2:]
    WHEN evidence_ref LIKE 'https://%' THEN evidence_ref
    ELSE 'https://github.com/' || repo || '/commit/' || evidence_ref END
} AS why
FROM dispositions;

-- Every case with each of its items and the verdict on the newest release; `kind` says what follows for the closing.
CREATE TEMP VIEW pairs AS
SELECT n.*, c.repo, c.number, c.relation, CASE
    WHEN i.number IS NULL THEN 'not_in_catalog'
    WHEN i.kind = 'pull' THEN 'pull'
    WHEN i.state = 'open' THEN 'open'
    WHEN d.disposition IS NULL THEN 'unknown'
    WHEN d.disposition = 'fixed' THEN CASE WHEN c.relation = 'same' THEN 'fixed' ELSE 'sibling' END
    WHEN d.disposition IN ('unknown', 'duplicate') THEN d.disposition
    ELSE 'declined' END AS kind, d.why, d.duplicate_of
FROM case_items c JOIN cases USING (case_hash) JOIN newest n ON n."case" = cases.name
  LEFT JOIN items i USING (repo, number) LEFT JOIN closing d USING (repo, number)
WHERE cases.current;

-- The skip ledger: expected failures and skips of PyTorch's own operator tests by release; `place` orders the releases.
CREATE TEMP VIEW skips AS
SELECT *, place = max(place) OVER () AS is_newest
FROM (
  SELECT *, dense_rank() OVER (ORDER BY list_transform(string_split(build, '.'), lambda part: part::INT)) AS place
  FROM read_csv('analysis/results/skips.csv', types = {'build': 'VARCHAR', 'operator': 'VARCHAR', 'dtypes': 'VARCHAR', 'issues': 'VARCHAR', 'what': 'VARCHAR'})
);

-- Entries of the newest release that were decided, with the oldest release from which on each has had its state, and the issues that it cites.
CREATE TEMP VIEW skips_newest AS
WITH history AS (
  SELECT n.operator, n.test, n.kind, n.dtypes, max(s.place) FILTER (s.state <> n.state) AS other
  FROM skips n JOIN skips s ON s.operator = n.operator AND s.test = n.test AND s.kind = n.kind
    AND s.dtypes IS NOT DISTINCT FROM n.dtypes
  WHERE n.is_newest GROUP BY ALL
), since AS (
  SELECT h.operator, h.test, h.kind, h.dtypes, min_by(s.build, s.place) AS since
  FROM history h JOIN skips s ON s.operator = h.operator AND s.test = h.test AND s.kind = h.kind
    AND s.dtypes IS NOT DISTINCT FROM h.dtypes AND s.place > coalesce(h.other, 0)
  GROUP BY ALL
), cited AS (
  SELECT operator, test, kind, dtypes, unnest(string_split(issues, ' '))::INT AS number FROM skips WHERE is_newest AND issues <> ''
), stated AS (
  SELECT c.operator, c.test, c.kind, c.dtypes, list('#' || c.number || ' ' || coalesce(i.state, 'unknown') ORDER BY c.number) AS cites,
    bool_or(i.state = 'closed') AS has_closed
  FROM cited c LEFT JOIN items i ON i.repo = 'pytorch/pytorch' AND i.number = c.number GROUP BY ALL
)
SELECT n.*, h.since, s.cites, coalesce(s.has_closed, false) AS has_closed
FROM skips n JOIN since h ON h.operator = n.operator AND h.test = n.test AND h.kind = n.kind AND h.dtypes IS NOT DISTINCT FROM n.dtypes
  LEFT JOIN stated s ON s.operator = n.operator AND s.test = n.test AND s.kind = n.kind AND s.dtypes IS NOT DISTINCT FROM n.dtypes
WHERE n.is_newest AND n.operator <> '';
