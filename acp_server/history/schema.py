"""The database schema: one migration for each version.

Times are whole microseconds since 1970, UTC. Text that UTF-8 cannot carry (file names may be any
bytes) is stored as a BLOB (see `rows`).
"""

from acp_server.history import text_index

Migration = tuple[str, ...]

_FIRST: Migration = (
    # Distinguishes this database from another one created in its place.
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
    # A separate table: a system prompt is long, and lists of sessions do not need it.
    """
    CREATE TABLE prompts (
        session_id TEXT PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
        text TEXT NOT NULL,
        model_id TEXT NOT NULL,
        written_us INTEGER NOT NULL,
        state TEXT NOT NULL
    )
    """,
    # `ref` is the id of a message or a call. The body of a message or a thought is a chunk of its
    # text, as much as was written at once; any other body is JSON.
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
    # The output of a call's command in chunks; the oldest chunks are deleted.
    """
    CREATE TABLE output (
        session_id TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        entry INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        data TEXT NOT NULL,
        PRIMARY KEY (session_id, entry, seq)
    )
    """,
    # `after_entry` is the last entry that existed when the message was recorded.
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
    *text_index.SCHEMA,
)

_SANDBOX_OPTIONS: Migration = (
    "ALTER TABLE sessions ADD COLUMN network TEXT",
    "ALTER TABLE sessions ADD COLUMN ports TEXT",
)

_FAST_MODE: Migration = ("ALTER TABLE sessions ADD COLUMN fast_mode TEXT",)

MIGRATIONS: tuple[Migration, ...] = (_FIRST, _SANDBOX_OPTIONS, _FAST_MODE)
"""The statements that lead from each version to the next; version 1 starts empty."""
