"""What `acp-server doctor` says of skills: how many there are, and which cannot be loaded."""

from collections.abc import Sequence
from pathlib import Path

from acp_server.cli.findings import Finding
from acp_server.configured import skill_rules
from acp_server.settings import Configuration
from acp_server.skills.room import SkillRoom

MOST_TOLD = 5
ADVICE = "mend it; `acp-server skills list` names them all"


def skill_findings(configuration: Configuration) -> Sequence[Finding]:
    """Return how the skills are that sessions outside of any workspace have. Blocks."""
    room = SkillRoom(configuration.home, Path.home(), skill_rules(configuration))
    library = room.shelf(None).library
    skipped = [each for each in library.problems() if each.is_skipped]
    shadowed = len(library.shadowed())
    told = f"{len(library.skills())} skills"
    told += f", {shadowed} shadowed by others" if shadowed else ""
    faults = [str(problem) for problem in skipped[:MOST_TOLD]]
    if len(skipped) > MOST_TOLD:
        faults.append(f"and {len(skipped) - MOST_TOLD} more that cannot be loaded")
    warnings = [Finding("skills", "warning", fault, ADVICE) for fault in faults]
    return [Finding("skills", "ok", told), *warnings]
