"""`acp-server memory`: shows and changes the memory that persists across sessions."""

import json
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import anyio
import click
from pydantic import JsonValue

from acp_server.cli.examples import ExampleGroup
from acp_server.cli.memory_setup import SetupRequest, set_up_memory
from acp_server.cli.options import JSON, choose_editor
from acp_server.config import settings
from acp_server.config.settings import Configuration
from acp_server.memory.config import MemoryConfig
from acp_server.memory.errors import MemoryStoreError
from acp_server.memory.lazy_imports import ExternalMemoryOpener
from acp_server.memory.operations import EntryOperation
from acp_server.memory.providers import installed_providers, shipped_providers
from acp_server.memory.results import MemoryContents, MemoryResult
from acp_server.memory.store import MemoryStores
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.control_characters import escape_json
from prompt_engine.memory_entries import DELIMITER, FILE_NAMES, StoreName
from prompt_engine.threats import scan

NAMES: tuple[StoreName, ...] = ("memory", "user")


@frozen_dataclass
class ProviderStatus:
    """What is known of the external memory after a request to it."""

    name: str
    state: str
    tools: tuple[str, ...] = ()
    is_working: bool | None = None
    """None: none is configured."""


target_option = click.option(
    "--target", type=click.Choice(NAMES), default="memory", help="Memory store. Default: memory."
)
STATUS_SECONDS = 15.0
"""How long `status` waits for the provider."""

any_target_option = click.option("--target", type=click.Choice(NAMES), help="Only this store.")


@click.group(cls=ExampleGroup)
def command() -> None:
    """Show and change what the agent remembers across sessions.

    There are two stores in HERMES_HOME: memory (memories/MEMORY.md) contains the agent's notes,
    user (memories/USER.md) contains its profile of you. A session's system prompt contains both as
    they were when the session started.
    """


@command.command()
@any_target_option
@JSON
def show(target: StoreName | None, *, is_json: bool) -> int:
    """Print all entries, including those that are blocked from the model.

    With --json: {STORE: {"file", "usage", "entries": [...], "blocked": [numbers from 1]}}.
    """
    memory = _open_memory(settings.load({}))
    try:
        found = {name: memory.contents(name) for name in ((target,) if target else NAMES)}
    except MemoryStoreError as error:
        return _report_failure(error.reason)
    if is_json:
        stores = {
            name: {
                "file": str(memory.path(contents.name)),
                "usage": contents.usage,
                "entries": list(contents.entries),
                "blocked": list[JsonValue](_blocked_entry_numbers(contents)),
            }
            for name, contents in found.items()
        }
        click.echo(escape_json(json.dumps(stores, ensure_ascii=False, indent=2)))
        return 0
    texts = [
        f"{name} [{contents.usage} characters] {memory.path(contents.name)}\n\n"
        f"{DELIMITER.join(contents.entries) or '(empty)'}"
        for name, contents in found.items()
    ]
    click.echo("\n\n".join(texts))
    for contents in found.values():
        _print_warnings(contents)
    return 0


@command.command()
@click.argument("text")
@target_option
@JSON
def add(text: str, target: StoreName, *, is_json: bool) -> int:
    """Add an entry."""
    return _apply_change(target, EntryOperation("add", text), is_json=is_json)


@command.command()
@click.argument("text")
@target_option
@JSON
def remove(text: str, target: StoreName, *, is_json: bool) -> int:
    """Remove the one entry that contains TEXT."""
    return _apply_change(target, EntryOperation("remove", old_text=text), is_json=is_json)


@command.command()
@any_target_option
@JSON
def undo(target: StoreName | None, *, is_json: bool) -> int:
    """Undo the last change by the agent or by these commands.

    The last 20 changes of each store can be undone. Changes that you made to the file yourself in
    the meantime are never overwritten.
    """
    return _print_answer(_open_memory(settings.load({})).undo(target), is_json=is_json)


@command.command()
@target_option
def edit(target: StoreName) -> int:
    """Edit a store in $VISUAL or $EDITOR.

    Entries are separated by a line that contains only §.
    """
    memory = _open_memory(settings.load({}))
    try:
        base = memory.raw(target)
        editor = choose_editor()
        draft = Path(tempfile.mkdtemp(prefix="acp-server-")) / FILE_NAMES[target]
        draft.write_bytes(base)
    except MemoryStoreError as error:
        return _report_failure(error.reason)
    except click.ClickException as error:
        return _report_failure(f"{memory.path(target)} cannot be edited: {error}")
    except OSError as error:
        return _report_failure(f"the draft cannot be created: {error}")
    try:
        click.edit(filename=str(draft), editor=editor)
        answer = memory.rewrite(target, base, draft.read_bytes())
    except (click.ClickException, OSError) as error:
        return _report_failure(f"{error}; your draft is in {draft}")
    if not answer.is_success:
        return _report_failure(f"{answer.text}; your draft is in {draft}")
    shutil.rmtree(draft.parent, ignore_errors=True)
    if answer.contents is not None:
        _print_warnings(answer.contents)
    return _print_answer(answer)


