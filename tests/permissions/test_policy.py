"""The policy as tables: the mode, the facts and the rules decide; nothing else does."""

from pathlib import Path
from typing import Literal

import pytest

from acp_server.permissions.effects import SandboxStatus
from acp_server.permissions.modes import Mode
from acp_server.permissions.policy import (
    ALWAYS_REFUSED,
    PLANNING,
    REJECTED_BY_RULE,
    Allow,
    Ask,
    CommandFacts,
    ConnectFacts,
    Decision,
    Facts,
    FetchFacts,
    FileFacts,
    ForwardFacts,
    McpToolFacts,
    MemoryFacts,
    Refuse,
    RestoreFacts,
    SkillFacts,
    decide,
)
from acp_server.permissions.reasons import (
    CHANGED_SINCE,
    DESTRUCTIVE_HINT,
    MEMORY_NEEDS_APPROVAL,
    NO_SANDBOX,
    OUTSIDE_SANDBOX,
    READ_ONLY_HINT,
)
from acp_server.permissions.rules import CommandPart, PermissionRule, RuleBook
from acp_server.permissions.scopes import (
    CommandPattern,
    CommandScope,
    DirectoryScope,
    HostScope,
    McpToolScope,
    NetworkScope,
    PortScope,
    SiteScope,
)
from acp_server.permissions.shell.findings import AskedCommand, Assessment
from tests.support.case_table import each_case
from tests.support.user_texts import MAY_HOLD_SECRETS

Outcome = Literal["allow", "ask", "ask, always", "refuse"]
SavedRule = Literal["nothing", "yes", "no"]

ROOT = Path("/code/space")
FILE, SECRET, FAR = ROOT / "src/a.py", ROOT / ".env", Path("/elsewhere/b.py")
SERVER = McpToolScope("github", "0123", "search")
SITE = SiteScope("example.com")
HOST = HostScope("example.com")
PORT = PortScope(8000)
PYTEST_ASKED = AskedCommand(("pytest", "-q"), (str(ROOT),), (("pytest",),), is_exact=True)
PYTEST = Assessment("asks", "it runs", asked=(PYTEST_ASKED,), is_coverable=True)
PYTEST_PARTS = (CommandPart(PYTEST_ASKED, (ROOT,)),)
PYTEST_SCOPE = CommandScope((CommandPattern(("pytest",), ROOT),))
PYTEST_EXACT = CommandScope((CommandPattern(("pytest", "-q"), ROOT, is_exact=True),))


def _pytest(status: SandboxStatus) -> CommandFacts:
    return CommandFacts("pytest -q", PYTEST, sandbox_status=status, parts=PYTEST_PARTS)


FACTS: dict[str, Facts] = {
    "read": FileFacts("read", (FILE,), coverable_directory=FILE.parent),
    "read secret": FileFacts("read", (SECRET,), protected=(SECRET,), coverable_directory=ROOT),
    "read outside": FileFacts("read", (FAR,), outside=(FAR,), coverable_directory=FAR.parent),
    "read far and wide": FileFacts("read", (FAR,), outside=(FAR,)),
    "write": FileFacts("write", (FILE,), coverable_directory=FILE.parent),
    "write secret": FileFacts("write", (SECRET,), protected=(SECRET,), coverable_directory=ROOT),
    "write one secret": FileFacts(
        "write", (FILE, SECRET), protected=(SECRET,), coverable_directory=ROOT
    ),
    "write outside": FileFacts("write", (FAR,), outside=(FAR,), coverable_directory=FAR.parent),
    "reading command": CommandFacts("ls", Assessment("reads")),
    "reading command in doubt": CommandFacts("cat /etc/x", Assessment("reads"), ("outside",)),
    "command": _pytest("free"),
    "command without a prefix": CommandFacts("make", Assessment("asks", "it runs")),
    "command in doubt": CommandFacts("pytest .env", PYTEST, ("secret",), parts=PYTEST_PARTS),
    "confined command": CommandFacts(
        "pytest", PYTEST, parts=PYTEST_PARTS, sandbox_status="confined"
    ),
    "confined reading": CommandFacts("ls", Assessment("reads"), sandbox_status="confined"),
    "unconfined command": CommandFacts(
        "pytest", PYTEST, parts=PYTEST_PARTS, sandbox_status="unconfined"
    ),
    "unconfined reading": CommandFacts("ls", Assessment("reads"), sandbox_status="unconfined"),
    "command with network": _pytest("networked"),
    "reading with network": CommandFacts("ls", Assessment("reads"), sandbox_status="networked"),
    "unprotected command": CommandFacts(
        "pytest", PYTEST, parts=PYTEST_PARTS, sandbox_status="unprotected"
    ),
    "unprotected reading": CommandFacts("ls", Assessment("reads"), sandbox_status="unprotected"),
    "disaster": CommandFacts("rm -rf /", Assessment("refused", "it deletes everything")),
    "skill": SkillFacts(FileFacts("write", (FILE,), coverable_directory=FILE.parent)),
    "skill in doubt": SkillFacts(FileFacts("write", (FILE,)), ("it downloads a program",)),
    "undo": RestoreFacts(FileFacts("write", (FILE,), coverable_directory=FILE.parent)),
    "undo of later changes": RestoreFacts(FileFacts("write", (FILE,)), ("a.py", "b.py")),
    "memory": MemoryFacts(asks_first=False),
    "memory, asked first": MemoryFacts(asks_first=True),
    "page": FetchFacts(SITE),
    "host": ConnectFacts(HOST),
    "port": ForwardFacts(PORT, "ask"),
    "port, switched off": ForwardFacts(PORT, "off"),
    "port, switched on": ForwardFacts(PORT, "on"),
    "private host": ConnectFacts(HostScope("example.com", "10.0.0.1")),
    "server": McpToolFacts(SERVER, read_only_hint=False, destructive_hint=False),
    "server that claims to read": McpToolFacts(SERVER, read_only_hint=True, destructive_hint=False),
    "server that destroys": McpToolFacts(SERVER, read_only_hint=False, destructive_hint=True),
    "server that claims both": McpToolFacts(SERVER, read_only_hint=True, destructive_hint=True),
}

