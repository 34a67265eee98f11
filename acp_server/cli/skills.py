"""`acp-server skills`: lists, shows and validates skills."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
from pydantic import JsonValue

from acp_server.cli.examples import ExampleGroup
from acp_server.cli.options import JSON
from acp_server.cli.skill_library import CWD, CliSkills, complete_name, open_skills, report_failure
from acp_server.cli.skills_curate import curate
from acp_server.cli.skills_hub import search, update
from acp_server.cli.skills_install import install, uninstall
from acp_server.cli.skills_lifecycle import archive, pin, restore, unpin, usage
from acp_server.cli.skills_setup import setup
from acp_server.text.control_characters import escape_json
from acp_server.tools.skills.skill_view import skill_file_json, skill_json
from acp_server.tools.tool_names import TOOL_NAMES
from skills_store.collection import call_name, category_name
from skills_store.discovery import is_ignored_directory
from skills_store.document import validate_new_document
from skills_store.errors import SkillError
from skills_store.ownership import owner_of, read_installed_names
from skills_store.skill import SKILL_FILE
from skills_store.usage import UsageRecord
from skills_store.viewing import BinaryFileView, ViewContext
from skills_store.visibility import reason_hidden

MAX_DESCRIPTION_CHARACTERS = 90


@click.group(cls=ExampleGroup)
def command() -> None:
    """List, show, install, validate and archive skills.

    A skill is a directory with a SKILL.md: instructions that the agent loads when they fit the
    task. Your skills are in HERMES_HOME/skills; `/NAME` in a session loads one.
    """


@command.command("list")
@click.option("--category", help="Only skills in this category and its subcategories.")
@click.option("--all", "is_all", is_flag=True, help="Include skills that are hidden from sessions.")
@CWD
@JSON
def list_skills(category: str | None, cwd: Path, *, is_all: bool, is_json: bool) -> int:
    """List the skills of a session in a directory, and the problems found.

    With --json: {"skills": [{"name", "description", "category", "from", "folder", "owner",
    "pinned", "state", "hidden"}], "problems": [...], "shadowed": [{"folder", "by"}]}.
    """
    skills = open_skills(cwd)
    found = [each for each in _skill_rows(skills) if is_all or not each["hidden"]]
    if category is not None:
        found = [each for each in found if f"{each['category']}/".startswith(f"{category}/")]
    problems = [str(each) for each in skills.library.problems()]
    shadowed = [(each.skill.folder, each.winner.folder) for each in skills.library.shadowed()]
    if is_json:
        page = {
            "skills": found,
            "problems": problems,
            "shadowed": [{"folder": str(folder), "by": str(winner)} for folder, winner in shadowed],
        }
        click.echo(escape_json(json.dumps(page, ensure_ascii=False, indent=2)))
        return 0
    click.echo("\n".join(_lines(found)) or "No skills found.")
    notes = [*problems, *(f"{folder} is shadowed by {winner}" for folder, winner in shadowed)]
    for note in notes:
        click.echo(f"note: {note}", err=True)
    _print_trust_note(skills)
    return 0


@command.command()
@click.argument("name", shell_complete=complete_name)
@click.argument("file", default="")
@CWD
@JSON
def view(name: str, file: str, cwd: Path, *, is_json: bool) -> int:
    """Print the SKILL.md of a skill, or FILE of its directory, as the model sees it.

    With --json: the result of the tool `skill_view`.
    """
    skills = open_skills(cwd)
    viewer = ViewContext({**skills.configuration.dotenv, **skills.service.environment})
    try:
        if file and file != SKILL_FILE:
            shown = skills.library.view_file(name, file, viewer)
            answer = skill_file_json(shown)
            is_binary = isinstance(shown, BinaryFileView)
            text = (
                f"{shown.absolute_path} is not a text file" if is_binary else str(answer["content"])
            )
        else:
            skill = skills.library.view(name, viewer)
            answer, text = skill_json(skill), skill.content
    except SkillError as error:
        return report_failure(error)
    click.echo(escape_json(json.dumps(answer, ensure_ascii=False, indent=2)) if is_json else text)
    return 0


@command.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@JSON
def validate(paths: tuple[Path, ...], *, is_json: bool) -> int:
    """Validate skills against the Agent Skills standard.

    PATHS are skill directories, directories that contain some, or SKILL.md files. The exit code is
    1 if a skill is not valid. With --json: {"FILE": ["line N: ...", ...]} with every checked file.
    """
    files = [file for path in paths for file in _find_skill_files(path.absolute())]
    if not files:
        return report_failure(f"found no {SKILL_FILE} in PATHS")
    found = {str(file): list(_validation_errors(file)) for file in dict.fromkeys(files)}
    if is_json:
        click.echo(escape_json(json.dumps(found, ensure_ascii=False, indent=2)))
    else:
        for name, errors in found.items():
            click.echo("\n".join(f"{name}: {each}" for each in errors) or f"{name}: valid")
    return int(any(found.values()))


def _skill_rows(skills: CliSkills) -> Iterator[dict[str, JsonValue]]:
    collection, claims = skills.library.collection(), read_installed_names(skills.editor.home)
    visibility_facts = skills.service.visibility_facts(frozenset(TOOL_NAMES))
    records = skills.editor.usage.records()
    for skill in collection.skills:
        record = records.get(skill.name) or UsageRecord()
        yield {
            "name": call_name(skill, collection),
            "description": skill.description,
            "category": category_name(skill),
            "from": skill.root.kind,
            "folder": str(skill.folder),
            "owner": owner_of(skill, claims, skills.editor.usage),
            "pinned": record.pinned,
            "state": record.state,
            "hidden": reason_hidden(skill, visibility_facts) or "",
        }


def _lines(rows: list[dict[str, JsonValue]]) -> Iterator[str]:
    """Yield aligned lines for the categories and skills."""
    width = max((len(str(row["name"])) for row in rows), default=0)
    category = ""
    for row in sorted(rows, key=lambda row: (str(row["category"]), str(row["name"]))):
        if row["category"] != category:
            category = str(row["category"])
            yield f"{category}:"
        description = " ".join(str(row["description"]).split())
        if len(description) > MAX_DESCRIPTION_CHARACTERS:
            description = f"{description[: MAX_DESCRIPTION_CHARACTERS - 1]}…"
        yield f"  {row['name']!s:{width}}  {_labels(row)}{description}"


def _labels(row: Mapping[str, JsonValue]) -> str:
    """Return the owner, pin, state and hiding reason of a skill in brackets, if notable."""
    marks = [str(row["owner"])] if row["owner"] not in {"user", "bundled"} else []
    marks += ["pinned"] if row["pinned"] else []
    marks += [str(row["state"])] if row["state"] == "stale" else []
    marks += [f"hidden: {row['hidden']}"] if row["hidden"] else []
    return f"[{', '.join(marks)}] " if marks else ""


def _print_trust_note(skills: CliSkills) -> None:
    """Print a note if the workspace has skills that need trust."""
    if skills.untrusted_workspace is None:
        return
    names = skills.service.workspace_skill_names(skills.untrusted_workspace)
    if names:
        message = f"skills of this workspace, not used until you trust it: {', '.join(names)}"
        click.echo(f"note: {message} (run `acp-server trust`)", err=True)


def _find_skill_files(path: Path) -> Iterator[Path]:
    """Yield the SKILL.md files below a path, without following symlinks to directories."""
    if path.is_file():
        yield path
    elif (path / SKILL_FILE).is_file():
        yield path / SKILL_FILE
    else:
        for each in sorted(path.iterdir()):
            if each.is_dir() and not each.is_symlink() and not is_ignored_directory(each.name):
                yield from _find_skill_files(each)


def _validation_errors(file: Path) -> Iterator[str]:
    try:
        text = file.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        yield f"cannot be read: {error}"
        return
    if file.name != SKILL_FILE:
        yield f"must be named {SKILL_FILE}"
    yield from (
        f"line {each.line}: {each.text}" for each in validate_new_document(file.parent.name, text)
    )


for _command in (
    *(search, install, update, uninstall, setup),
    *(pin, unpin, archive, restore, usage, curate),
):
    command.add_command(_command)
