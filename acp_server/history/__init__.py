"""Session history in an SQLite database: the adapter of the port `session.ports.archive`."""
