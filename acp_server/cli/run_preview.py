"""`acp-server run --dry-run`: prints the first model request and the permission policy of a run.

The same server builds the request as in a real run; a budget of zero requests stops it before the
request is sent.
"""

import json
from dataclasses import replace

import click
from pydantic import JsonValue

from acp_server.cli.async_runner import run_until_signal
from acp_server.cli.run_options import OutputOptions
from acp_server.cli.run_outputs import cleaner_for
from acp_server.cli.shutdown_signals import ShutdownSignals
from acp_server.headless.run.budget import RunBudget
from acp_server.headless.run.feeds import RunFeed
from acp_server.headless.run.lines import claim_stdout, json_line
from acp_server.headless.run.report import RESULT_VERSION
from acp_server.headless.run.request import RunRequest
from acp_server.headless.run.runner import HeadlessRun
from acp_server.server.config_mapping import content_trust
from acp_server.session.prompting.loaded_files import loaded_context
from acp_server.turn.conversation import Text
from acp_server.turn.ports import ModelRequest
from prompt_engine.sources.context_files import ContextRequest, find_project_context
from prompt_engine.threats import scan

Json = dict[str, JsonValue]
BOUNDARY = "──── cache boundary ────"


def show_preview(request: RunRequest, outputs: OutputOptions, signals: ShutdownSignals) -> int:
    """Print the request that would be sent; return 0, or the exit code of the error."""
    dry_run = replace(request, budget=RunBudget(requests=0), is_ephemeral=request.session is None)
    task = HeadlessRun(dry_run, RunFeed())

    async def work() -> int:
        return (await task.execute()).exit_code

    with claim_stdout() as lines:
        code = run_until_signal(work, signals)
        report = task.report
        cleaner = cleaner_for(request.configuration)
        blocked = task.ledger.blocked_request
        if blocked is None:
            click.echo(f"{report.outcome}: {cleaner.line(report.reason)}", err=True)
            return code or 1
        preview = _preview(request, report.model, blocked)
        if outputs.format_ == "text":
            details = [
                f"{name}: {json.dumps(preview[name], indent=1)}"
                for name in ("instructions_loaded", "policy")
            ]
            text = (
                f"model: {preview['model']}",
                f"tools: {json.dumps(preview['tools'])}",
                str(preview["system"]),
                BOUNDARY,
                str(preview["prompt"]),
                BOUNDARY,
                *details,
            )
            lines.write_now(cleaner.plain("\n".join(text)))
        else:
            lines.write_now(json_line(cleaner.json(preview)))
    return 0


def _preview(request: RunRequest, model: str, blocked: ModelRequest) -> Json:
    texts = [
        part.text
        for message in blocked.messages[-1:]
        for part in message.parts
        if isinstance(part, Text)
    ]
    trust = content_trust(request.configuration.home)
    tools_size = sum(
        len(each.name) + len(each.description) + len(json.dumps(dict(each.schema)))
        for each in blocked.tools
    )
    prefix_size = tools_size + len(blocked.system)
    return {
        "type": "preview",
        "version": RESULT_VERSION,
        "model": model,
        "tools": [tool.name for tool in blocked.tools],
        "system": blocked.system,
        "messages": len(blocked.messages),
        "prompt": "\n".join(texts),
        "cache_boundaries": [
            {"behind": "tools and system", "characters": prefix_size},
            {"behind": "prompt", "characters": prefix_size + sum(map(len, texts))},
        ],
        "instructions_loaded": [
            {
                "path": each.path,
                "sha256": each.sha256,
                "characters": each.characters,
                "truncated": each.is_truncated,
            }
            for each in loaded_context(
                find_project_context(ContextRequest(request.workspace), scan, trust.is_trusted)
            )
        ],
        "policy": _policy(request),
    }


def _policy(request: RunRequest) -> Json:
    rules, budget = request.policy, request.budget
    return {
        "mode": rules.mode,
        "rules": [
            {
                "action": each.action,
                "tools": list(each.tools),
                "paths": list(each.paths),
                "commands": [" ".join(words) for words in each.commands],
                "hosts": list(each.hosts),
            }
            for each in rules.rules.rules
        ],
        "ask": "fail" if rules.stop_on_question else "deny",
        "on_denied": "fail" if rules.stop_on_denial else "continue",
        "project_is_trusted": rules.is_trusted,
        "sandbox": request.configuration.settings.sandbox.mode,
        "max_turns": budget.requests,
        "max_cost_usd": budget.cost_usd,
        "max_tokens": budget.tokens,
        "timeout_seconds": request.timeout_seconds,
    }
