-- What share of the patched bugs is of one class? Among those with a label of the scheme; `sample_size` also counts those without.
-- Memory types, and consequences where `within` is memory, are shares of the patched memory bugs, as in section V.
WITH chosen AS (
    SELECT p.repo, p.number, l.value
    FROM study_patched p LEFT JOIN study_labels l ON l.repo = p.repo AND l.number = p.number AND l.scheme = $scheme
    WHERE $within = '' OR EXISTS (
        SELECT 1 FROM study_labels w WHERE w.repo = p.repo AND w.number = p.number AND w.scheme || '=' || w.value = $within)
)
SELECT count(*) FILTER (WHERE value = $class) AS k, count(value) AS n, count(*) AS sample_size FROM chosen;
