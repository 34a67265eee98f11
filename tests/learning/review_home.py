"""A home with skills, and scripted conversations that are reviewed."""

from collections.abc import Callable
from pathlib import Path

from pydantic import JsonValue

from acp_server.config.settings import Configuration
from skills_store.home import Home
from skills_store.undo import Undo
from skills_store.usage import Usage, current_time
from tests.support.editor import Editor, Object, at, configuration

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

PATCH = """call: skill_manage
  action: patch
  name: release
  old_string: 2. Tag the commit.
  new_string: "2. Tag the commit, signed: `git tag -s`."
step:
say: Saved.
"""
TALK = f"""prompt: release 1.2
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


def script(review: str = PATCH) -> str:
    """Return a script of a conversation with a correction, followed by a review."""
    return f"{TALK}{review}"


def home_of(folder: Path, review: str = PATCH, settings: str = "") -> Configuration:
    """Return a configuration with one skill, whose reviews are due after two steps."""
    home = folder / "home"
    skill(home, "release", RELEASE)
    own = home / "acp" / "config.yaml"
    own.parent.mkdir(parents=True, exist_ok=True)
    soon = "skills:\n  review_wait_seconds: 0\n  creation_nudge_interval: 2\n"
    own.write_text(f"{soon}{settings}", encoding="utf-8")
    return configuration(home, script(review))


def skill(home: Path, place: str, text: str | None = None, *, is_agents: bool = True) -> Path:
    """Write a skill into a home and return the path of its SKILL.md."""
    folder = home / "skills" / place
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "SKILL.md"
    file.write_text(text or RELEASE.replace("release", folder.name), encoding="utf-8")
    if is_agents:
        Usage(home / "skills").note_creation(folder.name, "agent")
    return file


async def correct(editor: Editor, session_id: str) -> None:
    """Send a prompt and a correction, after which a review is due."""
    await editor.prompt(session_id, "release 1.2")
    await editor.prompt(session_id, "no! always sign the tag")


def says(text: str) -> Callable[[Object], bool]:
    """Return a predicate for notices whose title contains a text."""

    def is_it(message: Object) -> bool:
        return text in notice_of(message)

    return is_it


def notice_of(message: Object) -> str:
    """Return the title of a notice; empty for other messages."""
    if message.get("method") != "session/update":
        return ""
    update = at(message, "params", "update")
    is_notice = at(update, "sessionUpdate") == "notice"
    return str(at(update, "title")) if is_notice else ""


def undo_ids(home: Path) -> list[str]:
    """Return the ids of the undoable reviews."""
    return [each.id for each in Undo(Home(home), current_time).passes()]


DONE = """call: skill_manage
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
