"""Skill guard: scans a skill before installation and decides whether to allow it.

Checks the structure of a skill here (kinds, sizes, modes and links of its files); its texts are
judged by a scan that the caller passes in.

The guard only catches known patterns. A skill without findings is not proven safe; the permission
gate still authorises each of its actions.
"""

from skills_store.guard.collecting import collect_skill_files
from skills_store.guard.contents import SkillContents
from skills_store.guard.scanning import TextScan, scan_skill
from skills_store.guard.verdict import (
    POLICY,
    RiskLevel,
    Severity,
    SkillDecision,
    SkillFinding,
    SkillTrust,
    SkillVerdict,
    decide,
)

__all__ = [
    "POLICY",
    "RiskLevel",
    "Severity",
    "SkillContents",
    "SkillDecision",
    "SkillFinding",
    "SkillTrust",
    "SkillVerdict",
    "TextScan",
    "collect_skill_files",
    "decide",
    "scan_skill",
]
