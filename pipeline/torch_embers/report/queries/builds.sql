-- On which builds and in which environments were verdicts reached?
SELECT split_part(b.version, '+', 1) AS release, any_value(b.git_commit) AS git_commit, any_value(b.platform) AS platform,
       any_value(b.python) AS python, list_sort(list(DISTINCT concat_ws(', ', e.device, e.processor, e.capability, e.system)))
       AS places, count(*) FILTER (v.verdict <> 'untestable') AS verdicts, max(v.decided_at) AS newest
FROM latest_verdicts v JOIN builds b USING (build) JOIN environments e USING (environment)
GROUP BY release
ORDER BY list_transform(string_split(regexp_extract(release, '^[0-9.]*[0-9]'), '.'), lambda part: try_cast(part AS BIGINT)), release
