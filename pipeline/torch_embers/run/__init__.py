"""Builds, the sandbox, runs of cases in it, and the verdicts they give."""
