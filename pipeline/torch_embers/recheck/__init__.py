"""The re-check: what is due, which changes are announced, what it hands to people and services; release candidates."""
