"""External memory of a session: finds, loads and isolates the configured provider.

A provider is code of others. It is loaded when the session opens, in a thread of its own; its calls
run one at a time, and one that fails, takes too long or returns blocked text is skipped with a
notice. The session decides where its text goes and who sees notices. Finished turns are passed to
it in the background; on shutdown it gets a moment to receive them.
"""

import re
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from threading import Lock, Thread
from typing import TYPE_CHECKING, TypeVar, cast

import anyio
from anyio import from_thread
from anyio.lowlevel import current_token
from pydantic import JsonValue

from acp_server.memory.provider import (
    MemoryContext,
    MemoryProvider,
    MemoryTool,
    MemoryWrite,
    ProviderReply,
    ProviderUnavailableError,
    TurnMessage,
)
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.surrogates import repair_surrogates
from prompt_engine.threats import scan
from prompt_engine.trust import describe_findings

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "acp_server.memory_providers"
"""Entry point group; an entry point is a callable that takes a `MemoryContext` and returns a
`MemoryProvider`."""
CALL_TIMEOUT_SECONDS = 2.0
TOOL_TIMEOUT_SECONDS = 60.0
CLOSE_SECONDS = 0.5
"""How long the end of a session waits for turns that are being passed on, and for its provider."""
MAX_CHARACTERS = 8_000
"""How many characters of one provider text the model receives."""
NOT_READY = (
    "The memory provider {name!r} is still starting after {seconds:g} s: this session's "
    "instructions go without its text and tools. Run /reload to add them, or raise "
    "memory.provider_wait."
)

MAX_WAITING_CALLS = 20
"""How many finished turns and other news wait for a provider that is loading or slow."""
TOO_MUCH_WAITS = (
    "The memory provider {name!r} is still starting, or too slow to receive what is said: only the "
    "latest {count} turns and changes are kept for it, and earlier ones never reach it."
)

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

MemoryTask = Callable[[], Coroutine[object, object, None]]
OpenProvider = Callable[[MemoryContext], MemoryProvider]
T = TypeVar("T")


@frozen_dataclass
class ProviderLimits:
    """How long a session waits for its provider, in seconds."""

    wait: float = 3.0
    """For its text, before the first prompt."""
    call: float = CALL_TIMEOUT_SECONDS
    tool: float = TOOL_TIMEOUT_SECONDS


class _SkippedError(Exception):
    """A provider call has no result; `notice` says why."""

    def __init__(self, notice: str) -> None:
        super().__init__(notice)
        self.notice = notice


@frozen_dataclass
class _WaitingCall:
    """A call without a result that the provider has not received yet."""

    call: Callable[[MemoryProvider], None]
    warn: Callable[[str], None]
    is_done: anyio.Event


@frozen_dataclass
class _Loaded:
    """A provider that was opened, and what it said then; the notice says why there is none."""

    provider: MemoryProvider | None = None
    block: ProviderReply = ProviderReply()
    tools: tuple[MemoryTool, ...] = ()


