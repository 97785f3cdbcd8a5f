-- Of closed, labelled bugs that are about the data path or about computation, what share is about the data path? (Both: counted as data path.)
SELECT count(*) FILTER (WHERE in_data_path) AS k, count(*) AS n, count(*) AS sample_size
FROM study_issues
WHERE state = 'closed' AND (in_data_path OR computation) AND NOT declined_as_no_bug
  AND list_has_any(signals, ['label_bug', 'label_silent', 'label_crash', 'label_nan_inf']);
