-- Which components do labels and changed files give each item? Replaces all of them.
-- Temporary tables path_parts and label_parts (name, component, subcomponent, strict) hold the component of each name by data/components.toml.
DELETE FROM components WHERE evidence IN ('path', 'label');

INSERT INTO components
SELECT l.repo, l.number, p.component, p.subcomponent, p.strict, 'label', min(l.name)
FROM labels l JOIN label_parts p ON p.name = l.name
GROUP BY ALL ORDER BY l.repo, l.number, p.subcomponent;

INSERT INTO components
WITH touched AS (
    SELECT f.repo, f.number, f.path FROM pull_files f SEMI JOIN items i ON i.repo = f.repo AND i.number = f.number
    UNION
    -- what repaired an item shows where it was broken
    SELECT l.target_repo, l.target_number, f.path
    FROM links l JOIN pull_files f ON f.repo = l.repo AND f.number = l.number
    WHERE l.relation = 'fixes' AND l.target_number IS NOT NULL
    UNION
    SELECT l.repo, l.number, f.path
    FROM links l JOIN pull_files f ON f.repo = l.target_repo AND f.number = l.target_number
    WHERE l.relation = 'closed_by' AND l.number IS NOT NULL
    UNION
    SELECT l.target_repo, l.target_number, f.path
    FROM links l JOIN commit_files f ON f.repo = l.repo AND f.sha = l.sha
    WHERE l.relation IN ('fixes', 'lands') AND l.target_number IS NOT NULL
)
SELECT t.repo, t.number, p.component, p.subcomponent, p.strict, 'path', min(t.path)
FROM touched t JOIN path_parts p ON p.name = t.path
GROUP BY ALL ORDER BY t.repo, t.number, p.subcomponent;
