"""File tool calls that would read secrets, change files or leave the workspace.

`<ROOT>` and similar placeholders are replaced. None of the calls may have an effect, or reveal a
secret, before the user is asked.
"""

from pydantic import JsonValue

Attempt = tuple[str, dict[str, JsonValue]]

_SECRET_PATHS = (
    ".env",
    "./.env",
    "src/../.env",
    "src/deep/../../.env",
    "<ROOT>/.env",
    "<ROOT>//.//.env",
    "file://<ROOT>/.env",
    "file://<ROOT>/%2Eenv",
    ".env.production",
    "config/prod.env",
    "server.key",
    "BACKUP.PEM",
    "credentials.json",
    ".npmrc",
    ".aws/credentials",
    ".git/config",
    ".git/HEAD",
    "hooks/pre-commit",
    ".hermesignore",
    "private/plan.txt",
    "src/../private/plan.txt",
    "idea.draft",
    "agent/config.yaml",
    "agent/acp/permissions.json",
    "agent/skills/../config.yaml",
    "harmless.txt",
    "far.txt",
    "door/plans.txt",
    "door/../../outside/plans.txt",
    "../outside/plans.txt",
    "<OUTSIDE>/plans.txt",
    "<OUTSIDE>/../workspace/.env",
    "~/.ssh/id_rsa",
    "~/.bashrc",
    "/proc/self/environ",
    "/etc/passwd",
    "round",
)
_NEW_PATHS = (
    "../new.txt",
    "door/new.txt",
    "<OUTSIDE>/deep/new.txt",
    "~/.profile",
    "~/.ssh/authorized_keys",
    ".git/hooks/post-checkout",
    "hooks/post-checkout",
    "src/.git",
    "src/.git/config",
    ".GIT/config",
    ".Git/hooks/pre-push",
    ".git\u200c/config",
    "\uff0egit/config",
    ".git./config",
    "sub.git/hooks/update",
    "git~1/config",
    ".ssh/config",
    ".SSH/authorized_keys",
    ".env.local",
    ".ENV",
    ".envrc",
    ".env/activate",
    "src/.gitmodules",
    "private/new.txt",
    "PRIVATE/new.txt",
    "new.draft",
    "agent/new.yaml",
    "agent/acp/settings.json",
    "/usr/..<OUTSIDE>/new.txt",
)


def _section(verb: str, path: str, *lines: str) -> str:
    return "\n".join((f"*** {verb} File: {path}", *lines))


def _patch(*sections: str) -> Attempt:
    text = "\n".join(("*** Begin Patch", *sections, "*** End Patch"))
    return "patch", {"mode": "patch", "patch": text}


_HARMLESS = _section("Add", "src/new.py", "+x = 1")
_READ: dict[str, Attempt] = {
    f"read {path}": ("read_file", {"path": path}) for path in _SECRET_PATHS
}
_WRITE: dict[str, Attempt] = {
    f"write {path}": ("write_file", {"path": path, "content": "x\n"})
    for path in (*_SECRET_PATHS, *_NEW_PATHS)
}
_PATCHES: dict[str, Attempt] = {
    "patch with a new secret": _patch(_HARMLESS, _section("Add", ".env.local", "+x")),
    "patch with a hook": _patch(_HARMLESS, _section("Add", ".git/hooks/pre-push", "+x")),
    "patch with a new file outside": _patch(_HARMLESS, _section("Add", "../new.txt", "+x")),
    "patch through a link": _patch(_HARMLESS, _section("Add", "door/new.txt", "+x")),
    "patch of a link": _patch(_section("Update", "far.txt", "@@", "-hush", "+x")),
    "patch that deletes a secret": _patch(_section("Delete", ".env")),
    "patch that deletes settings": _patch(_section("Delete", ".hermesignore")),
    "patch that deletes a file outside": _patch(_section("Delete", "<OUTSIDE>/plans.txt")),
    "patch that deletes a link outside": _patch(_section("Delete", "<OUTSIDE>/inward.py")),
    "patch that deletes a link to a secret": _patch(_section("Delete", "harmless.txt")),
    "patch that moves a secret into sight": _patch(
        _section("Update", ".env", "*** Move to: seen.txt", "@@", "+x")
    ),
    "patch that moves a file out": _patch(
        _section(
            "Update", "src/app.py", "*** Move to: ../app.py", "@@", " def main() -> None:", "+x"
        )
    ),
    "patch that moves a file to a hook": _patch(
        _section(
            "Update", "src/app.py", "*** Move to: hooks/x", "@@", " def main() -> None:", "+    x"
        )
    ),
    "patch that moves a file through a link": _patch(
        _section(
            "Update", "src/app.py", "*** Move to: door/x", "@@", " def main() -> None:", "+    x"
        )
    ),
    "replacement in a secret": (
        "patch",
        {"path": ".env", "old_string": "KEY=", "new_string": "KEY=x"},
    ),
    "replacement of what is not in a secret": (
        "patch",
        {"path": ".env", "old_string": "KEY=hush-4712", "new_string": "KEY=x"},
    ),
    "replacement of what is in two places of a secret": (
        "patch",
        {"path": ".hermesignore", "old_string": "draft", "new_string": "x"},
    ),
    "replacement of what is not in a file outside": (
        "patch",
        {"path": "far.txt", "old_string": "hush-4712", "new_string": "x"},
    ),
    "patch of what is not in a secret": _patch(
        _section("Update", ".env", "@@", "-KEY=hush-4712", "+x")
    ),
    "replacement by the settings of git": (
        "patch",
        {"path": ".git/config", "old_string": "[remote", "new_string": "[core]"},
    ),
    "replacement outside": (
        "patch",
        {"path": "<OUTSIDE>/plans.txt", "old_string": "hush", "new_string": "x"},
    ),
    "replacement in what is ignored": (
        "patch",
        {"path": "private/plan.txt", "old_string": "hush", "new_string": "x"},
    ),
}


