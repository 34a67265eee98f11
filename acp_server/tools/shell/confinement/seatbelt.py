"""Sandbox limits as a profile of the macOS sandbox. Pure text.

The last matching rule wins, so exceptions must follow the rules that they relax.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from acp_server.tools.shell.confinement.limits import SandboxLimits

_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/ptmx", "/dev/dtracehelper")
_BASE_RULES = """\
(version 1)
(allow default)
(deny signal)
(allow signal (target same-sandbox))
(deny process-info* (target others))
(allow process-info* (target same-sandbox))
(deny appleevent-send)
(deny lsopen)
(deny mach-lookup (global-name "com.apple.SecurityServer"))
(deny mach-lookup (global-name "com.apple.securityd.xpc"))"""
"""No process outside is signalled, inspected or asked to act on the command's behalf."""
_CLOSED_NETWORK = """\
(deny network*)
(allow network* (local ip "localhost:*"))
(allow network* (remote ip "localhost:*"))"""
_NO_UNIX_SOCKETS = """\
(deny network-outbound (remote unix-socket))
(allow network-outbound (literal "/private/var/run/mDNSResponder"))"""


def build_profile(limits: SandboxLimits) -> str:
    """Return the profile that enforces the limits."""
    rules = [_BASE_RULES, _NO_UNIX_SOCKETS if limits.has_network else _CLOSED_NETWORK]
    if limits.readable is not None:
        rules += [
            "(deny file-read-data)",
            _rule("allow", "file-read-data", (*limits.readable, Path("/dev"))),
            '(allow file-read-data (literal "/"))',
        ]
    devices = " ".join(f"(literal {_quoted(each)})" for each in _DEVICES)
    rules += [
        "(deny file-write*)",
        f'(allow file-write* {devices} (regex #"^/dev/(ttys[0-9]+|fd/[0-9]+)$"))',
        *_directory_rules(limits),
        _rule("deny", "file-write*", limits.read_only),
        _rule("deny", "file-read-data file-write*", limits.masked),
        # Moving a directory above would put another one in its place.
        *(
            f"(deny file-write-unlink (literal {_quoted(str(folder))}))"
            for folder in dict.fromkeys(each for path in limits.read_only for each in path.parents)
        ),
    ]
    return "\n".join(filter(None, rules)) + "\n"


def _directory_rules(limits: SandboxLimits) -> Iterator[str]:
    """Yield rules so that of nested directories the innermost decides.

    A hidden directory may contain a writable one, and that a hidden one.
    """
    # Of the same directory, what it is writable or opened for counts.
    kinds = (
        ("deny", "file-read-data file-write*", limits.hidden),
        ("allow", "file-read-data", limits.opened),
        ("allow", "file-read-data file-write*", limits.writable),
    )
    for depth in sorted({len(path.parts) for _, _, paths in kinds for path in paths}):
        for action, operations, paths in kinds:
            yield _rule(action, operations, (path for path in paths if len(path.parts) == depth))


def _rule(action: str, operations: str, paths: Iterable[Path]) -> str:
    filters = " ".join(f"(subpath {_quoted(str(path))})" for path in paths)
    return f"({action} {operations} {filters})" if filters else ""


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
