"""Skill check of `acp-server doctor`: number of skills, and those that cannot be loaded."""

from collections.abc import Sequence
from pathlib import Path

from acp_server.cli.check_result import CheckResult
from acp_server.config.settings import Configuration
from acp_server.skills.service import SkillService

MAX_LISTED_PROBLEMS = 5
ADVICE = "fix the file; `acp-server skills list` shows all problems"


def check_skills(configuration: Configuration) -> Sequence[CheckResult]:
    """Check the user's own and the bundled skills, without any workspace. Blocks on disk reads."""
    skill_service = SkillService(configuration.home, Path.home(), configuration.settings.skills)
    library = skill_service.skill_roots(None).library
    skipped = [each for each in library.problems() if each.is_skipped]
    shadowed = len(library.shadowed())
    summary = f"{len(library.skills())} skills"
    summary += f", {shadowed} shadowed by others" if shadowed else ""
    reasons = [str(problem) for problem in skipped[:MAX_LISTED_PROBLEMS]]
    if len(skipped) > MAX_LISTED_PROBLEMS:
        reasons.append(f"{len(skipped) - MAX_LISTED_PROBLEMS} more cannot be loaded")
    warnings = [CheckResult("skills", "warning", reason, ADVICE) for reason in reasons]
    return [CheckResult("skills", "ok", summary), *warnings]
