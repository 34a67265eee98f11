"""Lines that the gate lets pass have no effect, whatever they are built of."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from tree_sitter import Node

from acp_server.permissions.shell.access import AccessRecorder
from acp_server.permissions.shell.command_judges import WORDS_JUDGES
from acp_server.permissions.shell.command_line import CommandSource
from acp_server.permissions.shell.grammar import node_text
from acp_server.permissions.shell.loops import read_loop_values
from acp_server.permissions.shell.scope import ShellScope, VariableValue
from acp_server.permissions.shell.walker import CommandWalker, DirectoryOutcome
from acp_server.permissions.shell.words import Word
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


FAMILIES = {
    *("assignments", "loops", "substitutions", "globs", "quoting", "git", "find", "xargs"),
    "redirects",
}
MAX_LINES_TO_A_FAULT = 2_000
SHELL = "acp_server.permissions.shell"


def _pass(*arguments: object, **options: object) -> None:
    del arguments, options


def _only_first_value(
    loop: Node, access: AccessRecorder, source: CommandSource
) -> tuple[VariableValue, ...]:
    return read_loop_values(loop, access, source)[:1]


def _skip(walker: CommandWalker, node: Node, scope: ShellScope) -> DirectoryOutcome:
    del walker, node
    return DirectoryOutcome(scope.directories, scope.directories)


_record_read = AccessRecorder.record_read
_expand_word = CommandSource.expand_word


def _overlook_globs(access: AccessRecorder, word: Word) -> None:
    if word.pattern is None:
        _record_read(access, word)


def _keep(characters: str) -> Callable[[CommandSource, Node, ShellScope], Word]:
    """Return an expansion that takes these characters for themselves."""

    def expand(source: CommandSource, node: Node, scope: ShellScope) -> Word:
        text = node_text(node)
        is_kept = not set(characters).isdisjoint(text) and "$" not in text
        return Word(text) if is_kept else _expand_word(source, node, scope)

    return expand


def _find_nothing(*arguments: object) -> str:
    del arguments
    return ""


def _no_words(*arguments: object) -> tuple[()]:
    del arguments
    return ()


def _is_true(value: object) -> bool:
    del value
    return True


def _is_false(value: object) -> bool:
    del value
    return False


FAULTS: dict[str, tuple[str, object]] = {
    "assignments: all are harmless": (
        f"{SHELL}.assignments.Assignment.is_harmless",
        property(_is_true),
    ),
    "loops: only the first value counts": (f"{SHELL}.walker.read_loop_values", _only_first_value),
    "loops: any variable may be set": (f"{SHELL}.loops.is_harmless_variable", _is_true),
    "loops: the body does not count": (f"{SHELL}.walker.CommandWalker._loop", _skip),
    "substitutions: what they run does not count": (
        f"{SHELL}.walker.CommandWalker._subshell",
        _skip,
    ),
    "globs: they read nothing": (f"{SHELL}.access.AccessRecorder.record_read", _overlook_globs),
    "globs: they pick no flags": (f"{SHELL}.words.Word.could_be_flag", property(_is_false)),
    "quoting: quotes stay in words": (
        f"{SHELL}.command_line.CommandSource.expand_word",
        _keep("'\""),
    ),
    "quoting: escapes stay in words": (
        f"{SHELL}.command_line.CommandSource.expand_word",
        _keep("\\"),
    ),
    "git: no repository is looked at": (
        "acp_server.permissions.git_checks._find_use_doubt",
        _find_nothing,
    ),
    "git: all subcommands read": (
        f"{SHELL}.command_judges.WORDS_JUDGES",
        {**WORDS_JUDGES, "git": _pass},
    ),
    "find: any command may be run": (f"{SHELL}.command_judges._judge_executed", _pass),
    "find: all actions read": (f"{SHELL}.command_judges._judge_expression", _pass),
    "xargs: any command may be run": (f"{SHELL}.walker.judge_xargs", _pass),
    "xargs: names are not looked at": (f"{SHELL}.command_judges.judge_on_names", _pass),
    "redirects: none is judged": (f"{SHELL}.walker.judge_redirect", _no_words),
}
"""Faults of the gate by the rules that they break: a name, and what takes its place."""


def count_lines_to_effect(world: ShellWorld, seed: int) -> int | None:
    """Return after how many lines the first one that passes has an effect; None if none has."""
    lines = LineGenerator(Random(seed))  # noqa: S311  no secret
    for count in range(1, MAX_LINES_TO_A_FAULT + 1):
        line = lines.next_line()
        if not world.passes(line):
            continue
        lines.note_passed(line)
        if world.run(line):
            world.restore()
            return count
    return None


SLOW_FAULTS = {"globs: they pick no flags", "quoting: escapes stay in words"}
"""Those that take more than a hundred lines with the first seed."""
SOME_FAULTS = [
    *{name.partition(":")[0]: name for name in FAULTS if name not in SLOW_FAULTS}.values()
]
"""A fault of each family."""


@needs_sandbox
@pytest.mark.parametrize(
    ("seed", "names"),
    [
        (1, SOME_FAULTS),
        *(pytest.param(each, [*FAULTS], marks=pytest.mark.full) for each in (1, 2, 3)),
    ],
    ids=["1, some", "1", "2", "3"],
)
def test_planted_faults_are_found(
    seed: int, names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = launcher()
    assert not isinstance(found, MissingLauncher)
    assert {name.partition(":")[0] for name in names} == FAMILIES
    with ShellWorld(tmp_path, found) as world:
        counts: dict[str, int | None] = {}
        for name in names:
            target, fault = FAULTS[name]
            with monkeypatch.context() as patch:
                patch.setattr(target, fault)
                counts[name] = count_lines_to_effect(world, seed)
    assert None not in counts.values(), counts


@needs_sandbox
def test_a_line_that_passes_has_no_effect(tmp_path: Path) -> None:
    holes, passed_count = find_holes(0, 250, tmp_path)
    assert not holes
    assert passed_count > 12


@needs_sandbox
@pytest.mark.full
@pytest.mark.parametrize("seed", SEEDS)
def test_100_000_lines_that_pass_have_no_effect(seed: int, tmp_path: Path) -> None:
    holes, passed_count = find_holes(seed, LINES_PER_SEED, tmp_path)
    assert not holes
    assert passed_count > 250
