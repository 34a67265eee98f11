"""File access of a session: through the editor's buffers if possible, else atomically on disk."""
