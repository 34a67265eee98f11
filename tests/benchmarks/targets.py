"""Performance targets derived from other agents' figures, and whether they are met.

Published figures are medians of five runs on a quiet two-core machine, with an instant model on
loopback. A machine on which bare Python takes longer than on that one gets that much more time for
each target in units of time, and the result says so; ratios and memory are not scaled. Targets that
no benchmark can measure name the tests that prove them. Runs nothing itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.benchmarks.peers import OWN_AGENT
from tests.benchmarks.runner import BenchmarkResults

REFERENCE_PYTHON_MS = 9.0
"""Bare Python from start to end, on the machine of the published figures."""
TIME_UNITS = frozenset({"ms", "µs", "s"})


@dataclass(frozen=True, slots=True)
class FigureTarget:
    """Limit for one figure."""

    title: str
    key: str
    maximum: float | None = None
    minimum: float | None = None
    unit: str = "ms"
    python: str = ""
    """Published figure of a Python agent, `hermes-acp` 0.19.0."""
    node: str = ""
    """Published figure of a Node agent, `claude-agent-acp` 0.100.0."""


@dataclass(frozen=True, slots=True)
class RatioTarget:
    """A figure that must be this many times smaller than a peer's in the same run."""

    title: str
    key: str
    maximum: float
    peers: Sequence[str] = ()
    """Names of the peers to compare with; all if empty."""


@dataclass(frozen=True, slots=True)
class ProvenTarget:
    """A target that tests prove."""

    title: str
    tests: str


FIGURE_TARGETS = (
    FigureTarget("spawn to initialize answered", "initialize", 100, python="374", node="302"),
    FigureTarget(
        "initialize ahead of the fastest published",
        "initialize",
        107,
        node="107 (Rust), 252 to 3,954",
    ),
    FigureTarget("ready after the spawn", "session", 350, python="1,366-1,949", node="687"),
    FigureTarget("second session/new", "second-session", 20, python="61-231", node="330"),
    FigureTarget(
        "first prompt, 2.5 s after session/new", "settled-turn", 60, python="762", node="140"
    ),
    FigureTarget("warm prompt, whole turn", "warm-turn", 12, python="52", node="60"),
    FigureTarget("2,000 chunks: CPU of each", "2k-cpu", 60, unit="µs", python="300", node="200"),
    FigureTarget(
        "memory after initialize, RSS", "initialize-rss", 20, unit="MiB", python="52", node="124"
    ),
    FigureTarget(
        "memory after session/new, RSS", "session-rss", 50, unit="MiB", python="104", node="499"
    ),
    FigureTarget("memory at the end, RSS", "end-rss", 100, unit="MiB", python="107", node="738"),
    FigureTarget("memory at the end, PSS", "end-pss", 75, unit="MiB"),
    FigureTarget("memory of an idle session", "idle-session", 0.2, unit="MiB"),
    FigureTarget("100 idle sessions, above one", "hundred-idle", 20, unit="MiB"),
    FigureTarget("100 sessions that had a turn, above one", "hundred-used", 20, unit="MiB"),
    FigureTarget("100 sessions loaded again, above one", "hundred-loaded", 20, unit="MiB"),
    FigureTarget(
        '"hi": system prompt and tools',
        "prompt-characters",
        20_000,
        unit="characters",
        python="52 KB",
        node="36 KB",
    ),
    FigureTarget(
        "20 turns, 60 calls: from cache",
        "day-share",
        minimum=97,
        unit="%",
        python="97.4",
        node="96.3",
    ),
    FigureTarget(
        "20 turns, 60 calls: billed input",
        "day-billed",
        84,
        unit="k tokens",
        python="168",
        node="191",
    ),
    FigureTarget("loading 150 turns", "load-150", 200, python="2,000"),
    FigureTarget("loading 15,000 turns, CPU", "load-15000-cpu", 3, unit="s"),
    FigureTarget("loading 15,000 turns, PSS", "load-15000-pss", 120, unit="MiB"),
    FigureTarget("3,000 skills, added to a first prompt, CPU", "skills-first", 300),
    FigureTarget("listing 45 sessions (a page of 1,000)", "list-page", 20, python="250-500"),
    FigureTarget("50 turns at once: slowest less fastest", "crowd-spread", 250, python="4 at once"),
    FigureTarget("a prompt line of 1 MiB", "line-1", 1_600, python="1,600"),
    FigureTarget("a prompt line of 10 MiB", "line-10", 2_200, python="2,200"),
    FigureTarget("a prompt line of 50 MiB, answered", "line-50", 11_000, python="process dies"),
    FigureTarget(
        "malformed lines survived, of 6", "malformed", minimum=6, unit="", python="process dies"
    ),
    FigureTarget("kill -9 within a turn: stream lost", "killed", 100, python="partial answer lost"),
    FigureTarget("cancel while a tool runs", "cancel", 300, python="session wedged"),
    FigureTarget("next prompt after a cancel", "after-cancel", minimum=1, unit="", python="wedged"),
    FigureTarget("edits of a batch told as they end", "edits", minimum=7, unit="", python="0"),
    FigureTarget(
        "gone after stdin closed, children too", "leave", 2_000, python="alive after 20 s"
    ),
    FigureTarget(
        "diffs before the arguments are complete",
        "grow-early",
        minimum=1,
        unit="",
        python="0",
        node="0",
    ),
    FigureTarget("search over 10,000 sessions, slowest, CPU", "search-worst", 50),
)
RATIO_TARGETS = (
    RatioTarget("initialize ahead of every measured agent", "initialize", 1.0),
    RatioTarget(
        "spawn to the end of a prompt sent at once, half of the best", "at-once-total", 0.5
    ),
    RatioTarget("CPU of a chunk under a fifth of hermes'", "2k-cpu", 0.2, ["hermes"]),
    RatioTarget("billed input under half", "day-billed", 0.5),
)
PROVEN_TARGETS = (
    ProvenTarget(
        "writes that bypass approval: none", "tests/permissions, tests/architecture/effects.toml"
    ),
    ProvenTarget("attached file outside the workspace: asked, or refused", "tests/tools"),
    ProvenTarget("kill -9: no orphan, the call closed as failed", "tests/sessions/test_killed.py"),
)


