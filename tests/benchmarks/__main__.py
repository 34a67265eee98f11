"""Compare ACP agents: `uv run python -m tests.benchmarks --peers hermes,claude`.

    --install-peers hermes,claude   first install these agents, each in its own directory
    --rows start,turns              only these groups, or single rows by their keys
    --agent 'some-agent acp'        any other command that speaks ACP
    --runs 5, --repeat 3            runs per benchmark, and repeats of the whole benchmark
    --json FILE, --from FILE        save the figures; print saved figures
    --compare FILE FILE FILE        whether saved benchmarks agree within their spread
    --against-bar                   each performance target, and whether it is met
    day --peers hermes,claude       300 steps over one repository instead

`docs/benchmarks.md` explains the rows.
"""

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.benchmarks import agreement, report, targets, workday
from tests.benchmarks.installing import install
from tests.benchmarks.peers import OWN_AGENT, PEERS, PeerAgent, make_custom_agent
from tests.benchmarks.rows import RowGroup, make_groups
from tests.benchmarks.runner import BenchmarkResults, print_progress, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 if runs disagree or a performance target is missed."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["day"]:
        return workday.main(arguments[1:])
    options = _parser().parse_args(arguments)
    groups = _chosen(make_groups(), _names(options.rows))
    if options.install_peers:
        return max(map(_install, _known(_names(options.install_peers))), default=1)
    if options.compare:
        return _compare([report.read(path) for path in options.compare], groups)
    runs = _results(options, groups)
    for results in runs:
        print(*report.format_tables(results, groups), sep="\n")
    code = _compare(runs, groups) if len(runs) > 1 else 0
    if options.against_bar:
        claims = [*targets.evaluate_targets(runs[-1])]
        print(*targets.format_lines(claims), sep="\n")
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


def _results(options: argparse.Namespace, groups: Sequence[RowGroup]) -> list[BenchmarkResults]:
    if options.kept:
        return [report.read(options.kept)]
    peers = [PEERS[OWN_AGENT], *_known(_names(options.peers))]
    peers += [make_custom_agent(shlex.split(command)) for command in options.agent]
    there = [peer for peer in peers if _is_there(peer)]
    repeated = run(there, groups, options.runs, options.repeat)
    for number, results in enumerate(repeated, 1):
        if options.json:
            path: Path = options.json
            mark = f"-{number}" if options.repeat > 1 else ""
            report.save(results, path.with_stem(f"{path.stem}{mark}"))
    return repeated


def _known(names: Sequence[str]) -> list[PeerAgent]:
    for name in names:
        if name not in PEERS:
            print_progress(f"{name} is left out: not one of {', '.join(PEERS)}")
    return [PEERS[name] for name in names if name in PEERS and name != OWN_AGENT]


def _is_there(peer: PeerAgent) -> bool:
    if not peer.is_installed:
        print_progress(f"{peer.name} is left out: not installed (--install-peers {peer.name})")
    return peer.is_installed


def _install(peer: PeerAgent) -> int:
    print_progress(f"{peer.name}: {' '.join(peer.packages)} into {peer.folder}")
    problem = install(peer)
    print_progress(f"{peer.name}: {problem or 'installed'}")
    return int(problem is not None)


def _chosen(groups: Sequence[RowGroup], names: Sequence[str]) -> list[RowGroup]:
    """Return the groups reduced to the named rows; all of them if no names are given."""
    if not names:
        return [*groups]
    selected = [
        group
        if group.name in names
        else replace(group, rows=[row for row in group.rows if row.key in names])
        for group in groups
    ]
    return [group for group in selected if group.rows]


def _compare(runs: Sequence[BenchmarkResults], groups: Sequence[RowGroup]) -> int:
    found = [*agreement.compare_runs(runs, groups)]
    print(*agreement.format_lines(found), sep="\n")
    return int(not all(each.agrees for each in found))


if __name__ == "__main__":
    raise SystemExit(main())
