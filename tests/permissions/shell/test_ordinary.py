from acp_server.permissions.shell.assessment import assess
from acp_server.permissions.shell.findings import (
    AskedCommand,
    Assessment,
    ProgramCall,
    SearchedTree,
)
from tests.permissions.shell.ordinary import HARMLESS_COMMANDS, TREES
from tests.support.case_table import each_case

WORKSPACE = "/code/space"
HOME = "/home/user"


@each_case(("command", "reads"), HARMLESS_COMMANDS.items(), ids=HARMLESS_COMMANDS.keys())
def test_an_ordinary_command_requires_no_permission(command: str, reads: tuple[str, ...]) -> None:
    found = assess(command, WORKSPACE, HOME)
    assert (found.verdict, found.reason, set(found.reads)) == ("reads", "", set(reads))


@each_case(("command", "trees"), TREES.items(), ids=TREES.keys())
def test_a_search_reports_the_trees_it_reads(command: str, trees: tuple[SearchedTree, ...]) -> None:
    found = assess(command, WORKSPACE, HOME)
    assert (found.verdict, found.trees) == ("reads", trees)


def test_the_table_of_ordinary_commands_has_the_required_length() -> None:
    assert len(HARMLESS_COMMANDS) >= 160


def test_a_read_only_command_reports_everything_it_reads() -> None:
    assert assess("cd src && cat *.py", WORKSPACE) == Assessment(
        "reads",
        reads=("/code/space/src",),
        globs=("/code/space/src/*.py",),
        programs=(
            ProgramCall("cd", (WORKSPACE,)),
            ProgramCall("cat", ("/code/space/src",)),
        ),
    )


def test_a_command_that_requires_permission_reports_its_reads_and_writes() -> None:
    assert assess("cp a b && ls src", WORKSPACE) == Assessment(
        "asks",
        "`cp` can change files",
        reads=("/code/space/a", "/code/space/src"),
        writes=("/code/space/b",),
        programs=(ProgramCall("cp", (WORKSPACE,)), ProgramCall("ls", (WORKSPACE,))),
        asked=(AskedCommand(("cp", "a", "b"), (WORKSPACE,), program="cp", paths=("a", "b")),),
    )


def test_an_unknown_home_directory_requires_permission() -> None:
    assert assess("cat ~/a", WORKSPACE).verdict == "asks"
    assert assess("cd && cat a", WORKSPACE).verdict == "asks"


@each_case(
    ("command", "writes"),
    [
        ("echo x > a", ("/code/space/a",)),
        ("echo x | tee a b", ("/code/space/a", "/code/space/b")),
        ("mv a b", ("/code/space/a", "/code/space/b")),
        ("rm -f a", ("/code/space/a",)),
        ("mkdir -p a/b", ("/code/space/a/b",)),
        ("sed -i s/a/b/ c", ("/code/space/c",)),
        ("dd if=a of=b", ("/code/space/b",)),
        ("cd src && touch a", ("/code/space/src/a",)),
        ("chmod +x a", ("/code/space/a",)),
        ("ln -s a b", ("/code/space/b",)),
    ],
)
def test_written_paths_are_reported_where_possible(command: str, writes: tuple[str, ...]) -> None:
    found = assess(command, WORKSPACE, HOME)
    assert (found.verdict, found.writes) == ("asks", writes)
