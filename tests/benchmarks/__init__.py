"""Figures, one command each; never part of the test run, and no wall time fails anything."""
