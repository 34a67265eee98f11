"""Policy: the decision on a skill by its risk level and the trust in its source."""

from collections.abc import Mapping
from typing import Literal

from skills_store.guard.verdict import RiskLevel

SkillTrust = Literal["builtin", "trusted", "community", "agent-created"]
"""Author: this package; a source named in the user's settings; the public; the model."""
SkillDecision = Literal["allow", "ask", "block"]

POLICY: Mapping[SkillTrust, Mapping[RiskLevel, SkillDecision]] = {
    "builtin": {"safe": "allow", "caution": "allow", "dangerous": "allow"},
    "trusted": {"safe": "allow", "caution": "allow", "dangerous": "block"},
    "community": {"safe": "allow", "caution": "block", "dangerous": "block"},
    "agent-created": {"safe": "allow", "caution": "allow", "dangerous": "ask"},
}


def decide(trust: SkillTrust, level: RiskLevel) -> SkillDecision:
    """Return the decision for a skill of this level from such a source."""
    return POLICY[trust][level]
