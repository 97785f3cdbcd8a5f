"""What tests of one subject share, a module for each: definitions of the quick and the nightly tests alike."""
