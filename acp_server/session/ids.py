"""Globally unique ids."""

from uuid import uuid4


def new_session_id() -> str:
    """Return a new session id."""
    return f"sess_{uuid4().hex}"


def new_id() -> str:
    """Return a new message id."""
    return f"msg_{uuid4().hex}"
