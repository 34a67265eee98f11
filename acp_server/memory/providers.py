"""External memory providers: port, discovery, and isolation of the configured provider.

A provider complements the built-in stores. It is third-party code: calls run one at a time, each in
its own thread, and a call that fails, times out or returns blocked text is skipped with a notice.
The session decides where its text goes and who sees notices. Finished turns are passed to it in the
background; on shutdown it gets a moment to receive them.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Protocol, cast

import anyio
from anyio import from_thread
from anyio.lowlevel import current_token

from acp_server.memory.provider_types import ProviderReply, TurnMessage
from acp_server.text.surrogates import repair_surrogates
from prompt_engine.threats import scan
from prompt_engine.trust import describe_findings

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "acp_server.memory_providers"
"""Entry point group; an entry point is a callable that takes HERMES_HOME and returns a provider."""
CALL_TIMEOUT_SECONDS = 2.0
CLOSE_SECONDS = 0.5
"""How long the server waits at shutdown for turns that are being passed on."""
MAX_CHARACTERS = 8_000
"""How many characters of one provider text the model receives."""

MemoryTask = Callable[[], Coroutine[object, object, None]]


class MemoryProvider(Protocol):
    """Third-party memory. Its methods may block; they are called one at a time."""

    def prefetch(self, query: str) -> str:
        """Return remembered text that fits a prompt; empty if there is none."""
        ...

    def on_turn_end(self, messages: Sequence[TurnMessage]) -> None:
        """Receive the messages of a finished turn."""
        ...

    def system_block(self) -> str:
        """Return the provider's text for the system prompt."""
        ...


class ExternalMemory:
    """The configured provider, shared by all sessions of a server and loaded at the first call."""

    def __init__(
        self,
        name: str,
        load: Callable[[], MemoryProvider],
        spawn: Callable[[MemoryTask], object],
        timeout_seconds: float = CALL_TIMEOUT_SECONDS,
    ) -> None:
        """Prepare; nothing is loaded. `spawn` runs a task in the background."""
        self.name = name
        self._load = load
        self._spawn = spawn
        self._timeout_seconds = timeout_seconds
        self._provider: MemoryProvider | None = None
        self._busy = Lock()
        self._pending: set[anyio.Event] = set()

    async def system_block(self) -> ProviderReply:
        """Return the provider's text for the system prompt."""
        return await self._call(lambda provider: provider.system_block())

    async def prefetch(self, query: str) -> ProviderReply:
        """Return remembered text that fits a prompt."""
        return await self._call(lambda provider: provider.prefetch(query))

    def record_turn(self, messages: Sequence[TurnMessage], warn: Callable[[str], None]) -> None:
        """Pass a finished turn to it in the background; `warn` receives a notice if that fails."""
        is_done = anyio.Event()

        def pass_on(provider: MemoryProvider) -> str:
            provider.on_turn_end(messages)
            return ""

        async def deliver() -> None:
            try:
                reply = await self._call(pass_on)
                if reply.notice:
                    warn(reply.notice)
            finally:
                is_done.set()
                self._pending.discard(is_done)

        # Before `spawn`: a `close` right after this call must wait for the task.
        self._pending.add(is_done)
        self._spawn(deliver)

    async def close(self) -> None:
        """Wait for a moment for the turns that are being passed on."""
        with anyio.move_on_after(CLOSE_SECONDS):
            for is_done in tuple(self._pending):
                await is_done.wait()

    async def _call(self, call: Callable[[MemoryProvider], str]) -> ProviderReply:
        """Run a provider call with a time limit.

        The thread is a daemon, so one that hangs does not keep the process alive. While it runs,
        later calls wait for it, each for its own time limit.
        """
        token, is_done = current_token(), anyio.Event()
        replies: list[ProviderReply] = []

        def run() -> None:
            # A lock of threads, not of tasks: a provider call that timed out is still running.
            if not self._busy.acquire(timeout=self._timeout_seconds):
                return
            try:
                # Before `is_done`: the waiter reads the reply as soon as the event is set.
                replies.append(self._call_safely(call))
            finally:
                self._busy.release()
            try:
                from_thread.run_sync(is_done.set, token=token)
            except anyio.RunFinishedError:
                return  # the event loop has ended

        Thread(target=run, name=f"memory provider {self.name}", daemon=True).start()
        with anyio.move_on_after(self._timeout_seconds):
            await is_done.wait()
            return replies[0]
        return self._skip_notice(f"it took more than {self._timeout_seconds:g} s")

    def _call_safely(self, call: Callable[[MemoryProvider], str]) -> ProviderReply:
        """Run a provider call; every exception of third-party code ends here."""
        try:
            if self._provider is None:
                self._provider = self._load()
            text = cast("object", call(self._provider))
        except (Exception, SystemExit) as error:  # noqa: BLE001
            return self._skip_notice(f"{type(error).__name__}: {error}")
        if not isinstance(text, str):
            return self._skip_notice(f"it gave a {type(text).__name__} instead of a string")
        text = repair_surrogates(text.strip())[:MAX_CHARACTERS]
        # Security: third-party text goes into the prompt, so it is scanned like untrusted input.
        findings = scan(text, "strict")
        return (
            self._skip_notice(f"its text is blocked: {describe_findings(findings)}")
            if findings
            else ProviderReply(text)
        )

    def _skip_notice(self, reason: str) -> ProviderReply:
        return ProviderReply(notice=f"The memory provider {self.name!r} was skipped: {reason}.")


def installed_providers() -> "Mapping[str, EntryPoint]":
    """Return all installed providers by name; imports none of them."""
    # Slow to import, and only needed in the thread that loads a provider.
    from importlib.metadata import entry_points

    found = sorted(entry_points(group=GROUP), key=lambda each: each.name)
    return {each.name: each for each in found}


def load_provider(name: str, home: Path) -> MemoryProvider:
    """Import and create a provider.

    Raises:
        LookupError: it is not installed.
    """
    found = installed_providers()
    if name not in found:
        names = ", ".join(found) or "none"
        message = f"it is not installed; installed providers: {names}"
        raise LookupError(message)
    factory = cast("Callable[[Path], MemoryProvider]", found[name].load())
    return factory(home)
