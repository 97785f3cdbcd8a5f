-- A commit of the history whose pull request is known to be taken back says nothing of a closing, also where the history itself does not know of it;
-- and of several commits the last one before the closing counts.

.read closings.sql
