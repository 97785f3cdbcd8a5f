-- How far do two annotators agree who labelled the same items without seeing each other's labels? One row per label of an item that two or
-- more of them labelled; kappa of every two, and its interval, are computed from them.
SELECT scheme, annotator, repo, number, value
FROM gold_labels
WHERE annotator_kind <> 'paper' -- the paper's labels were known to the others
QUALIFY count(DISTINCT annotator) OVER (PARTITION BY scheme, repo, number) > 1
ORDER BY scheme, repo, number, annotator, value;