# facts, what the rules say: what becomes of it in the modes ask, accept_edits, plan, bypass
TABLE: dict[tuple[str, SavedRule], tuple[Outcome, Outcome, Outcome, Outcome]] = {
    ("read", "nothing"): ("allow", "allow", "allow", "allow"),
    ("read", "yes"): ("allow", "allow", "allow", "allow"),
    ("read", "no"): ("refuse", "refuse", "refuse", "allow"),
    ("read secret", "nothing"): ("ask", "ask", "ask", "allow"),
    ("read secret", "yes"): ("ask", "ask", "ask", "allow"),
    ("read secret", "no"): ("refuse", "refuse", "refuse", "allow"),
    ("read outside", "nothing"): ("ask, always", "ask, always", "ask, always", "allow"),
    ("read outside", "yes"): ("allow", "allow", "allow", "allow"),
    ("read outside", "no"): ("refuse", "refuse", "refuse", "allow"),
    ("read far and wide", "nothing"): ("ask", "ask", "ask", "allow"),
    ("write", "nothing"): ("ask, always", "allow", "refuse", "allow"),
    ("write", "yes"): ("allow", "allow", "refuse", "allow"),
    ("write", "no"): ("refuse", "refuse", "refuse", "allow"),
    ("write secret", "nothing"): ("ask", "ask", "refuse", "allow"),
    ("write secret", "yes"): ("ask", "ask", "refuse", "allow"),
    ("write secret", "no"): ("refuse", "refuse", "refuse", "allow"),
    ("write one secret", "nothing"): ("ask", "ask", "refuse", "allow"),
    ("write one secret", "yes"): ("ask", "ask", "refuse", "allow"),
    ("write outside", "nothing"): ("ask, always", "ask, always", "refuse", "allow"),
    ("write outside", "yes"): ("allow", "allow", "refuse", "allow"),
    ("write outside", "no"): ("refuse", "refuse", "refuse", "allow"),
    ("reading command", "nothing"): ("allow", "allow", "refuse", "allow"),
    ("reading command in doubt", "nothing"): ("ask", "ask", "refuse", "allow"),
    ("command", "nothing"): ("ask, always", "ask, always", "refuse", "allow"),
    ("command", "yes"): ("allow", "allow", "refuse", "allow"),
    ("command", "no"): ("refuse", "refuse", "refuse", "allow"),
    ("command without a prefix", "nothing"): ("ask", "ask", "refuse", "allow"),
    ("command in doubt", "nothing"): ("ask", "ask", "refuse", "allow"),
    ("command in doubt", "yes"): ("ask", "ask", "refuse", "allow"),
    ("command in doubt", "no"): ("refuse", "refuse", "refuse", "allow"),
    ("confined command", "nothing"): ("ask, always", "ask, always", "refuse", "allow"),
    ("confined command", "yes"): ("allow", "allow", "refuse", "allow"),
    ("confined reading", "nothing"): ("allow", "allow", "refuse", "allow"),
    ("unconfined command", "nothing"): ("ask", "ask", "refuse", "allow"),
    ("unconfined command", "yes"): ("ask", "ask", "refuse", "allow"),
    ("unconfined command", "no"): ("refuse", "refuse", "refuse", "allow"),
    ("unconfined reading", "nothing"): ("ask", "ask", "refuse", "allow"),
    ("command with network", "nothing"): ("ask, always", "ask, always", "refuse", "allow"),
    ("command with network", "yes"): ("allow", "allow", "refuse", "allow"),
    ("command with network", "no"): ("refuse", "refuse", "refuse", "allow"),
    ("reading with network", "nothing"): ("ask, always", "ask, always", "refuse", "allow"),
    ("reading with network", "yes"): ("allow", "allow", "refuse", "allow"),
    ("reading with network", "no"): ("refuse", "refuse", "refuse", "allow"),
    ("unprotected command", "nothing"): ("ask, always", "ask, always", "refuse", "allow"),
    ("unprotected command", "yes"): ("allow", "allow", "refuse", "allow"),
    ("unprotected reading", "nothing"): ("ask", "ask", "refuse", "allow"),
    ("disaster", "nothing"): ("refuse", "refuse", "refuse", "refuse"),
    ("disaster", "yes"): ("refuse", "refuse", "refuse", "refuse"),
    ("skill", "nothing"): ("ask, always", "allow", "refuse", "allow"),
    ("skill", "yes"): ("allow", "allow", "refuse", "allow"),
    ("skill", "no"): ("refuse", "refuse", "refuse", "allow"),
    ("skill in doubt", "nothing"): ("ask", "ask", "refuse", "ask"),
    ("skill in doubt", "yes"): ("ask", "ask", "refuse", "ask"),
    ("skill in doubt", "no"): ("refuse", "refuse", "refuse", "ask"),
    ("undo", "nothing"): ("ask, always", "allow", "refuse", "allow"),
    ("undo", "yes"): ("allow", "allow", "refuse", "allow"),
    ("undo of later changes", "nothing"): ("ask", "ask", "refuse", "ask"),
    ("undo of later changes", "yes"): ("ask", "ask", "refuse", "ask"),
    ("undo of later changes", "no"): ("refuse", "refuse", "refuse", "ask"),
    ("memory", "nothing"): ("allow", "allow", "refuse", "allow"),
    ("memory", "no"): ("allow", "allow", "refuse", "allow"),
    ("memory, asked first", "nothing"): ("ask", "ask", "refuse", "allow"),
    ("memory, asked first", "yes"): ("ask", "ask", "refuse", "allow"),
    ("page", "nothing"): ("ask, always", "ask, always", "ask, always", "allow"),
    ("page", "yes"): ("allow", "allow", "allow", "allow"),
    ("page", "no"): ("refuse", "refuse", "refuse", "allow"),
    ("host", "nothing"): ("ask, always", "ask, always", "ask, always", "allow"),
    ("host", "yes"): ("allow", "allow", "allow", "allow"),
    ("host", "no"): ("refuse", "refuse", "refuse", "allow"),
    ("port", "nothing"): ("ask, always", "ask, always", "ask, always", "allow"),
    ("port", "yes"): ("allow", "allow", "allow", "allow"),
    ("port", "no"): ("refuse", "refuse", "refuse", "allow"),
    ("port, switched off", "yes"): ("refuse", "refuse", "refuse", "refuse"),
    ("port, switched on", "nothing"): ("allow", "allow", "allow", "allow"),
    ("private host", "yes"): ("ask, always", "ask, always", "ask, always", "allow"),
    ("server", "nothing"): ("ask, always", "ask, always", "refuse", "allow"),
    ("server", "yes"): ("allow", "allow", "refuse", "allow"),
    ("server", "no"): ("refuse", "refuse", "refuse", "allow"),
    ("server that claims to read", "nothing"): (
        "ask, always",
        "ask, always",
        "ask, always",
        "allow",
    ),
    ("server that claims to read", "yes"): ("allow", "allow", "allow", "allow"),
    ("server that claims to read", "no"): ("refuse", "refuse", "refuse", "allow"),
    ("server that destroys", "nothing"): ("ask, always", "ask, always", "refuse", "allow"),
    ("server that claims both", "yes"): ("allow", "allow", "refuse", "allow"),
}
MODES: tuple[Mode, ...] = ("ask", "accept_edits", "plan", "bypass")
ROWS = {
    f"{name}, {said} said, {mode}": (FACTS[name], said, mode, outcome)
    for (name, said), outcomes in TABLE.items()
    for mode, outcome in zip(MODES, outcomes, strict=True)
}


