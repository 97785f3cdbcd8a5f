-- What the tracker says of each closing is a view of its own, issue_closings; the rows of the other two are the same.

.read closings.sql
