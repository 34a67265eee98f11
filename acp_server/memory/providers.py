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

from acp_server.memory.provider_types import ProviderReply, TurnMessage
from acp_server.text.surrogates import repair_surrogates
from prompt_engine.findings import ThreatScan
from prompt_engine.trust import describe_findings

GROUP = "acp_server.memory_providers"
"""Entry point group; an entry point is a callable that takes HERMES_HOME and returns a provider."""
CALL_TIMEOUT_SECONDS = 2.0
MAX_CHARACTERS = 8_000
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


class IsolatedMemoryProvider:
    """Configured memory provider of a server, loaded at the first call."""

    def __init__(
        self,
        name: str,
        load: Callable[[], MemoryProvider],
        scan: ThreatScan,
        timeout_seconds: float = CALL_TIMEOUT_SECONDS,
    ) -> None:
        self.name = name
        self._load = load
        self._scan = scan
        self._timeout_seconds = timeout_seconds
        self._provider: MemoryProvider | None = None
        self._busy = Lock()

    async def system_block(self) -> ProviderReply:
        """Return the provider's text for the system prompt."""
        return await self._call(lambda provider: provider.system_block())

    async def prefetch(self, query: str) -> ProviderReply:
        """Return remembered text that fits a prompt."""
        return await self._call(lambda provider: provider.prefetch(query))

    async def on_turn_end(self, messages: Sequence[TurnMessage]) -> ProviderReply:
        """Pass a finished turn to the provider."""

        def deliver(provider: MemoryProvider) -> str:
            provider.on_turn_end(messages)
            return ""

        return await self._call(deliver)

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
        findings = self._scan(text, "strict")
        return (
            self._skip_notice(f"its text is blocked: {describe_findings(findings)}")
            if findings
            else ProviderReply(text)
        )

    def _skip_notice(self, reason: str) -> ProviderReply:
        return ProviderReply(notice=f"The memory provider {self.name!r} was skipped: {reason}.")


def installed_providers() -> Mapping[str, EntryPoint]:
    """Return all installed providers by name; imports none of them."""
    found = sorted(entry_points(group=GROUP), key=lambda each: each.name)
    return {each.name: each for each in found}


def find_external_memory(name: str, home: Path, scan: ThreatScan) -> IsolatedMemoryProvider | None:
    """Return the provider of this name, not loaded yet; None if the name is empty."""
    return create_external_memory(name, home, scan) if name else None


def create_external_memory(name: str, home: Path, scan: ThreatScan) -> IsolatedMemoryProvider:
    """Return the provider of this name, not loaded yet.

    If it is not installed, each call reports that, like any failure.
    """

    def load() -> MemoryProvider:
        found = installed_providers()
        if name not in found:
            names = ", ".join(found) or "none"
            message = f"it is not installed; installed providers: {names}"
            raise LookupError(message)
        factory = cast("Callable[[Path], MemoryProvider]", found[name].load())
        return factory(home)

    return IsolatedMemoryProvider(name, load, scan)
