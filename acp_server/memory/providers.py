"""External memory providers: port, discovery, and isolation of the configured provider.

A provider complements the built-in stores. It is third-party code: calls run one at a time, each in
its own thread, and a call that fails, times out or returns blocked text is skipped with a notice.
The session decides where its text goes and who sees notices.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from threading import Lock, Thread
from typing import Protocol, cast

import anyio
from anyio import from_thread
from anyio.lowlevel import current_token

from acp_server.memory.provider_types import Reply, TurnMessage
from acp_server.text.surrogates import mended
from prompt_engine.findings import Scan
from prompt_engine.trust import told

GROUP = "acp_server.memory_providers"
"""Entry point group; an entry point is a callable that takes HERMES_HOME and returns a provider."""
PATIENCE_SECONDS = 2.0
MOST_CHARACTERS = 8_000
"""How many characters of one provider text the model receives."""


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
    """Configured memory provider of a server, loaded at the first call."""

    def __init__(
        self,
        name: str,
        load: Callable[[], MemoryProvider],
        scan: Scan,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self.name = name
        self._load = load
        self._scan = scan
        self._patience_seconds = patience_seconds
        self._provider: MemoryProvider | None = None
        self._busy = Lock()

    async def system_block(self) -> Reply:
        """Return the provider's text for the system prompt."""
        return await self._asked(lambda provider: provider.system_block())

    async def prefetch(self, query: str) -> Reply:
        """Return remembered text that fits a prompt."""
        return await self._asked(lambda provider: provider.prefetch(query))

    async def on_turn_end(self, messages: Sequence[TurnMessage]) -> Reply:
        """Pass a finished turn to the provider."""

        def give(provider: MemoryProvider) -> str:
            provider.on_turn_end(messages)
            return ""

        return await self._asked(give)

    async def _asked(self, act: Callable[[MemoryProvider], str]) -> Reply:
        """Run a provider call with a time limit.

        The thread is a daemon, so one that hangs does not keep the process alive. While it runs,
        later calls wait for it, each for its own time limit.
        """
        token, is_done = current_token(), anyio.Event()
        replies: list[Reply] = []

        def run() -> None:
            # A lock of threads, not of tasks: a provider call that timed out is still running.
            if not self._busy.acquire(timeout=self._patience_seconds):
                return
            try:
                # Before `is_done`: the waiter reads the reply as soon as the event is set.
                replies.append(self._contained(act))
            finally:
                self._busy.release()
            try:
                from_thread.run_sync(is_done.set, token=token)
            except anyio.RunFinishedError:
                return  # the event loop has ended

        Thread(target=run, name=f"memory provider {self.name}", daemon=True).start()
        with anyio.move_on_after(self._patience_seconds):
            await is_done.wait()
            return replies[0]
        return self._skipped(f"it took more than {self._patience_seconds:g} s")

    def _contained(self, act: Callable[[MemoryProvider], str]) -> Reply:
        """Run a provider call; every exception of third-party code ends here."""
        try:
            if self._provider is None:
                self._provider = self._load()
            text = cast("object", act(self._provider))
        except (Exception, SystemExit) as error:  # noqa: BLE001
            return self._skipped(f"{type(error).__name__}: {error}")
        if not isinstance(text, str):
            return self._skipped(f"it gave a {type(text).__name__} instead of a string")
        text = mended(text.strip())[:MOST_CHARACTERS]
        # Security: third-party text goes into the prompt, so it is scanned like untrusted input.
        findings = self._scan(text, "strict")
        return self._skipped(f"its text is blocked: {told(findings)}") if findings else Reply(text)

    def _skipped(self, reason: str) -> Reply:
        return Reply(notice=f"The memory provider {self.name!r} was skipped: {reason}.")


def installed() -> Mapping[str, EntryPoint]:
    """Return all installed providers by name; imports none of them."""
    found = sorted(entry_points(group=GROUP), key=lambda each: each.name)
    return {each.name: each for each in found}


def external_memory(name: str, home: Path, scan: Scan) -> ExternalMemory | None:
    """Return the provider of this name, not loaded yet; None if the name is empty."""
    return named_memory(name, home, scan) if name else None


def named_memory(name: str, home: Path, scan: Scan) -> ExternalMemory:
    """Return the provider of this name, not loaded yet.

    If it is not installed, each call reports that, like any failure.
    """

    def load() -> MemoryProvider:
        found = installed()
        if name not in found:
            names = ", ".join(found) or "none"
            message = f"it is not installed; installed providers: {names}"
            raise LookupError(message)
        make = cast("Callable[[Path], MemoryProvider]", found[name].load())
        return make(home)

    return ExternalMemory(name, load, scan)
