-- A closed issue that a commit of the read history names as fixed, and that no statement of the tracker or of a reader speaks of, was closed
-- as fixed; a commit that was taken back, or that came after the closing, says nothing.

.read closings.sql