def make_rules(rule: SavedRule) -> RuleBook:
    """Return rules that cover all that the table has."""
    scopes = (
        DirectoryScope("read", Path("/")),
        DirectoryScope("write", Path("/")),
        SERVER,
        SITE,
        PYTEST_SCOPE,
        HOST,
        NetworkScope(),
        PORT,
    )
    return RuleBook(
        [] if rule == "nothing" else [PermissionRule(each, rule == "yes") for each in scopes]
    )


@each_case(("facts", "said", "mode", "outcome"), ROWS.values(), ids=ROWS)
def test_the_decision_table_is_followed(
    facts: Facts, said: SavedRule, mode: Mode, outcome: Outcome
) -> None:
    decision = decide(facts, mode, make_rules(said))
    match decision:
        case Allow():
            found: Outcome = "allow"
        case Ask(scope=None):
            found = "ask"
        case Ask():
            found = "ask, always"
        case Refuse():
            found = "refuse"
    assert found == outcome


@pytest.mark.parametrize(
    ("name", "mode", "said", "reason"),
    [
        ("write", "plan", "nothing", PLANNING),
        ("memory", "plan", "nothing", PLANNING),
        ("write", "ask", "no", REJECTED_BY_RULE),
        ("disaster", "bypass", "nothing", ALWAYS_REFUSED.format(reason="it deletes everything")),
    ],
)
def test_a_refusal_names_its_origin(name: str, mode: Mode, said: SavedRule, reason: str) -> None:
    assert decide(FACTS[name], mode, make_rules(said)) == Refuse(reason)


