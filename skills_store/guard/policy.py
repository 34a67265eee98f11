"""What becomes of a skill: its level against the trust in where it comes from."""

from collections.abc import Mapping
from typing import Literal

from skills_store.guard.verdict import Level

Trust = Literal["builtin", "trusted", "community", "agent-created"]
"""Who wrote it: this package; a source that the user's settings name; anybody; the model."""
Decision = Literal["allow", "ask", "block"]

POLICY: Mapping[Trust, Mapping[Level, Decision]] = {
    "builtin": {"safe": "allow", "caution": "allow", "dangerous": "allow"},
    "trusted": {"safe": "allow", "caution": "allow", "dangerous": "block"},
    "community": {"safe": "allow", "caution": "block", "dangerous": "block"},
    "agent-created": {"safe": "allow", "caution": "allow", "dangerous": "ask"},
}


def decide(trust: Trust, level: Level) -> Decision:
    """Return what becomes of a skill of this level from such a source."""
    return POLICY[trust][level]