@command.command()
@JSON
def status(*, is_json: bool) -> int:
    """Show how full the stores are and whether the external memory answers."""
    configuration = settings.load({})
    memory, current = _open_memory(configuration), configuration.settings
    stores = [
        _store_status(memory, "memory", is_on=current.memory.is_enabled),
        _store_status(memory, "user", is_on=current.memory.has_user_profile),
    ]
    provider = anyio.run(_provider_status, current.memory, configuration)
    if is_json:
        found: JsonValue = {
            "stores": list[JsonValue](stores),
            "asks_first": current.memory.needs_permission,
            "provider": {
                "name": provider.name,
                "installed": [*shipped_providers(), *installed_providers()],
                "is_working": provider.is_working,
                "state": provider.state,
                "tools": list[JsonValue](provider.tools),
            },
        }
        click.echo(escape_json(json.dumps(found, ensure_ascii=False, indent=2)))
        return 0
    for store in stores:
        state = "" if store["is_on"] else "; disabled"
        click.echo(f"{store['name']:9} {store['state']}{state}; {store['file']}")
    approval = "ask for permission" if current.memory.needs_permission else "need no permission"
    click.echo(f"changes   {approval}")
    click.echo(f"provider  {provider.state}")
    return 0


@command.command()
@click.argument("provider", required=False)
@click.option(
    "--set",
    "values",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of the provider. Repeatable.",
)
@click.option("--key-stdin", "reads_key", is_flag=True, help="Read the API key from stdin.")
@click.option("--in-file", is_flag=True, help="Store the key in a file, not in the keyring.")
def setup(provider: str | None, values: tuple[str, ...], *, reads_key: bool, in_file: bool) -> int:
    """Choose an additional memory provider, store its key, and try it.

    Without PROVIDER you are asked. `none` switches it off. Settings go to
    HERMES_HOME/acp/config.yaml; Hermes' own files honcho.json, mem0.json and .env are read and
    never changed. Keys are stored in the system keyring, or in a file that only you can read.
    """
    configuration = settings.load({})
    try:
        request = SetupRequest.from_options(provider, values, reads_key=reads_key, in_file=in_file)
        chosen = set_up_memory(configuration, request)
    except (ValueError, OSError) as error:
        return _report_failure(str(error))
    if not chosen:
        click.echo("No memory provider is used from now on.")
        return 0
    configuration = settings.load({})
    status = anyio.run(_provider_status, configuration.settings.memory, configuration)
    click.echo(status.state)
    return 0 if status.is_working else 1


def _open_memory(configuration: Configuration) -> MemoryStores:
    """Return both stores; the user can also see a disabled one."""
    config = replace(configuration.settings.memory, is_enabled=True, has_user_profile=True)
    return MemoryStores(configuration.home, config.limits, scan)


def _apply_change(target: StoreName, operation: EntryOperation, *, is_json: bool) -> int:
    return _print_answer(
        _open_memory(settings.load({})).apply(target, [operation]), is_json=is_json
    )


def _print_answer(answer: MemoryResult, *, is_json: bool = False) -> int:
    """Print the answer of a memory operation; return the exit code."""
    if is_json:
        click.echo(escape_json(json.dumps(answer.as_json(), ensure_ascii=False)))
        return 0 if answer.is_success else 1
    if not answer.is_success:
        lines = [answer.text]
        for entry in answer.matches or answer.current_entries or ():
            first, *others = entry.splitlines()
            lines.append(f"  {first} …" if others else f"  {first}")
        return _report_failure("\n".join(lines))
    usage = f" ({answer.contents.usage} characters)" if answer.contents is not None else ""
    click.echo(f"{answer.text}{usage}")
    return 0


def _report_failure(reason: str) -> int:
    click.echo(f"acp-server memory: {reason}", err=True)
    return 1


def _print_warnings(contents: MemoryContents) -> None:
    """Print notes about blocked entries and about a store over its limit."""
    for number in _blocked_entry_numbers(contents):
        click.echo(f"note: entry {number} of {contents.name} is blocked from the model", err=True)
    if contents.used > contents.limit:
        overrun = f"{contents.name} is {contents.used - contents.limit:,} characters over its limit"
        click.echo(f"note: {overrun}; remove or shorten entries before adding more", err=True)


def _blocked_entry_numbers(contents: MemoryContents) -> list[int]:
    """Return the numbers, from 1, of the entries that are blocked from the model."""
    return [n for n, entry in enumerate(contents.entries, 1) if scan(entry, "strict")]


def _store_status(memory: MemoryStores, name: StoreName, *, is_on: bool) -> dict[str, JsonValue]:
    """Return the state of a store, including the reason if it cannot be read."""
    try:
        contents = memory.contents(name)
        blocked = len(_blocked_entry_numbers(contents))
        count = len(contents.entries)
        state = f"{contents.usage} characters, {count} entr{'y' if count == 1 else 'ies'}"
        state += f", {blocked} blocked from the model" if blocked else ""
    except MemoryStoreError as error:
        state = error.reason
    return {"name": name, "file": str(memory.path(name)), "is_on": is_on, "state": state}


async def _provider_status(config: MemoryConfig, configuration: Configuration) -> ProviderStatus:
    """Return the state of the external memory after it was opened as for a session."""
    found = ProviderStatus("", "none; choose one with `acp-server memory setup`")
    async with anyio.create_task_group() as tasks:
        opener = ExternalMemoryOpener(
            replace(config, provider_wait=STATUS_SECONDS),
            configuration.home,
            configuration.memory_variables,
            tasks.start_soon,
        )
        memory = opener("status", Path.cwd())
        if memory is not None:
            notice = (await memory.system_block()).notice
            tools = tuple(tool.name for tool in memory.tools)
            answers = f"{memory.name} answers; its tools: {', '.join(tools) or 'none'}"
            found = ProviderStatus(memory.name, notice or answers, tools, is_working=not notice)
            await memory.close(())
        tasks.cancel_scope.cancel()  # one that hangs is left behind
    return found
