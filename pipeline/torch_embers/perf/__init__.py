"""Times of calls and of cases over builds."""
