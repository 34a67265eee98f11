"""The port of external memories, and the one that the settings name: found, called, contained.

A provider stands beside the built-in stores and replaces neither. It is somebody else's code: each
call runs in a thread of its own, one at a time, and what fails, takes too long or says what must
not reach a model is skipped with a notice. Where its words go, and who sees notices, is for the
session to know.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from threading import Lock, Thread
from typing import Protocol, cast

import anyio
from anyio import from_thread
from anyio.lowlevel import current_token

from acp_server.memory.replies import Reply, TurnMessage
from acp_server.surrogates import mended
from prompt_engine.findings import Scan
from prompt_engine.trust import told

GROUP = "acp_server.memory_providers"
"""Entry points of this group are callables that take HERMES_HOME and return a provider."""
PATIENCE_SECONDS = 2.0
MOST_CHARACTERS = 8_000
"""How much of one text of a provider's comes to the model."""


class MemoryProvider(Protocol):
    """A memory that somebody else keeps. Its methods may block, and are called one at a time."""

    def prefetch(self, query: str) -> str:
        """Return what is remembered and fits a prompt; nothing if nothing does."""
        ...

    def on_turn_end(self, messages: Sequence[TurnMessage]) -> None:
        """Take in what was said in a turn that has ended."""
        ...

    def system_block(self) -> str:
        """Return what the system prompt is to say from it, in its own words."""
        ...


class ExternalMemory:
    """The provider of a server, loaded at the first call."""

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
        """Return what the provider adds to the system prompt."""
        return await self._asked(lambda provider: provider.system_block())

    async def prefetch(self, query: str) -> Reply:
        """Return what the provider remembers of a prompt."""
        return await self._asked(lambda provider: provider.prefetch(query))

    async def on_turn_end(self, messages: Sequence[TurnMessage]) -> Reply:
        """Give the provider a turn that has ended."""

        def give(provider: MemoryProvider) -> str:
            provider.on_turn_end(messages)
            return ""

        return await self._asked(give)

    async def _asked(self, act: Callable[[MemoryProvider], str]) -> Reply:
        """Return what an act gives in time.

        The thread is a daemon: one that never ends keeps no process alive. While it runs, later
        calls wait for it, each as long as it may take itself.
        """
        token, is_done = current_token(), anyio.Event()
        replies: list[Reply] = []

        def run() -> None:
            if not self._busy.acquire(timeout=self._patience_seconds):
                return
            try:
                replies.append(self._contained(act))
            finally:
                self._busy.release()
            try:
                from_thread.run_sync(is_done.set, token=token)
            except anyio.RunFinishedError:
                return  # nobody waits any more

        Thread(target=run, name=f"memory provider {self.name}", daemon=True).start()
        with anyio.move_on_after(self._patience_seconds):
            await is_done.wait()
            return replies[0]
        return self._skipped(f"it took more than {self._patience_seconds:g} s")

    def _contained(self, act: Callable[[MemoryProvider], str]) -> Reply:
        """Return what an act gives; whatever it raises is its own affair, and ends here."""
        try:
            if self._provider is None:
                self._provider = self._load()
            text = cast("object", act(self._provider))
        except (Exception, SystemExit) as error:  # noqa: BLE001
            return self._skipped(f"{type(error).__name__}: {error}")
        if not isinstance(text, str):
            return self._skipped(f"it gave a {type(text).__name__} in place of a text")
        text = mended(text.strip())[:MOST_CHARACTERS]
        findings = self._scan(text, "strict")
        return self._skipped(f"its text is blocked: {told(findings)}") if findings else Reply(text)

    def _skipped(self, reason: str) -> Reply:
        return Reply(notice=f"The memory provider {self.name!r} was skipped: {reason}.")


def installed() -> Mapping[str, EntryPoint]:
    """Return all providers that are installed, by name; none of them is imported."""
    found = sorted(entry_points(group=GROUP), key=lambda each: each.name)
    return {each.name: each for each in found}


def external_memory(name: str, home: Path, scan: Scan) -> ExternalMemory | None:
    """Return the provider of this name, not loaded yet; None where no name is given."""
    return named_memory(name, home, scan) if name else None


def named_memory(name: str, home: Path, scan: Scan) -> ExternalMemory:
    """Return the provider of this name, not loaded yet.

    One that is not installed is told of at each call, as any failure is.
    """

    def load() -> MemoryProvider:
        found = installed()
        if name not in found:
            names = ", ".join(found) or "none"
            message = f"it is not installed; there are: {names}"
            raise LookupError(message)
        make = cast("Callable[[Path], MemoryProvider]", found[name].load())
        return make(home)

    return ExternalMemory(name, load, scan)
