-- Every claim of the paper: what it says, the printed number, ours, and the verdict.
SELECT id AS "`claim`", section || ', ' || place AS "where", states || ' ' || explains AS "what it says, and how ours is counted",
  
  printf('%.' || decimals || 'f', printed) AS printed, printf('%.' || (decimals + (ours <> round(ours))::INT) || 'f', ours) AS ours, verdict AS "`verdict`", why, checks AS consistency
FROM 'analysis/results/claims.csv'
