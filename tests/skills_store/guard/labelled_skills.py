"""Reader of the labelled corpus: hostile and harmless skills, each a table of files.

`tuning` was used while the rules were written. `mended` was written after them, and the rules were
extended for the skills that they missed. `holdout` was written last and is only counted.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from prompt_engine.threats import scan_skill_text
from skills_store.guard.contents import SkillContents
from skills_store.guard.scanning import scan_skill
from skills_store.guard.verdict import SkillVerdict

CORPUS = Path(__file__).parent / "corpus"
PARTS = ("tuning", "mended", "holdout")
FRONTMATTER = "---\nname: {name}\ndescription: Does one thing. Use it then.\n---\n\n"


@dataclass(frozen=True, slots=True)
class LabelledSkill:
    name: str
    contents: SkillContents
    category: str = ""


def scan_contents(contents: SkillContents) -> SkillVerdict:
    """Scan a skill for harmful actions alone, without the scan for injected instructions."""
    return scan_skill(contents, scan_skill_text)


@cache
def read_hostile(part: str) -> tuple[LabelledSkill, ...]:
    return _read(f"hostile_{part}")


@cache
def read_harmless(part: str) -> tuple[LabelledSkill, ...]:
    return _read(f"ordinary_{part}")


def _read(name: str) -> tuple[LabelledSkill, ...]:
    tables: dict[str, dict[str, str]] = tomllib.loads((CORPUS / f"{name}.toml").read_text("utf-8"))
    return tuple(
        LabelledSkill(f"{name}-{skill}", _contents(skill, table), table.get("category", ""))
        for skill, table in tables.items()
    )


def _contents(skill: str, table: Mapping[str, str]) -> SkillContents:
    texts = {path: text for path, text in table.items() if path != "category"}
    texts["SKILL.md"] = FRONTMATTER.format(name=skill) + texts["SKILL.md"]
    return SkillContents({path: text.lstrip("\n").encode() for path, text in texts.items()})
