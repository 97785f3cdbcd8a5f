-- Which items and commits are linked, how, and by which evidence?
SELECT repo, number, sha, relation, target_repo, target_number, target_sha, evidence, found_in, rule, stated_at
FROM links ORDER BY ALL