class ExternalMemory:
    """The provider of one session."""

    def __init__(
        self,
        name: str,
        load: Callable[[], MemoryProvider],
        spawn: Callable[[MemoryTask], object],
        limits: ProviderLimits | None = None,
    ) -> None:
        """Prepare; nothing is loaded. `spawn` runs a task in the background."""
        self.name = name
        self._load = load
        self._spawn = spawn
        self._limits = limits or ProviderLimits()
        self._loaded: _Loaded | None = None
        self._is_opened = False
        self._is_ready = anyio.Event()
        self._has_waited = False
        self._is_first_block = True
        self._busy = Lock()
        self._waiting: deque[_WaitingCall] = deque()
        self._is_delivering = False
        """Whether a task passes on what waits."""
        self._has_lost_calls = False
        """Whether some were dropped since all had been delivered."""
        self._pending: set[anyio.Event] = set()

    def open(self) -> None:
        """Start to load the provider in a thread; only the first call has an effect."""
        if self._is_opened:
            return
        self._is_opened = True
        token = current_token()

        def load() -> None:
            with self._busy:
                loaded = self._open_safely()

            def finish() -> None:
                self._loaded = loaded
                self._is_ready.set()

            try:
                from_thread.run_sync(finish, token=token)
            except anyio.RunFinishedError:
                return  # the event loop has ended

        self._start(load)

    async def wait_ready(self) -> None:
        """Wait until the provider is loaded, in all at most as long as is configured."""
        self.open()
        # Only once: a provider that is late must not delay every prompt.
        if not self._has_waited:
            with anyio.move_on_after(self._limits.wait):
                await self._is_ready.wait()
            self._has_waited = True

    @property
    def tools(self) -> Sequence[MemoryTool]:
        """The provider's tools; none before it is loaded."""
        return () if self._loaded is None else self._loaded.tools

    async def system_block(self) -> ProviderReply:
        """Return the provider's text for the system prompt: at first the one it was opened with."""
        await self.wait_ready()
        if self._loaded is None:
            return ProviderReply(notice=NOT_READY.format(name=self.name, seconds=self._limits.wait))
        if self._is_first_block or self._loaded.provider is None:
            self._is_first_block = False
            return self._loaded.block
        return await self._ask(lambda provider: provider.system_block())

    async def prefetch(self, query: str) -> ProviderReply:
        """Return remembered text that fits a prompt."""
        await self.wait_ready()
        return await self._ask(lambda provider: provider.prefetch(query))

    async def before_compaction(self, messages: Sequence[TurnMessage]) -> ProviderReply:
        """Return what a summary of these messages must keep."""
        return await self._ask(lambda provider: provider.before_compaction(messages))

    async def call_tool(
        self, tool: MemoryTool, arguments: Mapping[str, JsonValue]
    ) -> ProviderReply:
        """Return the result of a tool; the notice is the error if it failed."""
        return await self._ask(lambda _: tool.run(arguments), self._limits.tool)

    def record_turn(self, messages: Sequence[TurnMessage], warn: Callable[[str], None]) -> None:
        """Pass a finished turn to it in the background; `warn` receives a notice if that fails."""
        self._pass_on(lambda provider: provider.on_turn_end(messages), warn)

    def mirror(self, write: MemoryWrite, warn: Callable[[str], None]) -> None:
        """Pass a change of the built-in memory to it in the background."""
        self._pass_on(lambda provider: provider.on_memory_write(write), warn)

    async def close(self, messages: Sequence[TurnMessage]) -> None:
        """Pass on the end of the session, and wait a moment for all that is being passed on."""
        if self._loaded is not None:
            self._pass_on(lambda provider: provider.on_session_end(messages), _ignore)
        with anyio.move_on_after(CLOSE_SECONDS):
            for is_done in tuple(self._pending):
                await is_done.wait()

    def _pass_on(self, call: Callable[[MemoryProvider], None], warn: Callable[[str], None]) -> None:
        """Make a call without a result in the background, after those before it."""
        self.open()
        # Before `spawn`: a `close` right after this call must wait for the task.
        waiting = _WaitingCall(call, warn, anyio.Event())
        self._pending.add(waiting.is_done)
        self._waiting.append(waiting)
        # Bounded: a provider that never finishes loading must not hold every turn of a session.
        if len(self._waiting) > MAX_WAITING_CALLS:
            self._finish(self._waiting.popleft())
            if not self._has_lost_calls:
                self._has_lost_calls = True
                warn(TOO_MUCH_WAITS.format(name=self.name, count=MAX_WAITING_CALLS))
        if not self._is_delivering:
            self._is_delivering = True
            self._spawn(self._deliver)

    async def _deliver(self) -> None:
        """Pass on what waits, in order."""
        try:
            await self._is_ready.wait()
            while self._waiting:
                waiting = self._waiting.popleft()
                try:
                    await self._call(waiting.call, self._limits.call)
                except _SkippedError as error:
                    waiting.warn(error.notice)
                finally:
                    self._finish(waiting)
            self._has_lost_calls = False
        finally:
            self._is_delivering = False
            while self._waiting:  # cancelled: the server ends
                self._finish(self._waiting.popleft())

    def _finish(self, waiting: _WaitingCall) -> None:
        waiting.is_done.set()
        self._pending.discard(waiting.is_done)

    async def _ask(
        self, call: Callable[[MemoryProvider], str], seconds: float | None = None
    ) -> ProviderReply:
        """Return the text of a provider call; nothing while the provider is not loaded."""
        if self._loaded is None:
            return ProviderReply()
        try:
            return self._screen(await self._call(call, seconds or self._limits.call))
        except _SkippedError as error:
            return ProviderReply(notice=error.notice)

    async def _call(self, call: Callable[[MemoryProvider], T], seconds: float) -> T:
        """Run a provider call with a time limit.

        The thread is a daemon, so one that hangs does not keep the process alive. While it runs,
        later calls wait for it, each for its own time limit.

        Raises:
            _SkippedError: there is no result.
        """
        loaded = self._loaded
        if loaded is None or loaded.provider is None:
            raise _SkippedError(loaded.block.notice if loaded else "")
        provider = loaded.provider
        token, is_done = current_token(), anyio.Event()
        results: list[T] = []
        failures: list[_SkippedError] = []

        def run() -> None:
            # A lock of threads, not of tasks: a provider call that timed out is still running.
            if not self._busy.acquire(timeout=seconds):
                return
            try:
                # Before `is_done`: the waiter reads the result as soon as the event is set.
                results.append(call(provider))
            except (Exception, SystemExit) as error:  # noqa: BLE001
                failures.append(self._failure(error))
            finally:
                self._busy.release()
            try:
                from_thread.run_sync(is_done.set, token=token)
            except anyio.RunFinishedError:
                return  # the event loop has ended

        self._start(run)
        with anyio.move_on_after(seconds):
            await is_done.wait()
            if failures:
                raise failures[0]
            return results[0]
        raise _SkippedError(self._skip_notice(f"it took more than {seconds:g} s"))

    def _start(self, run: Callable[[], None]) -> None:
        Thread(target=run, name=f"memory provider {self.name}", daemon=True).start()

    def _open_safely(self) -> _Loaded:
        """Load the provider and ask for what a session's first request needs."""
        try:
            provider = self._load()
            block, tools = self._screen(provider.system_block()), tuple(provider.tools())
            _check_tools(tools)
        except (Exception, SystemExit) as error:  # noqa: BLE001
            return _Loaded(block=ProviderReply(notice=self._failure(error).notice))
        return _Loaded(provider, block, tools)

    def _screen(self, text: object) -> ProviderReply:
        """Return a text of the provider as a model may see it."""
        if not isinstance(text, str):
            return ProviderReply(
                notice=self._skip_notice(f"it gave a {type(text).__name__} instead of a string")
            )
        text = repair_surrogates(text.strip())[:MAX_CHARACTERS]
        # Security: third-party text goes into the prompt, so it is scanned like untrusted input.
        findings = scan(text, "strict")
        return (
            ProviderReply(
                notice=self._skip_notice(f"its text is blocked: {describe_findings(findings)}")
            )
            if findings
            else ProviderReply(text)
        )

    def _failure(self, error: BaseException) -> _SkippedError:
        """Return why a call failed; every exception of third-party code ends here."""
        is_explained = isinstance(error, ProviderUnavailableError)
        reason = str(error) if is_explained else f"{type(error).__name__}: {error}"
        return _SkippedError(self._skip_notice(reason))

    def _skip_notice(self, reason: str) -> str:
        return f"The memory provider {self.name!r} was skipped: {reason}."


