from acp_server.permissions.shell.assessment import assess
from acp_server.permissions.shell.awk_programs import is_printing_program
from acp_server.permissions.shell.findings import SearchedTree
from tests.permissions.shell.look_alikes import LOOK_ALIKES
from tests.support.case_table import each_case

WORKSPACE = "/code/space"
HOME = "/home/user"
GO_FILES = SearchedTree(WORKSPACE, opens_links=True, name_patterns=("*.go",))
SPLIT_GO_FILES = SearchedTree(
    WORKSPACE, opens_links=True, splits_names=True, name_patterns=("*.go",)
)
ALL_FILES = SearchedTree(WORKSPACE, opens_links=True)

READERS: dict[str, tuple[SearchedTree, ...]] = {
    "find . -name '*.go' -exec grep -l foo {} \\;": (GO_FILES,),
    "find . -name '*.go' -exec grep -l foo {} + | head": (GO_FILES,),
    "find . -type f -exec cat {} \\;": (ALL_FILES,),
    "find . -name '*.go' -o -name x -exec cat {} \\;": (ALL_FILES,),
    "find . -name '*.go' | xargs grep -l foo | head -3": (SPLIT_GO_FILES,),
    "find . -name '*.go' | xargs -l grep foo": (SPLIT_GO_FILES,),
    "find . -name '*.go' -print0 | xargs -0 grep foo": (GO_FILES,),
    "find . -name '*.go' 2>/dev/null | grep -v x | head -20 | xargs wc -l": (SPLIT_GO_FILES,),
    "find . -name '*.go' | xargs -I{} head -1 {}": (SPLIT_GO_FILES,),
    "git ls-files '*.go' | xargs wc -l": (SPLIT_GO_FILES,),
    "gofmt -l .": (SearchedTree(WORKSPACE, name_patterns=("*.go",)),),
    "go env GOROOT GOPATH": (),
    "go list -m -json all": (),
    "go doc fmt.Println | head": (),
    "go version": (),
    "awk '{print $1}' a": (),
    "awk '/^func / {print $2}' a": (),
    "env LC_ALL=C CI=1 sort a": (),
    "timeout 5 env CI=1 wc -l a": (),
    "awk -F: '$3 > 5 {print; n++} END {print n/2}' a": (),
    "cd src && git log --oneline | head": (),
    "cd src; git status": (),
    "git -C src show HEAD": (),
    "timeout 60 ls": (),
    "timeout -k 5 --foreground 1m wc -l a": (),
    "time ls": (),
    "nice -n 5 ls": (),
    "LC_ALL=C sort a": (),
    "GIT_PAGER=cat NO_COLOR=1 git log": (),
    "echo $(date) $?": (),
    "ls | wc -l; echo ${PIPESTATUS[0]}": (),
    "diff <(git show HEAD:a) b": (SearchedTree(f"{WORKSPACE}/b", follows_symlinks=True),),
    "git config user.name": (),
    "git config --get remote.origin.url": (),
    "stat -f %m a": (),
    "go env | grep GOPATH": (),
    "set -euo pipefail; ls": (),
    "printenv PATH; echo $JAVA_HOME": (),
    'basename "$(pwd)"': (),
    "X=$(git rev-parse HEAD); echo $X": (),
    'N=$(wc -l < a) && echo "$N lines"': (),
    "f=a && cat $f; grep x $f": (),
    "if test -f a; then x=b; fi; echo $x": (),
    "x=b; for i in 1 2; do echo $i $x; x=c; done": (),
    "for i in $(seq 1 3); do echo $i; done": (),
    'while read -r line; do echo "$line"; done < a': (),
    'git log --oneline | while read h rest; do echo "$h: $rest"; done': (),
    "find . -name '*.go' | while read -r f; do grep -c x \"$f\"; done": (SPLIT_GO_FILES,),
    "git ls-files '*.go' | while IFS= read -r f; do head -2 \"$f\"; done": (SPLIT_GO_FILES,),
    'find . -name \'*.go\' | sort | while read f; do echo "== $f"; wc -l "$f"; done': (
        SPLIT_GO_FILES,
    ),
}
VARIABLES = {
    "x=.env; cat $x": ".env",
    "a=.e; b=nv; cat $a$b": ".env",
    'a=.e && b=nv && cat "$a$b"': ".env",
    "X=1 Y=.env; cat $Y": ".env",
    "x=sub; cd $x && cat .env": "sub/.env",
    "for f in a .env; do cat $f; done": ".env",
    "{ x=.env; }; cat $x": ".env",
    "x=a; (x=.env; cat $x)": ".env",
}
"""Lines that read a file by a variable, with its path."""


@each_case(("command", "path"), VARIABLES.items(), ids=VARIABLES.keys())
def test_a_file_that_a_variable_names_is_reported(command: str, path: str) -> None:
    found = assess(command, WORKSPACE, HOME)
    assert found.verdict == "reads"
    assert f"{WORKSPACE}/{path}" in found.reads


@each_case(("command", "trees"), READERS.items(), ids=READERS.keys())
def test_a_command_that_only_reads_requires_no_permission(
    command: str, trees: tuple[SearchedTree, ...]
) -> None:
    found = assess(command, WORKSPACE, HOME)
    assert (found.verdict, found.reason, found.trees) == ("reads", "", trees)


@each_case("command", LOOK_ALIKES)
def test_a_line_that_looks_like_reading_requires_permission(command: str) -> None:
    assert assess(command, WORKSPACE, HOME).verdict == "asks"


def test_the_table_of_look_alikes_has_the_required_length() -> None:
    assert len(set(LOOK_ALIKES)) >= 100


@each_case(
    "program",
    [
        *("{ print $1, $NF }", "/a|b/ { n += $2 } END { print n / NR }", "NR > 5 && $3 > 2"),
        *('BEGIN { FS = "|" } { print $2 }', '{ if ($1 > 2) print ">" }', "!seen[$0]++"),
        *('{ gsub(/[/|]/, "-"); print }', '{ printf "%s\\n", $1 # > x\n}', "a[1] / 2 > 1"),
        *("{ print ($1 > 2) }", "NR == FNR { a[$1]; next } $1 in a"),
    ],
)
def test_an_awk_program_that_prints_is_known(program: str) -> None:
    assert is_printing_program(program)
