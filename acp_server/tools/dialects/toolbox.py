"""Toolbox decorator that understands calls as other agents' tools are called.

Everything behind it (hooks, the permission gate, the tools) sees our tool and our arguments; the
conversation keeps the call as the model made it. It is the outermost decorator, so that a rule
about a tool also holds for its other names.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import anyio
from anyio import to_thread
from pydantic import JsonValue

from acp_server.permissions.gate import Gate
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.json_repair import load_object
from acp_server.tools.arguments import ArgumentBuffer
from acp_server.tools.call_reporter import CallReporter, truncate_raw
from acp_server.tools.dialects.names import ToolMeant, find_tool
from acp_server.tools.dialects.paths import PATH_ARGUMENTS, PathCorrector, bare_path
from acp_server.tools.dialects.reading import ToolSchema, UnreadableCallError
from acp_server.tools.dialects.table import alias_table, squash
from acp_server.tools.dialects.translation import describe, translate
from acp_server.turn.call_access import CHANGES, READS, CallAccess
from acp_server.turn.call_wrappers import WrappedCall, WrappedToolbox
from acp_server.turn.conversation import ToolCall, parse_arguments
from acp_server.turn.events import CallAppeared, CallChanged, Event
from acp_server.turn.ports import LiveCall, ToolOutcome, TurnSink
from skills_store.patching.sections import SectionKind, rename_paths

NO_COMMAND = "the argument `command` must be one of {commands}; or use read_file, write_file, patch"


@frozen_dataclass
class DialectToolbox(WrappedToolbox):
    """Tools of a session, or of a sub-agent, that may be called by other names."""

    own_names: frozenset[str]
    """The names of this server's own tools: those whose arguments it can read."""
    gate: Gate
    paths: PathCorrector
    path_lock: anyio.Lock = field(default_factory=anyio.Lock, init=False)
    """Its waiters go on in order: calls whose paths are looked up still start in their order."""

    async def open(self, call_id: str, name: str, sink: TurnSink) -> LiveCall:
        """Open a call of the tool that the name means."""
        meant = find_tool(name, [spec.name for spec in self.inner.specs])
        if not meant.name and meant.alias:
            await sink.emit(CallAppeared(call_id, name, "edit"))
            return _CommandCall(self, meant, call_id, name, sink)
        return await self.open_tool(meant, call_id, name, sink)

    async def open_tool(
        self, meant: ToolMeant, call_id: str, given: str, sink: TurnSink
    ) -> "_TranslatedCall":
        """Open a call of a tool; `given` is its name in the call."""
        live = await self.inner.open(call_id, meant.name, sink)
        schemas = {spec.name: spec.full_schema or spec.schema for spec in self.inner.specs}
        is_own = meant.name in self.own_names and meant.name in schemas
        schema = ToolSchema(meant.name, schemas[meant.name]) if is_own else None
        return _TranslatedCall(live, self, meant, given, schema, CallReporter(call_id, sink))


@frozen_dataclass
class _TranslatedCall(WrappedCall):
    """A call of a known tool, or of one that does not exist."""

    toolbox: DialectToolbox
    meant: ToolMeant
    given: str
    schema: ToolSchema | None
    """None for the tools of MCP servers, whose arguments only the server can read."""
    reporter: CallReporter

    def access(self, call: ToolCall) -> CallAccess:
        """Return what our tool may do with our arguments."""
        try:
            return self.inner.access(self._own_call(call))
        except UnreadableCallError:
            return READS  # it is refused

    def _own_call(self, call: ToolCall) -> ToolCall:
        """Return the call by our names, its path free of marks but not looked up.

        Raises:
            UnreadableCallError: It cannot be understood.
        """
        if self.schema is None:
            return replace(call, name=self.meant.name)
        values = dict(translate(self.meant, self.schema, parse_arguments(call)).values)
        name = PATH_ARGUMENTS.get(self.meant.name, "")
        path = values.get(name)
        if isinstance(path, str):
            values[name] = bare_path(path)
        patch = values.get("patch")
        if isinstance(patch, str):
            values["patch"] = rename_paths(patch, lambda _, path: bare_path(path))
        return replace(call, name=self.meant.name, arguments=json.dumps(values))

    async def run(self, call: ToolCall) -> ToolOutcome:
        """Translate the call and run it; the result says how it was understood."""
        is_renamed = self.meant.name != self.given
        remarks = [f"`{self.given}` as `{self.meant.name}`"] if is_renamed else []
        values = parse_arguments(call)
        mended = load_object(call.arguments)[1] if call.arguments else ""
        remarks += [f"the arguments without {mended}"] if mended else []
        if self.schema is None:
            outcome = await self.inner.run(replace(call, name=self.meant.name))
            return _with_note(outcome, describe(tuple(remarks), ()))
        try:
            translation = translate(self.meant, self.schema, values)
        except UnreadableCallError as error:
            await self.reporter.show_arguments(values)
            text = str(error)
            return ToolOutcome(text, is_error=True, raw_output={"text": text})
        remarks += translation.remarks
        # The question queue is entered before the first await, so that permissions are asked for in
        # the order of the calls.
        self.toolbox.gate.enter_queue(self.reporter.call_id, self.meant.name)
        try:
            read = await self._correct_path(translation.values, remarks)
            if read != values or is_renamed:
                arguments = json.dumps(read, ensure_ascii=False)
                call = replace(call, name=self.meant.name, arguments=arguments)
            outcome = await self.inner.run(call)
        finally:
            self.toolbox.gate.leave_queue(self.reporter.call_id)
        return _with_note(outcome, describe(tuple(remarks), translation.ignored))

    async def _correct_path(
        self, values: Mapping[str, JsonValue], remarks: list[str]
    ) -> Mapping[str, JsonValue]:
        name = PATH_ARGUMENTS.get(self.meant.name, "")
        path, patch = values.get(name), values.get("patch")
        if self.meant.name == "patch" and isinstance(patch, str):
            return {**values, "patch": await self._correct_patch(patch, remarks)}
        if not isinstance(path, str):
            return values

        def correct() -> Mapping[str, JsonValue]:
            must_exist = self.meant.name != "write_file"
            found = self.toolbox.paths.correct(path, must_exist=must_exist)
            if found is None:
                return values
            remarks.append(f"`{path}` as `{found.path}`")
            corrected = {**values, name: found.path}
            if self.meant.name == "read_file" and found.first_line and "offset" not in values:
                corrected["offset"] = found.first_line
                remarks[-1] += f" from line {found.first_line}"
                if found.last_line and found.last_line >= found.first_line:
                    corrected["limit"] = found.last_line - found.first_line + 1
            return corrected

        async with self.toolbox.path_lock:
            return await to_thread.run_sync(correct, abandon_on_cancel=True)

    async def _correct_patch(self, patch: str, remarks: list[str]) -> str:
        """Correct the paths within a V4A patch."""

        def correct(kind: SectionKind, path: str) -> str:
            found = self.toolbox.paths.correct(path, must_exist=kind != "add")
            if found is None:
                return path
            remarks.append(f"`{path}` as `{found.path}`")
            return found.path

        async with self.toolbox.path_lock:
            return await to_thread.run_sync(rename_paths, patch, correct, abandon_on_cancel=True)


