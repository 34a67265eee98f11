"""`acp-server skills curate`: lets a model consolidate the skills, previews or undoes that."""

import json
from functools import partial
from pathlib import Path

import anyio
import click

from acp_server.cli.examples import ExampleCommand
from acp_server.cli.options import JSON
from acp_server.config import settings
from acp_server.config.settings import Configuration
from acp_server.learning.curator_run import CuratorResult, CuratorRuns, NothingToUndoError
from acp_server.server import app
from acp_server.skills.service import SkillService
from skills_store.curation.outcome import archive_outcomes
from skills_store.curation.report import render_report
from skills_store.errors import SkillError

NOTHING_TO_UNDO = "nothing to undo: no run changed anything, or the last one is already undone"


@click.command(cls=ExampleCommand)
@click.option("--dry-run", is_flag=True, help="Show the plan; write nothing.")
@click.option("--undo", "is_undo", is_flag=True, help="Undo the last run.")
@click.option("--model", help="Model to use. Default: the configured model.")
@JSON
def curate(*, dry_run: bool, is_undo: bool, model: str | None, is_json: bool) -> int:
    """Let a model merge narrow skills into broad ones.

    Changes only skills that an agent created and that you have not pinned. Nothing is deleted:
    merged skills are archived, and a snapshot of all skills is taken first. The report is saved in
    HERMES_HOME/acp/curator.
    """
    if dry_run and is_undo:
        raise click.UsageError("--dry-run and --undo cannot be used together")
    configuration = settings.load({} if model is None else {"--model": model})
    work = _undo if is_undo else partial(_curate, is_dry=dry_run)
    try:
        return anyio.run(partial(work, configuration, is_json=is_json))
    except NothingToUndoError:
        reason = NOTHING_TO_UNDO
    except (SkillError, OSError) as error:
        reason = str(error)
    click.echo(f"acp-server skills curate: {reason}", err=True)
    return 1


async def _curate(configuration: Configuration, *, is_dry: bool, is_json: bool) -> int:
    async with app.open_model_catalog(configuration) as catalog:
        await catalog.refresh()
        curation = CuratorRuns(_skill_service(configuration), catalog)
        result = await (curation.dry_run() if is_dry else curation.run())
    if is_json:
        click.echo(json.dumps(_as_json(result), ensure_ascii=False, indent=2))
    else:
        is_plan = result.directory is None
        click.echo(render_report(result.report))
        click.echo(
            "This is a plan; nothing was written."
            if is_plan
            else f"Saved the report in {result.directory}."
        )
    return 1 if result.report.issues else 0


async def _undo(configuration: Configuration, *, is_json: bool) -> int:
    async with app.open_model_catalog(configuration) as catalog:
        undone = await CuratorRuns(_skill_service(configuration), catalog).undo()
    if is_json:
        document = {"undone": undone.undone.name, "safety_snapshot": undone.safety_id}
        click.echo(json.dumps(document))
    else:
        click.echo(
            f"Restored all skills as before the run of {undone.undone.name}. "
            f"Their state until now is saved in the snapshot {undone.safety_id}."
        )
    return 0


def _skill_service(configuration: Configuration) -> SkillService:
    return SkillService(configuration.home, Path.home(), configuration.settings.skills)


def _as_json(result: CuratorResult) -> dict[str, object]:
    removed = archive_outcomes(result.report.changes)
    return {
        "summary": result.report.summary,
        "is_plan": result.directory is None,
        "consolidations": [{"from": each.name, "into": each.into} for each in removed if each.into],
        "prunings": [{"name": each.name} for each in removed if not each.into],
        "faults": list(result.report.issues),
        "snapshot": result.report.snapshot_id or None,
        "report": None if result.directory is None else str(result.directory),
        "requests": result.usage_totals.requests,
        "cost_usd": result.usage_totals.cost_usd,
    }
