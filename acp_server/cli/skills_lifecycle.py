"""`acp-server skills pin|unpin|archive|restore|usage`: manages the life cycle of skills."""

import json
from datetime import datetime

import click
from pydantic import JsonValue

from acp_server.cli.examples import ExampleCommand
from acp_server.cli.options import JSON
from acp_server.cli.skill_library import (
    complete_archived,
    complete_name,
    open_skills,
    report_failure,
)
from acp_server.text.control_characters import escape_json
from skills_store.calls import ManageCall
from skills_store.errors import SkillError
from skills_store.usage import format_time

NAME = click.argument("name", shell_complete=complete_name)


def _pin_command(verb: str, meaning: str, *, is_pinned: bool) -> click.Command:
    """Return the command that pins or unpins a skill."""

    @click.command(verb, cls=ExampleCommand, help=meaning)
    @NAME
    def command(name: str) -> int:
        skills = open_skills()
        try:
            skill, records = skills.library.find(name), skills.editor.usage
            (records.pin if is_pinned else records.unpin)(skill.name)
        except (SkillError, OSError) as error:
            return report_failure(error)
        click.echo(f"{'Pinned' if is_pinned else 'Unpinned'} {skill.name}")
        return 0

    return command


pin = _pin_command(
    "pin", "Protect a skill from deletion and from automatic changes.", is_pinned=True
)
unpin = _pin_command("unpin", "Remove the protection of a pinned skill.", is_pinned=False)


@click.command(cls=ExampleCommand)
@NAME
@click.option(
    "--absorbed-into",
    default="",
    shell_complete=complete_name,
    help="Skill that now contains the content.",
)
def archive(name: str, absorbed_into: str) -> int:
    """Archive one of your own skills; `restore` brings it back."""
    editor = open_skills().editor
    call = ManageCall("delete", name, absorbed_into=absorbed_into, origin="user")
    try:
        done = editor.commit(editor.plan(call))
    except (SkillError, OSError) as error:
        return report_failure(error)
    click.echo(done.message)
    return 0


@click.command(cls=ExampleCommand)
@click.argument("name", required=False, shell_complete=complete_archived)
@click.option("--list", "is_list", is_flag=True, help="List archived skills and reviews.")
@JSON
def restore(name: str | None, *, is_list: bool, is_json: bool) -> int:
    """Restore an archived skill, or undo the changes of a review or of the curator.

    NAME is the name of a skill or the id of a review. With --list --json: {"archived": [{"name",
    "archived_at", "absorbed_into", "reason"}], "reviews": [{"id", "by", "at", "skills",
    "is_undone"}]}.
    """
    if is_list or name is None:
        if name is not None or not is_list:
            raise click.UsageError("Give either the NAME of an archived skill or --list.")
        return _list_restorable(is_json=is_json)
    editor = open_skills().editor
    try:
        if any(each.id == name for each in editor.undo_records()):
            undone = editor.undo(name)
            changed = ", ".join(dict.fromkeys(step.name for step in undone.steps))
            result = f"Undid the changes to {changed}"
        else:
            result = f"Restored {name} to {editor.restore(name)}"
    except (SkillError, OSError) as error:
        return report_failure(error)
    click.echo(json.dumps({"success": True, "message": result}) if is_json else result)
    return 0


@click.command(cls=ExampleCommand)
@JSON
def usage(*, is_json: bool) -> int:
    """Show how often, and when last, each skill was used.

    With --json: {NAME: {"views", "uses", "patches", "last_activity_at", "created_at",
    "created_by", "pinned", "state"}}.
    """
    records = open_skills().editor.usage.records()
    if is_json:
        page = {
            name: {
                "views": record.view_count,
                "uses": record.use_count,
                "patches": record.patch_count,
                "last_activity_at": _json_time(record.last_activity_at),
                "created_at": _json_time(record.created_at),
                "created_by": record.created_by,
                "pinned": record.pinned,
                "state": record.state,
            }
            for name, record in sorted(records.items())
        }
        click.echo(escape_json(json.dumps(page, ensure_ascii=False, indent=2)))
        return 0
    if not records:
        click.echo("No skill was used yet.")
        return 0
    width = max(len("skill"), *map(len, records))
    click.echo(f"{'skill':{width}}  views  uses  patches  last used   state")
    for name, record in sorted(records.items()):
        counts = f"{record.view_count:5}  {record.use_count:4}  {record.patch_count:7}"
        state = f"{record.state}{', pinned' if record.pinned else ''}"
        click.echo(f"{name:{width}}  {counts}  {_date_text(record.last_activity_at):10}  {state}")
    return 0


def _list_restorable(*, is_json: bool) -> int:
    editor = open_skills().editor
    archived: list[JsonValue] = [
        {
            "name": each.name,
            "archived_at": _json_time(each.archived_at),
            "absorbed_into": each.absorbed_into,
            "reason": each.reason,
        }
        for each in editor.archive.entries()
    ]
    reviews: list[JsonValue] = [
        {
            "id": each.id,
            "by": each.origin,
            "at": _json_time(each.began_at),
            "skills": [*dict.fromkeys(step.name for step in each.steps)],
            "is_undone": each.undone_at is not None,
        }
        for each in editor.undo_records()
    ]
    if is_json:
        click.echo(escape_json(json.dumps({"archived": archived, "reviews": reviews}, indent=2)))
        return 0
    lines = [
        f"{each.name}  archived {_date_text(each.archived_at)}: {each.reason or 'no reason given'}"
        for each in editor.archive.entries()
    ]
    for each in editor.undo_records():
        changed = ", ".join(dict.fromkeys(step.name for step in each.steps))
        undone = " (undone)" if each.undone_at is not None else ""
        lines.append(f"{each.id}  {each.origin} {_date_text(each.began_at)}: {changed}{undone}")
    click.echo("\n".join(lines) or "Nothing to restore.")
    return 0


def _json_time(time: datetime | None) -> str | None:
    return None if time is None else format_time(time)


def _date_text(time: datetime | None) -> str:
    return "never" if time is None else f"{time:%Y-%m-%d}"
