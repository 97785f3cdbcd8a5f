-- What stands against a closing makes the disposition unknown, with both statements: a change that was backed out and did not land again,
-- a mark as duplicate beside a fix, the item's reason beside that of the event, a closing and a reopening of one moment or of an unknown
-- one, and a merge of what is called an issue. The word of a human counts also where it is "unknown". Days in which the tracker decided
-- twice are no order.

.read closings.sql
