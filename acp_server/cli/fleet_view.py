"""Live view of a fleet: a table on a terminal, a line every 30 seconds without one, `--follow`."""

import fcntl
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import click
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from acp_server.fleet.journal import LOCK_NAME, NAME, read_records
from acp_server.fleet.status import FleetStatus

LINE_SECONDS = 30.0
FOLLOW_SECONDS = 0.5
REFRESH_PER_SECOND = 4
MAX_ROWS = 16
TAIL_BYTES = 2_000
LONGEST_PLAIN = 100
"""Seconds, or minutes, that are not shown in the next unit."""


def rough_duration(seconds: float) -> str:
    """Return a duration for people who wait.

    >>> rough_duration(9), rough_duration(250), rough_duration(7300)
    ('9 s', '4 min', '2 h 2 min')
    """
    minutes = round(seconds / 60)
    if seconds < LONGEST_PLAIN:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < LONGEST_PLAIN else f"{minutes // 60} h {minutes % 60} min"


def status_line(status: FleetStatus, now: float) -> str:
    """Return the numbers of a fleet in one line."""
    parts = [
        f"{status.passed} passed",
        f"{status.failed} failed",
        f"{status.retried} retried",
        f"{len(status.running)} running",
        f"{status.queued} queued",
    ]
    if status.spent_usd is not None:
        limit = "" if status.total_cost_usd is None else f" of ${status.total_cost_usd:g}"
        parts.append(f"${status.spent_usd:.2f}{limit}")
    parts.append(f"{status.tokens_a_minute(now):,.0f} tokens/min")
    left = status.seconds_left(now)
    if left is not None and not status.stopped:
        parts.append(f"about {rough_duration(left)} left")
    if status.pause:
        parts.append(f"paused: {status.pause}")
    return ", ".join(parts)


def last_call(log: Path) -> str:
    """Return the last line of a task's log, which names its last call; empty if there is none."""
    with suppress(OSError), log.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL_BYTES))
        lines = file.read().decode(errors="replace").strip().splitlines()
        return "".join(filter(str.isprintable, lines[-1])).strip() if lines else ""
    return ""


class FleetView:
    """Table of the running tasks with the numbers of the fleet below."""

    def __init__(self, status: FleetStatus, output: Path) -> None:
        self._status = status
        self._output = output

    def __rich__(self) -> RenderableType:
        """Return the view as it is now."""
        now = time.time()
        table = Table.grid(padding=(0, 2), expand=True)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, justify="right")
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        rows = sorted(self._status.running.values(), key=lambda each: each.began)
        for each in rows[:MAX_ROWS]:
            name = each.id if each.attempt == 1 else f"{each.id} (attempt {each.attempt})"
            call = last_call(self._output / f"{each.id}.log")
            table.add_row(
                Text(name), Text(rough_duration(now - each.began)), Text(call, style="dim")
            )
        if len(rows) > MAX_ROWS:
            table.add_row(Text(f"and {len(rows) - MAX_ROWS} more"), "", "")
        return Group(table, Text(status_line(self._status, now), style="bold"))


@contextmanager
def show_fleet(status: FleetStatus, output: Path) -> Generator[bool]:
    """Show the view while it lasts; yield whether there is a terminal for it."""
    if not sys.stderr.isatty():
        yield False
        return
    console = Console(stderr=True)
    # Other output to stderr appears above the view; stdout is the run's own.
    with Live(
        FleetView(status, output),
        console=console,
        refresh_per_second=REFRESH_PER_SECOND,
        transient=True,
        redirect_stdout=False,
    ):
        yield True


async def print_lines(status: FleetStatus, seconds: float = LINE_SECONDS) -> None:
    """Print the numbers of a fleet again and again, until cancelled."""
    while True:
        await anyio.sleep(seconds)
        click.echo(status_line(status, time.time()), err=True)


async def follow_fleet(output: Path) -> int:
    """Show a fleet that another process runs, until it ends; return 1 if it was killed."""
    status = FleetStatus()
    position = 0
    last_line = 0.0
    with show_fleet(status, output) as has_terminal:
        while True:
            is_driven = _is_locked(output)  # before reading: its last records are read then
            for after, record in read_records(output / NAME, position):
                position = after
                status.add(record)
            if status.stopped or not is_driven:
                break
            now = time.time()
            if not has_terminal and now - last_line >= LINE_SECONDS:
                last_line = now
                click.echo(status_line(status, now))
            await anyio.sleep(FOLLOW_SECONDS)
    click.echo(status_line(status, time.time()))
    if not status.stopped:
        click.echo("The driver was killed; continue with --resume.", err=True)
        return 1
    return 0


def _is_locked(output: Path) -> bool:
    """Return whether a driver works in an output directory."""
    try:
        with (output / LOCK_NAME).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
