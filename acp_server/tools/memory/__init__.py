"""Tools over memory and past sessions."""