def _search(**arguments: JsonValue) -> Attempt:
    return "search_files", {"pattern": "hush|KEY|BEGIN", **arguments}


def _symbols(**arguments: JsonValue) -> Attempt:
    return "symbols", {"action": "references", "name": "hush", **arguments}


_SEARCHES: dict[str, Attempt] = {
    "search in a secret": _search(path=".env"),
    "search in a link to a secret": _search(path="harmless.txt"),
    "search in a link out": _search(path="far.txt"),
    "search in a linked folder": _search(path="door"),
    "search outside": _search(path="<OUTSIDE>"),
    "search above": _search(path=".."),
    "search at home": _search(path="~"),
    "search in git": _search(path=".git"),
    "search in what is ignored": _search(path="private"),
    "search in an ignored file": _search(path="idea.draft"),
    "search in the own settings": _search(path="agent"),
    "search in the own settings deeper": _search(path="agent/acp"),
    "search in keys": _search(path="server.key"),
    "search in a hidden folder": _search(path=".aws"),
}
_SYMBOLS: dict[str, Attempt] = {
    "symbols in a linked folder": _symbols(path="door"),
    "symbols outside": _symbols(path="<OUTSIDE>"),
    "symbols above": _symbols(path=".."),
    "symbols at home": _symbols(path="~"),
    "symbols in what is ignored": _symbols(path="private"),
    "symbols in the own settings": _symbols(path="agent"),
    "an outline outside": _symbols(path="<OUTSIDE>/plans.py", action="outline"),
}
FILE_ATTEMPTS: dict[str, Attempt] = _READ | _WRITE | _PATCHES | _SEARCHES | _SYMBOLS

QUIET_SEARCHES: dict[str, Attempt] = {
    "search everywhere": _search(),
    "search everywhere with context": _search(context=5),
    "search for files": _search(output_mode="files_only"),
    "search for counts": _search(output_mode="count"),
    "search by the ending of keys": _search(file_glob="*.key"),
    "search by the ending of settings": _search(file_glob="*.env"),
    "search by a hidden name": _search(file_glob=".env*"),
    "search by all hidden names": _search(file_glob=".*"),
    "search by the name of ignored files": _search(file_glob="*.draft"),
    "search by all but one": _search(file_glob="!README.md"),
    "search by twice not": _search(file_glob="!!.env"),
    "search by a folder": _search(file_glob="agent/**"),
    "search over lines": _search(pattern="BEGIN[\\s\\S]*hush"),
}
"""Searches that need no permission because they must exclude secrets."""

EDITS: dict[str, Attempt] = {
    "a new file": ("write_file", {"path": "src/new.py", "content": "x\n"}),
    "a new folder": ("write_file", {"path": "a/b/c.py", "content": "x\n"}),
    "a whole file": ("write_file", {"path": "src/app.py", "content": "x\n"}),
    "a replacement": ("patch", {"path": "src/app.py", "old_string": "hello", "new_string": "x"}),
    "a patch": _patch(_HARMLESS),
    "a deletion": _patch(_section("Delete", "src/app.py")),
}
"""Changes in the workspace: the mode `ask` asks for permission, `plan` refuses."""
