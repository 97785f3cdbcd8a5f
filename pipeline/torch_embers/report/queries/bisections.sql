-- Since which build is a bug there or gone, what was asked, and which commits may have done it? The newest search of each session, which is
-- a hash of what is searched: script, builds, ends and environment.
WITH newest AS (
    FROM bisections QUALIFY row_number() OVER (PARTITION BY session ORDER BY number DESC) = 1
), steps AS (
    SELECT session, number, list({version: version, answer: answer, k: k, n: n, detail: detail} ORDER BY asked_at, batch, version) AS steps
    FROM bisection_steps GROUP BY ALL
), commits AS (
    SELECT session, number, list({sha: sha, pull: pull, subject: subject, files: files, words: words, names_the_issue: names_the_issue} ORDER BY place) AS commits
    FROM bisection_commits GROUP BY ALL
)
SELECT b.subject, b.kind, b.confidence, b.text, b.started_at, b.finished_at, coalesce(s.steps, []) AS steps,
    b.commits_before, b.commits_after, b.commits_basis, b.commits_total, coalesce(c.commits, []) AS commits
FROM newest b LEFT JOIN steps s USING (session, number) LEFT JOIN commits c USING (session, number)
ORDER BY b.subject, b.started_at DESC, b.session
