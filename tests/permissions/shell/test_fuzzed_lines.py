"""Lines that the gate lets pass have no effect, whatever they are built of."""

from pathlib import Path
from random import Random

import pytest

from acp_server.tools.shell.confinement.launchers import MissingLauncher
from tests.fuzz.shell_lines import LineGenerator
from tests.fuzz.shell_world import ShellWorld
from tests.tools.confinement.sandbox_setup import launcher, needs_sandbox

LINES_PER_SEED = 5_000
SEEDS = range(1, 21)
DETECTED = {
    "a program of the workspace": "./canary",
    "a program on PATH": "true; canary",
    "a new file": ": > made",
    "a changed mode": "chmod 700 a",
    "the same content again": "cat b > b.new; cat b.new > b",
    "a file outside": "touch ~/made",
    "a connection": ": > /dev/tcp/127.0.0.1/47110",
    "a secret file": "cat .env",
    "a variable": "echo $TOKEN",
    "a repository's program": "cd evil && git status",
}

FOUND = {"an index whose times are outdated": "git diff"}
"""Lines that passed and had an effect, until the gate or their environment was mended."""


def find_holes(seed: int, count: int, directory: Path) -> tuple[dict[str, list[str]], int]:
    """Return the effects of lines that pass, by the shortest line; and how many lines passed."""
    found = launcher()
    assert not isinstance(found, MissingLauncher)
    lines, seen, passed_count = LineGenerator(Random(seed)), set[str](), 0  # noqa: S311  no secret
    holes: dict[str, list[str]] = {}
    with ShellWorld(directory, found) as world:
        while len(seen) < count:
            line = lines.next_line()
            if line in seen:
                continue
            seen.add(line)
            if not world.passes(line):
                continue
            passed_count += 1
            lines.note_passed(line)
            if effects := world.run(line):
                world.restore()
                holes[world.minimize(line)] = list(effects)
    return holes, passed_count


@needs_sandbox
def test_effects_are_noticed(tmp_path: Path) -> None:
    found = launcher()
    assert not isinstance(found, MissingLauncher)
    with ShellWorld(tmp_path, found) as world:
        assert not world.run("cat a")
        unnoticed = [name for name, line in DETECTED.items() if not world.run(line)]
        assert not unnoticed
        assert not [name for name, line in DETECTED.items() if world.passes(line)]


@needs_sandbox
@pytest.mark.parametrize("line", FOUND.values(), ids=FOUND.keys())
def test_a_line_once_found_has_no_effect(line: str, tmp_path: Path) -> None:
    found = launcher()
    assert not isinstance(found, MissingLauncher)
    with ShellWorld(tmp_path, found) as world:
        # A restored file has the same content and another inode.
        world.restore()
        assert world.passes(line)
        assert not world.run(line)


@needs_sandbox
def test_a_line_that_passes_has_no_effect(tmp_path: Path) -> None:
    holes, passed_count = find_holes(0, 400, tmp_path)
    assert not holes
    assert passed_count > 20


@needs_sandbox
@pytest.mark.full
@pytest.mark.parametrize("seed", SEEDS)
def test_100_000_lines_that_pass_have_no_effect(seed: int, tmp_path: Path) -> None:
    holes, passed_count = find_holes(seed, LINES_PER_SEED, tmp_path)
    assert not holes
    assert passed_count > 250