@dataclass(frozen=True, slots=True)
class TargetResult:
    """One target and whether it is met; `is_met` is None if nothing was measured."""

    title: str
    bound: str
    measured: str
    published: str
    is_met: bool | None


def evaluate_targets(results: BenchmarkResults) -> Iterator[TargetResult]:
    """Yield the result for every target."""
    slowness = machine_slowness(results)
    for bound in FIGURE_TARGETS:
        yield _evaluate_figure(bound, results, slowness)
    for ratio in RATIO_TARGETS:
        yield from _evaluate_ratio(ratio, results)
    for proof in PROVEN_TARGETS:
        yield TargetResult(proof.title, "", proof.tests, "", None)


def machine_slowness(results: BenchmarkResults) -> float:
    """Return how many times longer bare Python takes than in the published figures; 1 if not."""
    python_ms = results.limits.median("python")
    return max(1.0, (python_ms or 0.0) / REFERENCE_PYTHON_MS)


def _evaluate_figure(
    bound: FigureTarget, results: BenchmarkResults, slowness: float
) -> TargetResult:
    sheet = results.sheets[OWN_AGENT]
    median = sheet.median(bound.key)
    maximum = bound.maximum
    asked = f"<= {maximum:,g}" if maximum is not None else f">= {bound.minimum:,g}"
    if maximum is not None and bound.unit in TIME_UNITS and slowness > 1:
        maximum *= slowness
        asked = f"<= {maximum:,.0f} ({slowness:.1f} x {bound.maximum:,g})"
    published = "; ".join(
        f"{kind} {figure}"
        for kind, figure in (("Python", bound.python), ("Node", bound.node))
        if figure
    )
    if median is None:
        ours = f"not measured ({sheet.notes.get(bound.key, 'row not run')})"
        return TargetResult(bound.title, asked, ours, published, None)
    is_met = median <= maximum if maximum is not None else median >= (bound.minimum or 0)
    return TargetResult(bound.title, asked, f"{median:,.2f} {bound.unit}", published, is_met)


def _evaluate_ratio(ratio: RatioTarget, results: BenchmarkResults) -> Iterator[TargetResult]:
    ours = results.sheets[OWN_AGENT].median(ratio.key)
    names = ratio.peers or [name for name in results.sheets if name != OWN_AGENT]
    for name in names:
        theirs = results.sheets[name].median(ratio.key) if name in results.sheets else None
        what, asked = f"{ratio.title}: {name}", f"<= {ratio.maximum:g} of it"
        if ours is None or theirs is None:
            yield TargetResult(what, asked, "not measured", "", None)
        else:
            measured = f"{ours:,.2f} of {theirs:,.2f}: {ours / theirs:.2f}"
            yield TargetResult(what, asked, measured, "", ours / theirs <= ratio.maximum)


def format_lines(results: Sequence[TargetResult]) -> Iterator[str]:
    """Yield the targets as a table, then how many are met."""
    words = {True: "met", False: "NOT MET", None: "-"}
    yield f"\n{'':9} {'the bar':50} {'asked':>20}  {'ours':32} published"
    for result in results:
        head = f"{words[result.is_met]:9} {result.title:50} {result.bound:>20}"
        yield f"{head}  {result.measured:32} {result.published}".rstrip()
    met = sum(result.is_met is True for result in results)
    failed = sum(result.is_met is False for result in results)
    yield f"{met} met, {failed} not met, {len(results) - met - failed} not judged here"
