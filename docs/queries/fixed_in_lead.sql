-- Of the bugs that a script shows on the release before the one whose notes name the fix: how many are gone there, and on the newest?
SELECT count(*) AS seen, count(*) FILTER (named = 'good') AS gone, percent(gone::INT, seen::INT) AS share,
  CASE WHEN count(*) FILTER (named = 'good' AND newest = 'good') = gone THEN 'All'
    ELSE count(*) FILTER (named = 'good' AND newest = 'good')::VARCHAR END AS newest
FROM 'analysis/results/fixed_in.csv' WHERE before = 'bad' AND outcome <> 'cannot'
