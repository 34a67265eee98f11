"""Ids that are unique for all time."""

from uuid import uuid4


def new_session_id() -> str:
    """Return an id for a session."""
    return f"sess_{uuid4().hex}"


def new_id() -> str:
    """Return an id for a message."""
    return f"msg_{uuid4().hex}"
