"""`embers audit`: which known bugs of a PyTorch release the operators of a user's code can meet."""
