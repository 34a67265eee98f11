"""What the output of a command tells of refusals, and what the model is told to do."""

from acp_server.tools.shell.confinement.denials import DenialContext, describe_denial
from tests.support.case_table import each_case

FAILED = DenialContext(has_failed=True)
PIPED = DenialContext(has_failed=False)
READ = DenialContext(has_failed=False, only_reads=True)
NETWORKED = DenialContext(has_failed=True, has_network=True)
PROXIED = DenialContext(has_failed=True, has_hosts=True)
WITHOUT_NAMESPACES = DenialContext(has_failed=True, has_localhost=False)
FILES, SOCKETS = "write in the workspace", "Unix sockets below"
KEYS = "no keys for signatures"
NETWORK, LOCALHOST = "localhost of their own", "is their own"
NPM = "npm error request to https://a.org/left-pad failed, reason: getaddrinfo EAI_AGAIN a.org"
CARGO = "  [6] Could not resolve hostname (Could not resolve host: index.a.org)"
UV = "  cause: failed to create directory '/home/me/.cache/uv': Read-only file system (os error 30)"
LINES = [
    ("cat: /x: Permission denied", FAILED, FILES),
    ("Error: EACCES: permission denied, open '/x'", FAILED, FILES),
    ("rm: /x: Permission denied", PIPED, FILES),
    ("OSError: [Errno 30] Read-only file system: '/usr/x'", PIPED, FILES),
    ("PermissionError: [Errno 13] Permission denied: '/x'", PIPED, FILES),
    (UV, PIPED, FILES),
    (NPM, PIPED, NETWORK),
    ("ERROR: No matching distribution found for left-pad", PIPED, NETWORK),
    (CARGO, PIPED, NETWORK),
    ("fatal: unable to access 'https://a.org/x/': Could not resolve host: a.org", PIPED, NETWORK),
    ("curl: (7) Failed to connect to 127.0.0.1 port 80 after 0 ms", PIPED, LOCALHOST),
    ("Error: connect ECONNREFUSED 127.0.0.1:3000", FAILED, LOCALHOST),
    ("OSError: [Errno 97] Address family not supported by protocol", FAILED, SOCKETS),
    ("error: gpg failed to sign the data", PIPED, KEYS),
    ("error: Couldn't load public key /h/.ssh/id.pub: No such file or directory?", FAILED, KEYS),
    ("git@a.org: Permission denied (publickey).", FAILED, KEYS),
    ("AssertionError: 1 != 2", FAILED, ""),
    ("1 passed", FAILED, ""),
    ("3 tests about EACCES passed", PIPED, ""),
    ("it says permission denied", PIPED, ""),
    (NPM, READ, ""),
    (NPM, NETWORKED, ""),
    (NPM, PROXIED, "by the proxy in HTTP_PROXY"),
    (NPM, WITHOUT_NAMESPACES, "not even localhost"),
    ("connect to localhost: Connection refused", WITHOUT_NAMESPACES, "not even localhost"),
]


@each_case(("line", "context", "advice"), LINES)
def test_a_line_that_looks_like_a_refusal_is_quoted_with_what_to_do(
    line: str, context: DenialContext, advice: str
) -> None:
    description = describe_denial(f"before\n{line}\nafter\n", context)
    assert bool(description) is bool(advice)
    assert advice in description
    assert not advice or line.strip() in description


def test_refused_hosts_are_named_whatever_the_output() -> None:
    context = DenialContext(has_failed=False, refused_sites=("a.org", "b.org:81"))
    assert "a.org, b.org:81" in describe_denial("", context)


def test_a_host_that_the_machine_cannot_reach_is_no_refusal() -> None:
    context = DenialContext(
        has_failed=True, has_hosts=True, unreachable_sites={"a.org": "no such name"}
    )
    remark = describe_denial("npm error 502 a.org cannot be reached: getaddrinfo", context)
    assert "a.org (no such name)" in remark
    assert "would not help" in remark


def test_a_refused_unix_socket_is_named_also_behind_a_pipe() -> None:
    context = DenialContext(has_failed=False, refused_sockets=("/w/x.sock",))
    line = "PermissionError: [Errno 13] Permission denied"
    assert "/w/x.sock" in describe_denial(line, context)
    assert describe_denial("fine", context) == ""
