"""Hunts: every operator of a build under oracles, and a user's own script under them."""
