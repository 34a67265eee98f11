"""A home with skills, and scripted conversations that are reviewed."""

from collections.abc import Callable
from pathlib import Path

from pydantic import JsonValue

from acp_server.config.settings import Configuration
from skills_store.home import AgentHome
from skills_store.undo import SkillUndoStore
from skills_store.usage import SkillUsageStore, current_time
from tests.support.editor import Editor, Object, json_at, make_configuration

NOTICES: JsonValue = {"session": {"notices": {}}}
REVIEW = "Look back over the conversation"
"""Text that every review prompt contains."""

RELEASE = """---
name: release
description: Use when a version is released.
---

1. Run the tests.
2. Tag the commit.
"""
PATCHED = RELEASE.replace("2. Tag the commit.", "2. Tag the commit, signed: `git tag -s`.")

PATCH_STEPS = """call: skill_manage
  action: patch
  name: release
  old_string: 2. Tag the commit.
  new_string: "2. Tag the commit, signed: `git tag -s`."
step:
say: Saved.
"""
CONVERSATION_SCRIPT = f"""prompt: release 1.2
call: skill_view
  name: release
step:
say: Released.
prompt: sign
call: skills_list
step:
say: It is signed now.
prompt: thanks
say: You are welcome.
prompt: {REVIEW}
"""


def make_script(review: str = PATCH_STEPS) -> str:
    """Return a script of a conversation with a correction, followed by a review."""
    return f"{CONVERSATION_SCRIPT}{review}"


def make_review_configuration(
    folder: Path, review: str = PATCH_STEPS, settings: str = ""
) -> Configuration:
    """Return a configuration with one skill, whose reviews are due after two steps."""
    home = folder / "home"
    write_skill(home, "release", RELEASE)
    config_file = home / "acp" / "config.yaml"
    config_file.parent.mkdir(parents=True, exist_ok=True)
    review_settings = "skills:\n  review_wait_seconds: 0\n  creation_nudge_interval: 2\n"
    config_file.write_text(f"{review_settings}{settings}", encoding="utf-8")
    return make_configuration(home, make_script(review))


def write_skill(
    home: Path, name: str, text: str | None = None, *, is_created_by_agent: bool = True
) -> Path:
    """Write a skill into a home and return the path of its SKILL.md."""
    folder = home / "skills" / name
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "SKILL.md"
    file.write_text(text or RELEASE.replace("release", folder.name), encoding="utf-8")
    if is_created_by_agent:
        SkillUsageStore(home / "skills").record_creation(folder.name, "agent")
    return file


async def make_review_due(editor: Editor, session_id: str) -> None:
    """Send a prompt and a correction, after which a review is due."""
    await editor.prompt(session_id, "release 1.2")
    await editor.prompt(session_id, "no! always sign the tag")


def notice_contains(text: str) -> Callable[[Object], bool]:
    """Return a predicate for notices whose title contains a text."""

    def is_it(message: Object) -> bool:
        return text in notice_title(message)

    return is_it


def notice_title(message: Object) -> str:
    """Return the title of a notice; empty for other messages."""
    if message.get("method") != "session/update":
        return ""
    update = json_at(message, "params", "update")
    is_notice = json_at(update, "sessionUpdate") == "notice"
    return str(json_at(update, "title")) if is_notice else ""


def undo_ids(home: Path) -> list[str]:
    """Return the ids of the undoable reviews."""
    return [each.id for each in SkillUndoStore(AgentHome(home), current_time).records()]


DONE_STEPS = """call: skill_manage
  action: create
  name: seen
  content: |
    ---
    name: seen
    description: Tells that the review came to its end.
    ---
    1. Look.
step:
say: Saved.
"""
"""Last steps of a review, which create a skill so that a test can detect the end."""
