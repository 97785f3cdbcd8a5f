-- Closed issues whose own case still fails on 2.15.0.
SELECT number, disposition, k, n, cases.name
FROM latest_verdicts
    JOIN builds USING (build)
    JOIN cases USING (case_hash)
    JOIN case_items USING (case_hash)
    JOIN item_dispositions USING (repo, number)
WHERE verdict = 'occurs' AND version = '2.15.0' AND relation = 'same'
ORDER BY number DESC
LIMIT 5
