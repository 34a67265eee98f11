"""Tools over the skill library."""
