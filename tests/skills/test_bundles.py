"""Bundles of Hermes: one command that loads several skills."""

from pathlib import Path

from skills_store.bundles import SkillBundle, read_bundles
from tests.skills.skill_sessions import make_session_skills
from tests.skills_store.skill_files import write_file, write_skill
from tests.turn.fake_sinks import MemorySink

BUNDLE = """\
name: Backend Dev
description: Backend work
skills: [review, release, absent]
instruction: Work in small steps.
"""


def never(name: str) -> bool:
    del name
    return False


def test_files_without_skills_and_broken_ones_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "skill-bundles"
    write_file(folder / "a.yaml", BUNDLE)
    write_file(folder / "b.yml", "name: backend-dev\nskills: [other]\n")
    write_file(folder / "c.yaml", "skills: {a: 1}\n")
    write_file(folder / "d.yaml", "skills: [\n")
    write_file(folder / "my_notes.yaml", "skills: [notes]\n")
    assert read_bundles(tmp_path) == {
        "backend-dev": SkillBundle(
            "backend-dev", "Backend work", ("review", "release", "absent"), "Work in small steps."
        ),
        "my-notes": SkillBundle("my-notes", "Load 1 skills together", ("notes",)),
    }
    assert read_bundles(tmp_path / "nowhere") == {}


async def test_a_bundle_loads_its_skills_and_names_those_that_are_missing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    write_skill(home / "skills" / "review")
    write_skill(home / "skills" / "release")
    write_skill(home / "skills" / "backend-dev")
    write_file(home / "skill-bundles" / "a.yaml", BUNDLE)
    skills, sink = make_session_skills(tmp_path), MemorySink()
    await skills.load(lambda: None)
    listed = {each.name: each.description for each in skills.commands(never)}
    assert listed["backend-dev"] == "Backend work"
    expanded = await skills.expand_calls("/backend_dev fix the parser", never, sink)
    assert expanded is not None
    assert expanded.startswith("[Of the bundle, 'absent' is not loaded: There is no skill")
    assert "Work in small steps." in expanded
    assert 'skill "review"' in expanded
    assert 'skill "release"' in expanded
    assert expanded.endswith("fix the parser")
    alone = await skills.expand_calls("/skill:backend-dev", never, sink)
    assert alone is not None
    assert "Work in small steps." not in alone
