"""Performance targets derived from other agents' figures, and whether they are met.

Published figures are medians of five runs on a quiet two-core machine, with an instant model on
loopback. Targets that no benchmark can measure name the tests that prove them. Runs nothing itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.benchmarks.peers import OURS
from tests.benchmarks.runner import Results


@dataclass(frozen=True, slots=True)
class Bound:
    """Limit for one figure."""

    what: str
    key: str
    most: float | None = None
    least: float | None = None
    unit: str = "ms"
    python: str = ""
    """Published figure of a Python agent, `hermes-acp` 0.19.0."""
    node: str = ""
    """Published figure of a Node agent, `claude-agent-acp` 0.100.0."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A figure that must be this many times smaller than a peer's in the same run."""

    what: str
    key: str
    most: float
    peers: Sequence[str] = ()
    """Names of the peers to compare with; all if empty."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A target that tests prove."""

    what: str
    tests: str


BOUNDS = (
    Bound("spawn to initialize answered", "initialize", 100, python="374", node="302"),
    Bound(
        "initialize ahead of the fastest published",
        "initialize",
        107,
        node="107 (Rust), 252 to 3,954",
    ),
    Bound("ready after the spawn", "session", 350, python="1,366-1,949", node="687"),
    Bound("second session/new", "second-session", 20, python="61-231", node="330"),
    Bound("first prompt, 2.5 s after session/new", "settled-turn", 60, python="762", node="140"),
    Bound("warm prompt, whole turn", "warm-turn", 12, python="52", node="60"),
    Bound("2,000 chunks: CPU of each", "2k-cpu", 60, unit="µs", python="300", node="200"),
    Bound(
        "memory after initialize, RSS", "initialize-rss", 20, unit="MiB", python="52", node="124"
    ),
    Bound("memory after session/new, RSS", "session-rss", 50, unit="MiB", python="104", node="499"),
    Bound("memory at the end, RSS", "end-rss", 100, unit="MiB", python="107", node="738"),
    Bound("memory of an idle session", "idle-session", 0.2, unit="MiB"),
    Bound(
        '"hi": system prompt and tools',
        "prompt-characters",
        20_000,
        unit="characters",
        python="52 KB",
        node="36 KB",
    ),
    Bound(
        "20 turns, 60 calls: from cache",
        "day-share",
        least=97,
        unit="%",
        python="97.4",
        node="96.3",
    ),
    Bound(
        "20 turns, 60 calls: billed input",
        "day-billed",
        84,
        unit="k tokens",
        python="168",
        node="191",
    ),
    Bound("loading 150 turns", "load-150", 200, python="2,000"),
    Bound("listing 45 sessions (a page of 1,000)", "list-page", 20, python="250-500"),
    Bound("50 turns at once: slowest less fastest", "crowd-spread", 250, python="4 at once"),
    Bound("a prompt line of 1 MiB", "line-1", 1_600, python="1,600"),
    Bound("a prompt line of 10 MiB", "line-10", 2_200, python="2,200"),
    Bound("a prompt line of 50 MiB, answered", "line-50", 11_000, python="process dies"),
    Bound("malformed lines borne, of 6", "malformed", least=6, unit="", python="process dies"),
    Bound("kill -9 within a turn: stream lost", "killed", 100, python="partial answer lost"),
    Bound("cancel while a tool runs", "cancel", 300, python="session wedged"),
    Bound("next prompt after a cancel", "after-cancel", least=1, unit="", python="wedged"),
    Bound("edits of a batch told as they end", "edits", least=7, unit="", python="0"),
    Bound("gone after stdin closed, children too", "leave", 2_000, python="alive after 20 s"),
    Bound(
        "diffs before the arguments are complete",
        "grow-early",
        least=1,
        unit="",
        python="0",
        node="0",
    ),
    Bound("search over 10,000 sessions, slowest, CPU", "search-worst", 50),
)
RATIOS = (
    Ratio("initialize ahead of every measured agent", "initialize", 1.0),
    Ratio("CPU of a chunk under a fifth of hermes'", "2k-cpu", 0.2, ["hermes"]),
    Ratio("billed input under half", "day-billed", 0.5),
)
PROOFS = (
    Proof("first prompt sent at once: stated (row at-once-turn), no bound", "tests/wire"),
    Proof(
        "writes that bypass approval: none", "tests/permissions, tests/architecture/effects.toml"
    ),
    Proof("attached file outside the workspace: asked, or refused", "tests/tools"),
    Proof("kill -9: no orphan, the call closed as failed", "tests/sessions/test_killed.py"),
)


@dataclass(frozen=True, slots=True)
class Claim:
    """One target and whether it is met; `is_met` is None if nothing was measured."""

    what: str
    bound: str
    ours: str
    published: str
    is_met: bool | None


def judged(results: Results) -> Iterator[Claim]:
    """Yield the result for every target."""
    for bound in BOUNDS:
        yield _judged_bound(bound, results)
    for ratio in RATIOS:
        yield from _judged_ratio(ratio, results)
    for proof in PROOFS:
        yield Claim(proof.what, "", proof.tests, "", None)


def _judged_bound(bound: Bound, results: Results) -> Claim:
    sheet = results.sheets[OURS]
    median = sheet.median(bound.key)
    asked = f"<= {bound.most:,g}" if bound.most is not None else f">= {bound.least:,g}"
    published = "; ".join(
        f"{kind} {figure}"
        for kind, figure in (("Python", bound.python), ("Node", bound.node))
        if figure
    )
    if median is None:
        ours = f"not measured ({sheet.notes.get(bound.key, 'row not run')})"
        return Claim(bound.what, asked, ours, published, None)
    is_met = median <= bound.most if bound.most is not None else median >= (bound.least or 0)
    return Claim(bound.what, asked, f"{median:,.2f} {bound.unit}", published, is_met)


def _judged_ratio(ratio: Ratio, results: Results) -> Iterator[Claim]:
    ours = results.sheets[OURS].median(ratio.key)
    names = ratio.peers or [name for name in results.sheets if name != OURS]
    for name in names:
        theirs = results.sheets[name].median(ratio.key) if name in results.sheets else None
        what, asked = f"{ratio.what}: {name}", f"<= {ratio.most:g} of it"
        if ours is None or theirs is None:
            yield Claim(what, asked, "not measured", "", None)
        else:
            told = f"{ours:,.2f} of {theirs:,.2f}: {ours / theirs:.2f}"
            yield Claim(what, asked, told, "", ours / theirs <= ratio.most)


def lines(claims: Sequence[Claim]) -> Iterator[str]:
    """Yield the targets as a table, then how many are met."""
    words = {True: "met", False: "NOT MET", None: "-"}
    yield f"\n{'':9} {'the bar':50} {'asked':>12}  {'ours':32} published"
    for claim in claims:
        head = f"{words[claim.is_met]:9} {claim.what:50} {claim.bound:>12}"
        yield f"{head}  {claim.ours:32} {claim.published}".rstrip()
    met = sum(claim.is_met is True for claim in claims)
    failed = sum(claim.is_met is False for claim in claims)
    yield f"{met} met, {failed} not met, {len(claims) - met - failed} not judged here"
