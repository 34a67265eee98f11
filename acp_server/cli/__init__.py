"""Command-line interface: one module per command, and the modules they share."""
