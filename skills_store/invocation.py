"""Slash commands of skills: parse them, and render the prompt for the model.

The caller supplies the built-in commands, which have priority; `/skill:NAME` always reaches a
skill.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from skills_store.collection import SkillCollection, call_name
from skills_store.model_texts import load_model_text
from skills_store.requirements import SkillNeeds
from skills_store.skill import Skill
from skills_store.viewing import SkillView

MAX_STACKED_SKILLS = 5
PREFIX = "skill:"

_COMMAND = re.compile(r"/([a-z][\w.:-]*)(?=\s|\Z)")
_NAME = re.compile(r"[a-z][\w.:-]*")
_PREFIXED_NAME = re.compile(r"[\w.:-]+")


@dataclass(frozen=True, slots=True)
class SkillInvocation:
    """The skills that a prompt invokes, and the rest of its text."""

    names: tuple[str, ...]
    """As the user wrote them, without duplicates; such skills may no longer exist."""
    text: str


@dataclass(frozen=True, slots=True)
class SkillCommand:
    """A slash command that loads a skill."""

    name: str
    """Without the slash."""
    description: str


def parse_invocation(
    text: str, is_built_in: Callable[[str], bool], is_skill: Callable[[str], bool]
) -> SkillInvocation | None:
    """Return the skills that a prompt invokes; None if it is text or a built-in command.

    A command is a leading word with a slash before it and none in it. Up to five may follow each
    other; the text begins at the first one that is no skill.
    """
    names: list[str] = []
    remainder = text.strip()
    while len(names) < MAX_STACKED_SKILLS and (found := _COMMAND.match(remainder)):
        name = found[1].removeprefix(PREFIX)
        is_prefixed = name != found[1]
        if not name or not (is_prefixed or (not is_built_in(name) and is_skill(name))):
            break
        names.append(name)
        remainder = remainder[found.end() :].lstrip()
    return SkillInvocation(tuple(dict.fromkeys(names)), remainder) if names else None


def render_invocation(views: Sequence[SkillView], text: str) -> str:
    """Return the prompt for invoked skills: the skills first, then the user's text."""
    parts: list[str] = []
    for view in views:
        files = ""
        if listed := view.linked_files.all():
            lines = [f"- {path}" for path in listed]
            if view.linked_files.omitted:
                lines.append(f"- and {view.linked_files.omitted} more in the folder")
            scripts = view.linked_files.by_folder["scripts"]
            run = ""
            if scripts:
                script = view.folder / scripts[0]
                run = " " + load_model_text("invocation_scripts").format(script=script)
            files = " " + load_model_text("invocation_files").format(
                listed="\n".join(lines), name=view.name, example=listed[0], run=run
            )
        prompt = load_model_text("invocation")
        content = view.content.strip()
        parts.append(
            prompt.format(name=view.name, content=content, folder=view.folder, files=files)
        )
        if missing := ", ".join([*view.missing_commands, *view.missing_variables]):
            notice = load_model_text("invocation_missing")
            parts.append(notice.format(name=view.name, missing=missing))
        if needs := describe_needs(view.needs):
            parts.append(f"[The skill {view.name!r} here:\n{needs}\n]")
    parts.append(f"[The user's message]\n\n{text}" if text else "[The user wrote nothing more.]")
    return "\n\n".join(parts)


def describe_needs(needs: SkillNeeds) -> str:
    """Return what a skill needs, a line for each; empty if nothing is to be said."""
    lines = [f"setting {key} = {value}" for key, value in needs.settings.items()]
    lines += [f"setting without a value: {each}" for each in needs.unset_settings]
    lines += [f"file with credentials: {path}" for path in needs.credential_files]
    lines += [f"missing file with credentials: {path}" for path in needs.missing_credential_files]
    lines += [f"to get {name}: {text}" for name, text in needs.variable_help.items()]
    lines += [f"variable {name}: {note}" for name, note in needs.variable_notes.items()]
    lines += [f"to set it up: {needs.setup_help}"] if needs.setup_help else []
    lines += [f"its tool {name}: {note}" for name, note in needs.tool_notes.items()]
    return "\n".join(lines)


def list_skill_commands(
    skills: Iterable[Skill], collection: SkillCollection, is_built_in: Callable[[str], bool]
) -> tuple[SkillCommand, ...]:
    """Return the slash commands of skills, sorted.

    Skills that need their category in the name, or whose name is no plain word, have none.
    """
    commands = (
        SkillCommand(command, skill.description)
        for skill in skills
        if call_name(skill, collection) == skill.full_name
        and (command := _command_name(skill.full_name, is_built_in))
    )
    return tuple(sorted(commands, key=lambda command: command.name))


def _command_name(name: str, is_built_in: Callable[[str], bool]) -> str | None:
    if _NAME.fullmatch(name) and not is_built_in(name) and not name.startswith(PREFIX):
        return name
    return f"{PREFIX}{name}" if _PREFIXED_NAME.fullmatch(name) else None
