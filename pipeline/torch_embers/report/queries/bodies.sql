-- The beginning of the first post of the items that get a page, and whether it goes on.
SELECT i.repo, i.number, left(i.body, $characters) AS excerpt, length(i.body) > $characters AS is_cut
FROM items i SEMI JOIN paged p ON p.repo = i.repo AND p.number = i.number
WHERE coalesce(i.body, '') <> ''
ORDER BY ALL
