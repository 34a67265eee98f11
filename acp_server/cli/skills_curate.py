"""`acp-server skills curate`: have a model put the skills in order, look first, or take it back."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import click

from acp_server import app, settings
from acp_server.configured import skill_rules
from acp_server.evolution.curation import Curated, Curation, NothingToUndoError, Undone
from acp_server.settings import Configuration
from acp_server.skills.room import SkillRoom
from skills_store.curation import archivals, report_text
from skills_store.errors import SkillError

NOTHING_TO_UNDO = "no pass has changed anything, or the last one was undone already"


@click.command(
    epilog="""\
\b
Examples:
  acp-server skills curate --dry-run   what would be merged and put away?
  acp-server skills curate
  acp-server skills curate --undo      all skills as before the last pass
"""
)
@click.option("--dry-run", is_flag=True, help="Show what would be done; write nothing.")
@click.option("--undo", "is_undo", is_flag=True, help="Take the last pass back.")
@click.option("--model", help="The model to ask; that of the settings if not given.")
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def curate(*, dry_run: bool, is_undo: bool, model: str | None, is_json: bool) -> int:
    """Have a model merge narrow skills into broad ones.

    It touches only skills that an agent made, none that you have pinned, and deletes nothing: what
    is merged goes to the archive. A snapshot of all skills is taken first. The report is kept under
    HERMES_HOME/acp/curator.
    """
    if dry_run and is_undo:
        message = "--dry-run and --undo exclude each other"
        raise click.UsageError(message)
    configuration = settings.load({} if model is None else {"--model": model})
    if is_undo:
        return _guarded(lambda: _undo(configuration, is_json=is_json))
    return _guarded(lambda: _curate(configuration, is_dry=dry_run, is_json=is_json))


def _guarded(work: Callable[[], Awaitable[int]]) -> int:
    """Do it; say what stands in the way."""
    try:
        return anyio.run(work)
    except NothingToUndoError:
        return _failed(NOTHING_TO_UNDO)
    except (SkillError, OSError) as error:
        return _failed(str(error))


def _failed(reason: str) -> int:
    click.echo(f"acp-server skills curate: {reason}", err=True)
    return 1


async def _curate(configuration: Configuration, *, is_dry: bool, is_json: bool) -> int:
    async with app.model_catalog(configuration) as catalog:
        await catalog.refresh()
        curation = Curation(_room(configuration), catalog)
        curated = await (curation.rehearse() if is_dry else curation.run())
    if is_json:
        click.echo(json.dumps(_as_json(curated), ensure_ascii=False, indent=2))
    else:
        click.echo(_as_text(curated))
    return 1 if curated.report.faults else 0


async def _undo(configuration: Configuration, *, is_json: bool) -> int:
    async with app.model_catalog(configuration) as catalog:
        undone = await Curation(_room(configuration), catalog).undo()
    if is_json:
        told = {"undone": undone.undone.name, "safety_snapshot": undone.safety_id}
        click.echo(json.dumps(told))
    else:
        click.echo(_undone_text(undone))
    return 0


def _room(configuration: Configuration) -> SkillRoom:
    return SkillRoom(configuration.home, Path.home(), skill_rules(configuration))


def _as_text(curated: Curated) -> str:
    text = report_text(curated.report)
    if curated.folder is None:
        return f"{text}\nThis is a plan: nothing was written."
    return f"{text}\nThe report is kept in {curated.folder}."


def _undone_text(undone: Undone) -> str:
    return (
        f"All skills are as they were before the pass of {undone.undone.name}. "
        f"How they were until now is kept in the snapshot {undone.safety_id}."
    )


def _as_json(curated: Curated) -> dict[str, object]:
    gone = archivals(curated.report.made)
    return {
        "summary": curated.report.summary,
        "is_plan": curated.folder is None,
        "consolidations": [{"from": each.name, "into": each.into} for each in gone if each.into],
        "prunings": [{"name": each.name} for each in gone if not each.into],
        "faults": list(curated.report.faults),
        "snapshot": curated.report.snapshot_id or None,
        "report": None if curated.folder is None else str(curated.folder),
        "requests": curated.spent.requests,
        "cost_usd": curated.spent.cost_usd,
    }
