"""The reasons of questions: one plain sentence each, in one place, by what was parsed."""

import re
from collections.abc import Mapping
from pathlib import Path

from acp_server.permissions import reasons
from acp_server.permissions.shell.assessment import assess
from tests.support.case_table import each_case

PACKAGE = Path(reasons.__file__).parent
TEXTS: Mapping[str, str] = {
    name: value
    for name, value in vars(reasons).items()
    if name.isupper() and isinstance(value, str) and name != "MAY_HOLD_SECRETS"
}


@each_case(
    ("command", "reason"),
    [
        ("touch a", "`touch` can change files"),
        ("mkdir -p a/b", "`mkdir` can change files"),
        ("rm -rf build", "`rm` can remove or overwrite data"),
        ("pkill node", "`pkill` can end other programs"),
        ("python3 a.py", "`python3` can run any code"),
        ("npm test", "`npm` could change files or run other programs"),
        ("curl -s https://example.com/a", "This contacts example.com"),
        (
            "wget https://a.example/x http://b.example:8080/y",
            "This contacts a.example, b.example",
        ),
        ("curl -s https://a.example b.example", "This contacts a.example, b.example"),
        ("curl -o b.txt -fsSL a.example/x", "This contacts a.example"),
        ("wget -O b.sh --retry-on 3 https://a.example", "This contacts a.example"),
        (
            "curl --odd b.example https://a.example",
            "This contacts a.example, and perhaps other machines",
        ),
        # Which host it is must be certain.
        ("curl https://example.com@evil.example/", "`curl` can contact other machines"),
        ("curl 'https://{a,b}.example/'", "`curl` can contact other machines"),
        ("scp a b:c", "`scp` can contact other machines"),
        ("sort -o out a", "With `-o` it could change files or run other programs"),
        ("find . -delete", "With `-delete` it could change files or run other programs"),
        ("echo a > out.txt", "This writes to `out.txt`"),
        ("./run", "This runs the file `./run`, which can do anything"),
        ("git push origin main", "`git push` can contact other machines"),
        ("git reset --hard", "`git reset` can remove or overwrite data"),
        ("git commit -m a", "This `git` command could change files or history"),
        ("git stash", "`git stash` can change files"),
        ("'a`b'", "`a\ufffdb` could change files or run other programs"),
    ],
)
def test_a_reason_says_what_could_happen(command: str, reason: str) -> None:
    assert assess(command, "/code/space", "/home/user").reason == reason


def test_each_reason_is_one_sentence_without_its_full_stop() -> None:
    assert len(TEXTS) > 90
    wrong = {
        name: text
        for name, text in TEXTS.items()
        if not re.match(r"[A-Z`{]", text) or text.endswith(".") or re.search(r"\. |;", text)
    }
    assert wrong == {}
    assert reasons.join_sentences(("A", "", "B")) == "A. B"


def test_the_texts_stand_in_one_place() -> None:
    found = [
        f"{path.name}: {line.strip()}"
        for path in PACKAGE.rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if re.search(r'(UndecidableCommand|add_reason)\(f?"', line)
    ]
    assert found == []
