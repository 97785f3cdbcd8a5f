-- The words of statuses as they are now. Which rows claim too much by them depends on cases and dispositions: `run/shipped.py`
-- takes those back when the database is brought up to date.
COMMENT ON COLUMN status_history.status IS 'open_and_occurs, open_but_absent, closed_but_occurs, declined_occurs, undecided_occurs, undecided_absent, fixed, regressed, undecided, never_reproduced or untestable_here.';
