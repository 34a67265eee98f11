"""`acp-server skills curate`: lets a model consolidate the skills, previews or undoes that."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from acp_server.cli.examples import ExampleCommand
from acp_server.cli.options import JSON
from acp_server.config import settings
from acp_server.config.settings import Configuration
from acp_server.skills.service import SkillService
from acp_server.text.control_characters import escape_json
from skills_store.curation.outcome import archive_outcomes
from skills_store.curation.report import render_report
from skills_store.errors import SkillError

if TYPE_CHECKING:
    from acp_server.learning.curator_run import CuratorResult, CuratorRuns


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
    except (SkillError, OSError) as error:
        click.echo(f"acp-server skills curate: {error}", err=True)
        return 1


async def _curate(configuration: Configuration, *, is_dry: bool, is_json: bool) -> int:
    async with _open_runs(configuration) as curation:
        await curation.catalog.refresh()
        result = await (curation.dry_run() if is_dry else curation.run())
    if is_json:
        click.echo(escape_json(json.dumps(_as_json(result), ensure_ascii=False, indent=2)))
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
    async with _open_runs(configuration) as curation:
        undone, safety_id = await curation.undo()
    if is_json:
        document = {"undone": undone.name, "safety_snapshot": safety_id}
        click.echo(escape_json(json.dumps(document)))
    else:
        click.echo(
            f"Restored all skills as before the run of {undone.name}. "
            f"Their state until now is saved in the snapshot {safety_id}."
        )
    return 0


@asynccontextmanager
async def _open_runs(configuration: Configuration) -> AsyncGenerator["CuratorRuns"]:
    # Late: the other commands of the group do not need these imports.
    from acp_server.learning.curator_run import CuratorRuns
    from acp_server.server import app

    skills = SkillService(configuration.home, Path.home(), configuration.settings.skills)
    async with app.open_model_catalog(configuration) as catalog:
        yield CuratorRuns(skills, catalog)


def _as_json(result: "CuratorResult") -> dict[str, object]:
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
