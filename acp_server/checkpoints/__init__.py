"""Checkpoints: file states from before a turn, stored outside the workspace, for undo."""
