-- Figure 1: how large are data path and computation in each release? From a clone (code_sizes) where one was mined; else the Python
-- lines of released wheels, which leave out all C++ and are never compared with the study's totals. `strict` parts are the modules
-- that the study names; `basis` says which of the two was read.
WITH clone AS (
    SELECT tag AS release, min(tagged_at)::DATE AS released, component, sum(lines) AS lines
    FROM code_sizes SEMI JOIN study_repository USING (repo) WHERE component IN ('data_path', 'data_path_strict', 'computation') GROUP BY ALL
), wheels AS (
    SELECT version AS release, released, component, sum(lines) AS lines
    FROM (SELECT version, component, lines FROM study_wheel_lines WHERE component <> 'other'
          UNION ALL
          SELECT version, 'data_path_strict', lines FROM study_wheel_lines WHERE strict)
    JOIN study_releases USING (version) GROUP BY ALL
)
SELECT 'clone' AS basis, * FROM clone
UNION ALL
SELECT 'python lines of wheels', * FROM wheels
WHERE NOT EXISTS (FROM clone) AND (SELECT repo FROM study_repository) = 'pytorch/pytorch'
ORDER BY released, component;
