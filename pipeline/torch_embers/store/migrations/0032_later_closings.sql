-- What an annotator read holds up to the day of its evidence. What the tracker decided after that day and that contradicts it
-- makes the disposition unknown, with both statements; what was before it the annotator has seen. A reading without a day
-- cannot be ordered against events: it holds only where no closing contradicts it and no reopening is known.
--
-- The view is made by 0034, which replaced this one.
SELECT 1;
