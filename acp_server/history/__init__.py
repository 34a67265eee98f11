"""What is kept of sessions, in a database of SQLite: the adapter of the port `session.records`."""
