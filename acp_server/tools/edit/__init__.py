"""Tools and services that change files: diffs, checks, checkpoints, undo."""
