"""What is known of items, as answers: for one, for lists, to paste below an issue."""
