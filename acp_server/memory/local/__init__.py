"""The local memory provider: facts in a SQLite database, without any service."""
