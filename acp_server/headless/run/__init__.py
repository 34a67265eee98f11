"""Headless runs: one task without an editor, with rules instead of a user who is asked."""
