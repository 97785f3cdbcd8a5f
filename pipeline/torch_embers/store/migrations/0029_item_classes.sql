-- Classes of an item in one row, so that a list and a report cannot come to differ in which source they trust.
CREATE VIEW item_classes AS
SELECT repo, number, list_sort(list(DISTINCT scheme || '=' || value)) AS classes FROM (
    SELECT repo, number, scheme, value FROM gold_labels
    UNION ALL
    SELECT repo, number, scheme, value FROM predictions p
    WHERE value IS NOT NULL AND NOT EXISTS (
        FROM gold_labels g WHERE g.repo = p.repo AND g.number = p.number AND g.scheme = p.scheme)
) GROUP BY ALL;
COMMENT ON VIEW item_classes IS 'Classes of each item as `scheme=value`: the gold labels of a scheme, else what the classifier answers.';
