"""The tables, and how they came to be: one migration for each version.

Times are whole microseconds since 1970, UTC. A text that UTF-8 cannot carry (a file's name may be
any bytes) stands as a BLOB (`spelling` of columns in `rows`).
"""

from acp_server.history import texts

Migration = tuple[str, ...]

_FIRST: Migration = (
    # What tells this database from another one in its place.
    "CREATE TABLE origin (key TEXT NOT NULL)",
    "INSERT INTO origin VALUES (lower(hex(randomblob(16))))",
    """
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        cwd TEXT NOT NULL,
        additional TEXT NOT NULL,
        created_us INTEGER NOT NULL,
        updated_us INTEGER NOT NULL,
        title TEXT NOT NULL,
        mode TEXT NOT NULL,
        model_id TEXT,
        thought_level TEXT,
        input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        cache_read_tokens INTEGER NOT NULL,
        cache_write_5m_tokens INTEGER NOT NULL,
        cache_write_1h_tokens INTEGER NOT NULL,
        requests INTEGER NOT NULL,
        cost_usd REAL,
        context_tokens INTEGER NOT NULL,
        is_turn_open INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID
    """,
    "CREATE INDEX sessions_by_use ON sessions (updated_us DESC, id DESC)",
    "CREATE INDEX sessions_of_folder ON sessions (cwd, updated_us DESC, id DESC)",
    # Apart from the rest: it is long, and lists do not show it.
    """
    CREATE TABLE prompts (
        session_id TEXT PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
        text TEXT NOT NULL,
        model_id TEXT NOT NULL,
        written_us INTEGER NOT NULL,
        state TEXT NOT NULL
    )
    """,
    # `ref` is the id of a message or a call. The body of a message or a thought is its text, as
    # much of it as was written at once; that of anything else is JSON.
    """
    CREATE TABLE entries (
        session_id TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        kind TEXT NOT NULL,
        ref TEXT NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (session_id, seq)
    )
    """,
    # What the command of a call printed, piece by piece; the oldest pieces are taken away.
    """
    CREATE TABLE output (
        session_id TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        entry INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        data TEXT NOT NULL,
        PRIMARY KEY (session_id, entry, seq)
    )
    """,
    # `after_entry` is the last entry that was there when the message came.
    """
    CREATE TABLE messages (
        session_id TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        after_entry INTEGER NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (session_id, seq)
    )
    """,
    """
    CREATE TABLE leases (
        session_id TEXT PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
        holder TEXT NOT NULL,
        machine TEXT NOT NULL,
        pid INTEGER NOT NULL,
        started TEXT NOT NULL,
        beat_us INTEGER NOT NULL
    )
    """,
    "CREATE INDEX leases_of_holder ON leases (holder)",
    *texts.SCHEMA,
)

MIGRATIONS: tuple[Migration, ...] = (_FIRST,)
"""What makes each version of the one before; version 1 is made of an empty database."""
