"""Tests of merged fixes as scripts: which tests a commit adds or changes, and what of their file they need."""
