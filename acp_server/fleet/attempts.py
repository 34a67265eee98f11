"""Attempts: data that a driver sends to a node, and the report that comes back.

Both are plain data with a JSON form, because an engine may carry them to another machine.
"""

import base64
from dataclasses import asdict, dataclass
from typing import cast

from pydantic import JsonValue

from acp_server.fleet.results import UnitCheck, check_from_json, number
from acp_server.fleet.unit import Unit, unit_from_json
from acp_server.text.json_values import as_object, as_text

Json = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a unit."""

    handle: str
    """Identifies the attempt; unique among all drivers."""
    number: int
    unit: Unit
    log: str = ""
    """File that the node writes the log to, if it shares the driver's disk; else empty."""

    def as_json(self) -> Json:
        """Return the attempt as JSON."""
        return {"handle": self.handle, "number": self.number, "unit": self.unit.as_json()}


def attempt_from_json(value: Json) -> Attempt:
    """Return the attempt that `Attempt.as_json` has written."""
    count = value["number"]
    return Attempt(
        as_text(value["handle"]),
        count if isinstance(count, int) else 1,
        unit_from_json(as_object(value["unit"])),
    )


@dataclass(frozen=True, slots=True)
class Placement:
    """An attempt goes to a node, as the engine has chosen."""

    handle: str
    node: str
    """Name of the node."""


@dataclass(frozen=True, slots=True)
class AttemptReport:
    """Report of an attempt that has ended, or whose node was lost."""

    handle: str
    node: str = ""
    server: str = ""
    """Version of acp-server on the node."""
    result: Json | None = None
    """Result that `acp-server run` has printed; None if there is none."""
    exit_code: int | None = None
    """Of `acp-server run`; negative for a signal."""
    is_lost: bool = False
    """Whether the node was lost: another attempt may succeed."""
    is_cancelled: bool = False
    """Whether the driver asked for the end."""
    problem: str = ""
    """Why the agent could not be started; empty if it was."""
    has_agent: bool = True
    """Whether the agent may have begun; without it, the attempt has cost nothing."""
    has_failed_setup: bool = False
    """Whether `setup` failed; `problem` says how."""
    check: UnitCheck | None = None
    seconds: float = 0.0
    patch: bytes = b""
    log: bytes = b""
    """End of the log; empty if the node has written it to the attempt's log file."""
    transcript: bytes = b""
    """Messages and calls, see `fleet/transcripts.py`."""

    @property
    def cost_usd(self) -> float | None:
        """Cost of the attempt; None if it is unknown."""
        printed = self.result or {}
        # A run counts each call that it begins, also those that fail or are cancelled.
        has_called = as_object(printed.get("usage")).get("model_calls") != 0
        known = number(printed.get("cost_usd"))
        return known if known is not None or (self.has_agent and has_called) else 0.0

    def as_json(self) -> Json:
        """Return the report as JSON."""
        values = asdict(self)
        for name in ("patch", "log", "transcript"):
            values[name] = base64.b64encode(values[name]).decode()
        return cast("Json", values)


def report_from_json(value: Json) -> AttemptReport:
    """Return the report that `AttemptReport.as_json` has written."""
    result, code = value.get("result"), value.get("exit_code")
    return AttemptReport(
        handle=as_text(value.get("handle")),
        node=as_text(value.get("node")),
        server=as_text(value.get("server")),
        result=result if isinstance(result, dict) else None,
        exit_code=code if isinstance(code, int) else None,
        is_lost=value.get("is_lost") is True,
        is_cancelled=value.get("is_cancelled") is True,
        problem=as_text(value.get("problem")),
        has_agent=value.get("has_agent") is not False,
        has_failed_setup=value.get("has_failed_setup") is True,
        check=check_from_json(value.get("check")),
        seconds=number(value.get("seconds")) or 0.0,
        patch=base64.b64decode(as_text(value.get("patch"))),
        log=base64.b64decode(as_text(value.get("log"))),
        transcript=base64.b64decode(as_text(value.get("transcript"))),
    )


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """Facts of a node that decide whether units may run there."""

    name: str
    server: str
    """Version of acp-server."""
    git: str
    """Version of git; empty if it was not found."""
    free_bytes: int
    """Free disk space for worktrees."""
    slots: int = 1
    """Attempts that it runs at the same time."""
    problem: str = ""
    """Why no unit may run there; empty if it may."""
