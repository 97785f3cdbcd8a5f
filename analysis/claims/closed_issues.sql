-- How many issues of the data path from 2017 on were closed before August 2024?
SELECT count(*) AS k FROM study_closed;
