"""Compare ACP agents: `uv run python -m tests.benchmarks --peers hermes,claude`.

    --install-peers hermes,claude   first install these agents, each in its own directory
    --rows start,turns              only these groups, or single rows by their keys
    --agent 'some-agent acp'        any other command that speaks ACP
    --runs 5, --repeat 3            runs per benchmark, and repeats of the whole benchmark
    --json FILE, --from FILE        save the figures; print saved figures
    --compare FILE FILE FILE        whether saved benchmarks agree within their spread
    --against-bar                   each performance target, and whether it is met

`docs/benchmarks.md` explains the rows.
"""

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.benchmarks import agreement, report, targets
from tests.benchmarks.installing import install
from tests.benchmarks.peers import OURS, PEERS, Peer, any_agent
from tests.benchmarks.rows import Group, make_groups
from tests.benchmarks.runner import Results, run, say


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 if runs disagree or a performance target is missed."""
    options = _parser().parse_args(arguments)
    groups = _chosen(make_groups(), _names(options.rows))
    if options.install_peers:
        return max(map(_install, _known(_names(options.install_peers))), default=1)
    if options.compare:
        return _compare([report.read(path) for path in options.compare], groups)
    runs = _results(options, groups)
    for results in runs:
        print(*report.tables(results, groups), sep="\n")
    code = _compare(runs, groups) if len(runs) > 1 else 0
    if options.against_bar:
        claims = [*targets.judged(runs[-1])]
        print(*targets.lines(claims), sep="\n")
        code |= int(any(claim.is_met is False for claim in claims))
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", default="")
    parser.add_argument("--install-peers", default="")
    parser.add_argument("--agent", action="append", default=[])
    parser.add_argument("--rows", default="")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--from", type=Path, dest="kept")
    parser.add_argument("--compare", type=Path, nargs="+")
    parser.add_argument("--against-bar", action="store_true")
    return parser


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _results(options: argparse.Namespace, groups: Sequence[Group]) -> list[Results]:
    if options.kept:
        return [report.read(options.kept)]
    peers = [PEERS[OURS], *_known(_names(options.peers))]
    peers += [any_agent(shlex.split(command)) for command in options.agent]
    there = [peer for peer in peers if _is_there(peer)]
    repeated = run(there, groups, options.runs, options.repeat)
    for number, results in enumerate(repeated, 1):
        if options.json:
            path: Path = options.json
            mark = f"-{number}" if options.repeat > 1 else ""
            report.save(results, path.with_stem(f"{path.stem}{mark}"))
    return repeated


def _known(names: Sequence[str]) -> list[Peer]:
    for name in names:
        if name not in PEERS:
            say(f"{name} is left out: not one of {', '.join(PEERS)}")
    return [PEERS[name] for name in names if name in PEERS and name != OURS]


def _is_there(peer: Peer) -> bool:
    if not peer.is_installed:
        say(f"{peer.name} is left out: not installed (--install-peers {peer.name})")
    return peer.is_installed


def _install(peer: Peer) -> int:
    say(f"{peer.name}: {' '.join(peer.packages)} into {peer.folder}")
    problem = install(peer)
    say(f"{peer.name}: {problem or 'installed'}")
    return int(problem is not None)


def _chosen(groups: Sequence[Group], names: Sequence[str]) -> list[Group]:
    """Return the groups reduced to the named rows; all of them if no names are given."""
    if not names:
        return [*groups]
    kept = [
        group
        if group.name in names
        else replace(group, rows=[row for row in group.rows if row.key in names])
        for group in groups
    ]
    return [group for group in kept if group.rows]


def _compare(runs: Sequence[Results], groups: Sequence[Group]) -> int:
    found = [*agreement.agreements(runs, groups)]
    print(*agreement.lines(found), sep="\n")
    return int(not all(each.agrees for each in found))


if __name__ == "__main__":
    raise SystemExit(main())
