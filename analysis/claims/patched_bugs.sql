-- How many of those have at least one patch that was there before August 2024?
SELECT count(*) AS k FROM study_patched;
