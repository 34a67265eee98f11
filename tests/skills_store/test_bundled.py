"""The skills that come with the package: valid, safe, and true where that can be checked."""

import re
from collections import Counter
from pathlib import Path

import pytest

import skills_store
from acp_server.cli.main import COMMANDS
from acp_server.config.settings import setting_sources
from skills_store.document import validate_new_document
from skills_store.guard.collecting import collect_skill_files
from tests.skills_store.guard.labelled_skills import scan_contents

BUNDLED = Path(skills_store.__file__).parent / "bundled"
SKILLS = sorted(BUNDLED.iterdir())


@pytest.mark.parametrize("folder", SKILLS, ids=lambda folder: folder.name)
def test_a_bundled_skill_conforms_to_the_standard(folder: Path) -> None:
    assert validate_new_document(folder.name, (folder / "SKILL.md").read_text("utf-8")) == ()


@pytest.mark.parametrize("folder", SKILLS, ids=lambda folder: folder.name)
def test_a_bundled_skill_is_safe(folder: Path) -> None:
    verdict = scan_contents(collect_skill_files(folder))
    assert (verdict.level, [str(each) for each in verdict.findings]) == ("safe", [])


@pytest.mark.parametrize("folder", SKILLS, ids=lambda folder: folder.name)
def test_every_file_of_a_bundled_skill_is_referenced_and_exists(folder: Path) -> None:
    text = (folder / "SKILL.md").read_text("utf-8")
    existing = {path for path in collect_skill_files(folder).files if path != "SKILL.md"}
    assert set(re.findall(r"`((?:references|templates|scripts|assets)/[\w.-]+)`", text)) == existing


def test_the_documented_settings_are_complete() -> None:
    text = (BUNDLED / "configure-acp-server/references/settings.md").read_text("utf-8")
    named = set(re.findall(r"`([^`]+)`", text))
    for source in setting_sources().values():
        for name in (source.key, source.variable, source.option):
            known = name in named or f"{name}.acp.replace" in named
            assert not name or known, name
    rows = re.findall(r"^\| (`[\w.]+`)", text, re.MULTILINE)
    assert [row for row, count in Counter(rows).items() if count > 1] == []


def test_the_documented_commands_exist() -> None:
    texts = [path.read_text("utf-8") for path in BUNDLED.rglob("*.md")]
    named = {word for text in texts for word in re.findall(r"`?acp-server ([a-z]+)\b", text)}
    assert named & set(COMMANDS) >= {"doctor", "setup", "serve", "trust", "context", "prompt"}
    assert named - set(COMMANDS) <= {"skills", "speaks"}
