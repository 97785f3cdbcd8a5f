-- Which builds are spoken of? `releases` (build, position) comes from Python: versions do not sort as text.
SELECT
    r.position, b.build, split_part(b.version, '+', 1) AS release, b.version,
    nullif(b.git_commit, '') AS git_commit, b.channel, b.platform, b.python
FROM chosen_builds b
JOIN releases r USING (build)
ORDER BY r.position
