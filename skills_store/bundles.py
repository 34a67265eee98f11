"""Bundles: files that name several skills, which one slash command loads together.

`HERMES_HOME/skill-bundles/NAME.yaml` has `name`, `description`, `skills`, `instruction`. A bundle
comes before a skill of the same name. A file that cannot be read is left out, with a warning.
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from skills_store.invocation import SkillCommand

MAX_BYTES = 64 * 1024
MAX_SKILLS = 20

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SkillBundle:
    """A bundle of skills."""

    name: str
    """Its slash command."""
    description: str
    skills: tuple[str, ...]
    instruction: str = ""
    """What the author adds to the skills."""


def read_bundles(home: Path) -> Mapping[str, SkillBundle]:
    """Return the bundles of a Hermes home by command; the first file of a name wins. Blocks."""
    folder = home / "skill-bundles"
    found: dict[str, SkillBundle] = {}
    if not folder.is_dir():
        return found
    for path in sorted((*folder.glob("*.yaml"), *folder.glob("*.yml"))):
        try:
            bundle = _read_bundle(path)
        except (OSError, ValueError) as error:
            logger.warning("the skill bundle %s is left out: %s", path, error)
            continue
        found.setdefault(bundle.name, bundle)
    return found


def bundle_commands(bundles: Mapping[str, SkillBundle]) -> tuple[SkillCommand, ...]:
    """Return the slash commands of bundles."""
    return tuple(SkillCommand(each.name, each.description) for each in bundles.values())


def _read_bundle(path: Path) -> SkillBundle:
    """Return the bundle in a file.

    Raises:
        ValueError: it is no bundle.
        OSError: it cannot be read.
    """
    import yaml  # slow to import, and most homes have no bundle

    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        message = "it is too long"
        raise ValueError(message)
    try:
        document = cast("object", yaml.safe_load(data))
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    if not isinstance(document, dict):
        message = "it is no mapping"
        raise ValueError(message)
    fields = cast("dict[str, object]", document)
    listed = fields.get("skills")
    names = cast("list[object]", listed) if isinstance(listed, list) else []
    skills = tuple(dict.fromkeys(str(each).strip() for each in names if str(each).strip()))
    name = _command_name(str(fields.get("name") or path.stem))
    if not name or not skills:
        message = "it needs a name and a list of skills"
        raise ValueError(message)
    description = str(fields.get("description") or "").strip()
    return SkillBundle(
        name,
        description or f"Load {len(skills)} skills together",
        skills[:MAX_SKILLS],
        str(fields.get("instruction") or "").strip(),
    )


def _command_name(name: str) -> str:
    """Return the command of a bundle's name, as Hermes writes it.

    >>> _command_name("Backend Dev!")
    'backend-dev'
    """
    words = re.sub(r"[ _]", "-", name.strip().lower())
    return re.sub(r"-{2,}", "-", re.sub(r"[^a-z0-9-]", "", words)).strip("-")
