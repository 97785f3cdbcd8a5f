-- How far do two annotators agree who labelled the same items? One row per label of an item that two or more of them labelled; kappa of every
-- two, and its interval, are computed from them. The paper's labels come first; the annotators of the catalog could know them.
SELECT scheme, annotator, annotator_kind AS kind, repo, number, value
FROM gold_labels
QUALIFY count(DISTINCT annotator) OVER (PARTITION BY scheme, repo, number) > 1
ORDER BY scheme, repo, number, annotator, value;
