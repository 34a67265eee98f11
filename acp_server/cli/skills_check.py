"""Skill check of `acp-server doctor`: number of skills, and those that cannot be loaded."""

from collections.abc import Sequence
from pathlib import Path

from acp_server.cli.check_result import Finding
from acp_server.config.settings import Configuration
from acp_server.server.config_mapping import skill_rules
from acp_server.skills.service import SkillRoom

MOST_TOLD = 5
ADVICE = "fix the file; `acp-server skills list` shows all problems"


def skill_findings(configuration: Configuration) -> Sequence[Finding]:
    """Check the user's own and the bundled skills, without any workspace. Blocks on disk reads."""
    room = SkillRoom(configuration.home, Path.home(), skill_rules(configuration))
    library = room.shelf(None).library
    skipped = [each for each in library.problems() if each.is_skipped]
    shadowed = len(library.shadowed())
    told = f"{len(library.skills())} skills"
    told += f", {shadowed} shadowed by others" if shadowed else ""
    faults = [str(problem) for problem in skipped[:MOST_TOLD]]
    if len(skipped) > MOST_TOLD:
        faults.append(f"{len(skipped) - MOST_TOLD} more cannot be loaded")
    warnings = [Finding("skills", "warning", fault, ADVICE) for fault in faults]
    return [Finding("skills", "ok", told), *warnings]
