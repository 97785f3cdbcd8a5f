-- When was an item reported whose date no source gives? Issues and pull requests share one series of numbers that grows with time:
-- between the two nearest numbers with a date it is read off a straight line. `dated` says whether the date is the tracker's own.
CREATE OR REPLACE TEMP TABLE study_dates AS
WITH known AS (
    SELECT repo, number, created_at FROM main.items WHERE created_at IS NOT NULL
), asked AS (
    SELECT repo, number FROM main.items WHERE created_at IS NULL
    UNION
    SELECT repo, number FROM main.links WHERE number IS NOT NULL
    UNION
    SELECT target_repo, target_number FROM main.links WHERE target_number IS NOT NULL
), between_two AS (
    SELECT a.repo, a.number, b.number AS low, b.created_at AS low_at, c.number AS high, c.created_at AS high_at
    FROM (SELECT * FROM asked ANTI JOIN known USING (repo, number)) a
    ASOF LEFT JOIN known b ON b.repo = a.repo AND b.number <= a.number
    ASOF LEFT JOIN known c ON c.repo = a.repo AND c.number >= a.number
)
SELECT repo, number, created_at AS reported_at, true AS dated FROM known
UNION ALL
SELECT repo, number, low_at + (high_at - low_at) * ((number - low) / (high - low)), false
FROM between_two WHERE low_at IS NOT NULL AND high_at IS NOT NULL;
