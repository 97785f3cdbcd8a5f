-- Beside what was not found in the report stands what the report quotes.

COMMENT ON COLUMN timelines.evidence IS 'What of the observation stands where in the report; for other, the error that the report quotes.';