def _check_tools(tools: Sequence[MemoryTool]) -> None:
    """Refuse tools that endpoints of models would refuse, or that look like those of MCP servers.

    Raises:
        ProviderUnavailableError: a tool has an invalid name or schema.
    """
    for tool in tools:
        if not TOOL_NAME.fullmatch(tool.name) or "__" in tool.name:
            message = f"the name of its tool {tool.name!r} is invalid"
            raise ProviderUnavailableError(message)
        if tool.parameters.get("type") != "object":
            message = f"the parameters of its tool {tool.name!r} are no schema of an object"
            raise ProviderUnavailableError(message)


def _ignore(notice: str) -> None:
    """Show no notice: the session is over."""
    del notice


def shipped_providers() -> Mapping[str, str]:
    """Return the names of this package's own providers, with a description of each."""
    return {
        "local": "facts in a database on this machine, without any service",
        "holographic": "the same, with the facts that Hermes' provider of this name has stored",
        "honcho": "Honcho, a memory service that models the user; needs the extra [honcho]",
        "mem0": "Mem0, a memory service or your own server; needs the extra [mem0]",
    }


def installed_providers() -> "Mapping[str, EntryPoint]":
    """Return the providers of other packages by name; imports none of them."""
    # Slow to import, and only needed in the thread that loads a provider.
    from importlib.metadata import entry_points

    found = sorted(entry_points(group=GROUP), key=lambda each: each.name)
    return {each.name: each for each in found}


def load_provider(name: str, context: MemoryContext) -> MemoryProvider:
    """Import and create a provider. Blocks.

    Raises:
        ProviderUnavailableError: it is not installed.
    """
    return _find_provider(name)(context)


def _find_provider(name: str) -> OpenProvider:
    """Return what opens a provider; the own ones cannot be replaced by those of others."""
    match name:
        case "local" | "holographic":
            from acp_server.memory.local.provider import open_local_memory

            return open_local_memory
        case "honcho":
            from acp_server.memory.honcho.provider import open_honcho

            return open_honcho
        case "mem0":
            from acp_server.memory.mem0.provider import open_mem0

            return open_mem0
        case _:
            found = installed_providers()
    if name not in found:
        names = ", ".join((*shipped_providers(), *found))
        message = f"it is not installed; there are {names}. Choose one with memory.provider"
        raise ProviderUnavailableError(message)
    return cast("OpenProvider", found[name].load())