@each_case(
    ("name", "mode", "decision"),
    [
        ("write", "ask", Ask("", DirectoryScope("write", FILE.parent))),
        (
            "read outside",
            "ask",
            Ask(f"{FAR} is outside the workspace", DirectoryScope("read", FAR.parent)),
        ),
        ("read secret", "ask", Ask(f".env {MAY_HOLD_SECRETS}")),
        ("command", "ask", Ask("it runs", PYTEST_SCOPE, PYTEST_EXACT)),
        ("command in doubt", "ask", Ask("it runs")),
        ("reading command in doubt", "ask", Ask("outside")),
        ("unconfined reading", "ask", Ask(OUTSIDE_SANDBOX)),
        ("unconfined command", "ask", Ask(f"{OUTSIDE_SANDBOX}. it runs")),
        ("unprotected reading", "ask", Ask(NO_SANDBOX)),
        ("unprotected command", "ask", Ask("it runs", PYTEST_SCOPE, PYTEST_EXACT)),
        ("skill in doubt", "bypass", Ask("it downloads a program")),
        ("undo of later changes", "bypass", Ask(CHANGED_SINCE.format(names="a.py, b.py"))),
        ("memory, asked first", "ask", Ask(MEMORY_NEEDS_APPROVAL)),
        ("page", "plan", Ask("", SITE)),
        ("server", "ask", Ask("", SERVER)),
        ("server that destroys", "ask", Ask(DESTRUCTIVE_HINT, SERVER)),
        ("server that claims both", "ask", Ask(DESTRUCTIVE_HINT, SERVER)),
        ("server that claims to read", "ask", Ask("", SERVER)),
        ("server that claims to read", "plan", Ask(READ_ONLY_HINT, SERVER)),
    ],
)
def test_a_permission_request_states_its_reason_and_the_scope_of_an_always_rule(
    name: str, mode: Mode, decision: Ask
) -> None:
    assert decide(FACTS[name], mode, RuleBook()) == decision


@pytest.mark.parametrize(
    ("mode", "decision"),
    [
        ("ask", Ask("tasks.json: an editor runs it")),
        ("accept_edits", Ask("tasks.json: an editor runs it")),
        ("plan", Refuse(PLANNING)),
        ("bypass", Allow()),
    ],
)
def test_writing_files_executed_by_other_programs_requires_permission(
    mode: Mode, decision: Decision
) -> None:
    path = Path("/code/.vscode/tasks.json")
    facts = FileFacts(
        "write",
        (path,),
        executable_by_others=((path, "an editor runs it"),),
        coverable_directory=path.parent,
    )
    assert decide(facts, mode, RuleBook()) == decision
