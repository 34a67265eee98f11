"""`acp-server run --dry-run`: prints the first model request and the permission policy of a run.

The same server builds the request as in a real run; a budget of zero requests stops it before the
request is sent.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

import click
from pydantic import JsonValue

from acp_server.cli.async_runner import run_until_signal
from acp_server.cli.run_outputs import OutputOptions, cleaner_for
from acp_server.cli.shutdown_signals import ShutdownSignals
from acp_server.headless.run.budget import RunBudget
from acp_server.headless.run.feeds import SilentFeed
from acp_server.headless.run.lines import claim_stdout, json_line
from acp_server.headless.run.request import RunRequest
from acp_server.headless.run.result import RESULT_VERSION
from acp_server.headless.run.runner import HeadlessRun
from acp_server.permissions.run_rules import RunRule
from acp_server.server.config_mapping import content_trust
from acp_server.session.prompting.loaded_files import loaded_context
from acp_server.session.prompting.provider import LoadedFile
from acp_server.turn.conversation import Text
from acp_server.turn.ports import ModelRequest
from prompt_engine.sources.context_files import ContextRequest, find_project_context
from prompt_engine.threats import scan

Json = dict[str, JsonValue]
BOUNDARY = "──── cache boundary ────"


def show_preview(request: RunRequest, outputs: OutputOptions, signals: ShutdownSignals) -> int:
    """Print the request that would be sent; return 0, or the exit code of the error."""
    dry_run = replace(request, budget=RunBudget(requests=0), is_ephemeral=request.session is None)
    task = HeadlessRun(dry_run, SilentFeed())

    async def work() -> int:
        return (await task.execute()).exit_code

    with claim_stdout() as lines:
        code = run_until_signal(work, signals)
        report = task.report
        cleaner = cleaner_for(request.configuration)
        if task.blocked_request is None:
            click.echo(f"{report.outcome}: {cleaner.line(report.reason)}", err=True)
            return code or 1
        preview = _preview(request, report.model, task.blocked_request)
        if outputs.format_ == "text":
            lines.write_now(cleaner.plain("\n".join(_preview_lines(preview))))
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
    return {
        "type": "preview",
        "version": RESULT_VERSION,
        "model": model,
        "tools": [tool.name for tool in blocked.tools],
        "system": blocked.system,
        "messages": len(blocked.messages),
        "prompt": "\n".join(texts),
        "cache_boundaries": [
            {"behind": "tools and system", "characters": _prefix_characters(blocked)},
            {"behind": "prompt", "characters": _prefix_characters(blocked) + sum(map(len, texts))},
        ],
        "instructions_loaded": [_file(each) for each in _instructions(request)],
        "policy": _policy(request),
    }


def _prefix_characters(request: ModelRequest) -> int:
    tools = sum(
        len(each.name) + len(each.description) + len(json.dumps(dict(each.schema)))
        for each in request.tools
    )
    return tools + len(request.system)


def _instructions(request: RunRequest) -> Sequence[LoadedFile]:
    trust = content_trust(request.configuration.home)
    return list(
        loaded_context(
            find_project_context(ContextRequest(request.workspace), scan, trust.is_trusted)
        )
    )


def _file(file: LoadedFile) -> Json:
    return {
        "path": file.path,
        "sha256": file.sha256,
        "characters": file.characters,
        "truncated": file.is_truncated,
    }


def _policy(request: RunRequest) -> Json:
    rules, budget = request.policy, request.budget
    return {
        "mode": rules.mode,
        "rules": [_rule(each) for each in rules.rules.rules],
        "ask": "fail" if rules.stop_on_question else "deny",
        "on_denied": "fail" if rules.stop_on_denial else "continue",
        "project_is_trusted": rules.is_trusted,
        "sandbox": request.configuration.settings.sandbox.mode,
        "max_turns": budget.requests,
        "max_cost_usd": budget.cost_usd,
        "max_tokens": budget.tokens,
        "timeout_seconds": request.timeout_seconds,
    }


def _rule(rule: RunRule) -> Json:
    return {
        "action": rule.action,
        "tools": list(rule.tools),
        "paths": list(rule.paths),
        "commands": [" ".join(words) for words in rule.commands],
        "hosts": list(rule.hosts),
    }


def _preview_lines(preview: Json) -> Iterator[str]:
    """Yield the preview as readable text."""
    yield f"model: {preview['model']}"
    yield f"tools: {json.dumps(preview['tools'])}"
    yield str(preview["system"])
    yield BOUNDARY
    yield str(preview["prompt"])
    yield BOUNDARY
    for name in ("instructions_loaded", "policy"):
        yield f"{name}: {json.dumps(preview[name], indent=1)}"
