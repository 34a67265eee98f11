"""Composition root: configuration mapped to subsystems, model endpoints, signals and exit."""
