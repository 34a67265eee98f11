"""Which paths a command line names, for instructions to be looked for in their folders."""

from pathlib import Path

import pytest

from acp_server.tools.shell import named_paths as module
from acp_server.tools.shell.named_paths import find_named_paths
from tests.support.case_table import each_case

FILES = ("a/b/1.py", "a/b/2.py", "a/c/3.py", "a/c/.hidden", "d e/f.txt", "run.sh", "x{1,2}/y.txt")

COMMANDS: dict[str, tuple[str, list[str]]] = {
    "a file": ("cat a/b/1.py", ["a/b/1.py"]),
    "several, of a program that is not known": ("python run.sh a/c", ["run.sh", "a/c"]),
    "a program by its path": ("./run.sh", ["run.sh"]),
    "a pattern": ("cat a/b/*.py", ["a/b", "a/b/1.py", "a/b/2.py"]),
    "a pattern in the middle": ("cat a/*/3.py", ["a", "a/c/3.py"]),
    "a pattern that picks nothing": ("ls a/b/*.md", ["a/b"]),
    "braces": ("ls a/{b,c}", ["a/b", "a/c"]),
    "braces with a pattern": (
        "ls a/{b,c}/*",
        ["a/b", "a/b/1.py", "a/b/2.py", "a/c", "a/c/3.py"],
    ),
    "braces in braces": ("ls a/{b/{1,2}.py,c}", ["a/b/1.py", "a/c", "a/b/2.py"]),
    "quoted braces": ("cat 'x{1,2}'/y.txt", ["x{1,2}/y.txt"]),
    "a quoted pattern": ("cat 'a/*/1.py'", []),
    "a quoted blank": ("cat 'd e'/f.txt", ["d e/f.txt"]),
    "a changed folder": ("cd a && cat b/1.py", ["a", "a/b/1.py"]),
    "a folder changed for a while": ("(cd a; ls b); ls b; ls a/c", ["a", "a/b", "a/c"]),
    "a redirection": ("echo hello > a/c/new.txt", ["a/c/new.txt"]),
    "a value of a flag": ("make --file=a/b/1.py", ["a/b/1.py"]),
    "a variable before the command": ("X=1 cat a/b/1.py", ["a/b/1.py"]),
    "a loop": ("for f in a/b/*.py; do cat $f; done", ["a/b", "a/b/1.py", "a/b/2.py"]),
    "a command in a word": ('echo "$(cat a/b/1.py)"', ["a/b/1.py"]),
    "the home folder": ("cat ~/a/b/1.py", ["a/b/1.py"]),
    "a file that is not there": ("cat a/none.txt", ["a/none.txt"]),
    "a folder that is not there": ("cat none/none.txt", []),
    "words": ("git commit -m hello", []),
    "a text that goes in": ("cat <<EOF\na/b/1.py\nEOF", []),
    "what is no command": ("cat 'a/b", []),
    "characters that are none": ("cat \ud800 a/b", ["a/b"]),
    "a variable that is not known": ("cat $X/a/b", []),
}


@each_case(("command", "expected"), COMMANDS.values(), ids=COMMANDS.keys())
def test_paths_named_by_a_command_are_found(
    tmp_path: Path, command: str, expected: list[str]
) -> None:
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    found = find_named_paths(command, tmp_path, tmp_path)
    assert found == tuple(map(str, (tmp_path, *(tmp_path / name for name in expected))))


def test_a_pattern_over_a_huge_directory_gives_that_directory(tmp_path: Path) -> None:
    for number in range(module.MAX_ENTRIES):
        (tmp_path / f"{number}.txt").touch()
    below = tmp_path / "below"
    assert find_named_paths("cat ../*", below, tmp_path) == (str(below), str(tmp_path))


@pytest.mark.parametrize(
    "command",
    [
        "ls " + "{a,b}" * 30,
        "ls " + "{" * 5_000,
        "ls " + "a/* " * 2_000,
        "(" * 5_000,
        "ls a;" * 9_000,
    ],
    ids=["many choices", "open braces", "many patterns", "deep", "long"],
)
def test_a_hostile_command_yields_few_paths(tmp_path: Path, command: str) -> None:
    for number in range(100):
        (tmp_path / "a" / str(number)).mkdir(parents=True)
    assert len(find_named_paths(command, tmp_path, tmp_path)) <= module.MAX_PATHS