@dataclass(slots=True)
class _CommandCall:
    """A call of a tool that is several in one: it is opened once its `command` is known."""

    toolbox: DialectToolbox
    meant: ToolMeant
    call_id: str
    given: str
    sink: TurnSink
    _fragments: list[str] = field(default_factory=list[str], init=False)
    _buffer: ArgumentBuffer = field(default_factory=ArgumentBuffer, init=False)
    _opened: _TranslatedCall | None = field(default=None, init=False)

    async def write(self, fragment: str) -> None:
        """Take a fragment of the arguments."""
        if self._opened is not None:
            await self._opened.write(fragment)
            return
        self._fragments.append(fragment)
        self._buffer.write(fragment)
        command = self._buffer.parse().complete_text("command")
        tool = alias_table().commands.get(squash(command or ""))
        if tool is not None:
            await (await self._open(tool)).write("".join(self._fragments))

    def access(self, call: ToolCall) -> CallAccess:
        """Return what the call may do; one that was not opened yet keeps its place in the order."""
        if self._opened is None:
            return CHANGES
        return self._opened.access(_without_command(call)[0])

    async def run(self, call: ToolCall) -> ToolOutcome:
        """Run the tool that the command means."""
        own_call, command = _without_command(call)
        table = alias_table()
        tool = table.commands.get(command)
        if tool is None:
            await CallReporter(self.call_id, self.sink).show_arguments(parse_arguments(call))
            known = ", ".join(table.commands)
            text = table.command_advice.get(command) or NO_COMMAND.format(commands=known)
            return ToolOutcome(text, is_error=True, raw_output={"text": text})
        live = self._opened or await self._open(tool)
        return await live.run(own_call)

    def interrupted_outcome(self, reason: str) -> ToolOutcome:
        """Return the outcome so far."""
        if self._opened is not None:
            return self._opened.interrupted_outcome(reason)
        return ToolOutcome(reason, is_error=True)

    async def _open(self, tool: str) -> _TranslatedCall:
        meant = ToolMeant(tool, self.meant.alias)
        sink = _OpenedSink(self.sink, self.call_id)
        live = await self.toolbox.open_tool(meant, self.call_id, self.given, sink)
        self._opened = live
        return live


@frozen_dataclass
class _OpenedSink:
    """Event sink of a call that has appeared already: its second appearance is an update."""

    inner: TurnSink
    call_id: str

    async def emit(self, event: Event) -> None:
        """Pass on an event."""
        if isinstance(event, CallAppeared) and event.call_id == self.call_id:
            event = CallChanged(self.call_id, title=event.title or event.name)
        await self.inner.emit(event)

    def emit_now(self, event: Event) -> None:
        """Pass on an event."""
        self.inner.emit_now(event)


def _without_command(call: ToolCall) -> tuple[ToolCall, str]:
    """Return a call without its argument `command`, and that argument, squashed."""
    values = parse_arguments(call)
    command = values.pop("command", "")
    return replace(call, arguments=json.dumps(values)), squash(str(command))


def _with_note(outcome: ToolOutcome, note: str) -> ToolOutcome:
    """Append how a call was understood to its result for the model."""
    if not note:
        return outcome
    text = f"{outcome.text}\n\n{note}".lstrip()
    raw_output = truncate_raw({**(outcome.raw_output or {}), "text": text})
    return replace(outcome, text=text, raw_output=raw_output)
