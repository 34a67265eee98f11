"""Finds every place in the source that writes, deletes, runs, signals or connects.

A mention counts like a call: a function that is passed on may be called later. Names are resolved
through the module's imports. A method is known only by its name, so names of system operations
count on any object; a table lists the exceptions, where the name has another meaning.
"""

import ast
from collections.abc import Iterable

from tests.architecture.source_tree import SourceFile

EFFECTS_BY_MODULE = {
    "os": {
        *("open", "write", "pwrite", "writev", "truncate", "ftruncate", "replace", "rename"),
        *("renames", "unlink", "remove", "removedirs", "rmdir", "mkdir", "makedirs", "chmod"),
        *("lchmod", "fchmod", "chown", "lchown", "fchown", "link", "symlink", "mkfifo", "mknod"),
        *("utime", "setxattr", "removexattr", "copy_file_range", "sendfile", "chdir", "putenv"),
        *("kill", "killpg", "fork", "forkpty", "system", "popen", "posix_spawn", "posix_spawnp"),
        *("execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe"),
        *("spawnl", "spawnle", "spawnlp", "spawnlpe", "spawnv", "spawnve", "spawnvp", "spawnvpe"),
        *("startfile", "setuid", "setgid"),
    },
    "shutil": {
        *("copy", "copy2", "copyfile", "copyfileobj", "copymode", "copystat", "copytree"),
        *("move", "rmtree", "chown", "make_archive", "unpack_archive"),
    },
    "tempfile": {
        *("mkstemp", "mkdtemp", "mktemp", "TemporaryFile", "NamedTemporaryFile"),
        *("SpooledTemporaryFile", "TemporaryDirectory"),
    },
    "subprocess": {"Popen", "run", "call", "check_call", "check_output", "getoutput"},
    "pty": {"spawn", "fork"},
    "socket": {"socket", "create_connection", "create_server", "socketpair", "getaddrinfo"},
    "signal": {"pthread_kill"},
    "sqlite3": {"connect"},
    "webbrowser": {"open"},
    "keyring": {"set_password", "delete_password"},
    "anyio": {
        *("open_process", "run_process", "open_file", "connect_tcp", "connect_unix", "getaddrinfo"),
        *("create_tcp_listener", "create_unix_listener", "create_udp_socket", "mkstemp", "mkdtemp"),
        *("TemporaryFile", "NamedTemporaryFile", "TemporaryDirectory"),
    },
    "logging": {"FileHandler"},
    "anthropic": {"Anthropic", "AsyncAnthropic"},
    "mcp.client.sse": {"sse_client"},
    "mcp.client.stdio": {"stdio_client"},
    "mcp.client.streamable_http": {"streamable_http_client", "streamablehttp_client"},
    "skills_store.pinned_folder.PinnedFolder": {"create"},
    "skills_store.atomic": {"write_atomically", "write_atomically_in", "write_in_place"},
    "acp_server.checkpoints.files": {"replace_file", "remove_empty_directory"},
    "acp_server.tools.files.disk": {"replace", "remove", "rename"},
    "acp_server.tools.shell.child": {"Child"},
    "acp_server.tools.shell.session": {"ShellSession"},
    "acp_server.tools.shell.process_groups": {"signal_group"},
    "acp_server.tools.web.fetching": {"PageFetcher"},
    "acp_server.mcp.sdk_connector": {"SdkConnector"},
    "builtins": {"exec", "eval", "__import__"},
}
"""Names with an effect, by module: system modules, and our own entry points to effects."""
EFFECT_MODULES = ("ctypes", "cffi", "urllib.request", "http.client", "ftplib", "smtplib")
"""Modules of which every name counts."""
NETWORKING = ("httpx", "httpx2", "httpcore", "httpcore2", "requests", "aiohttp", "websockets")
"""Network libraries; only names that end in one of `CONNECTING` count."""
CONNECTING = (
    *("Client", "Pool", "Proxy", "Connection", "Session", "connect", "Backend"),
    *("get", "post", "put", "patch", "delete", "head", "options", "request", "stream"),
)
EFFECT_METHODS = {
    *("unlink", "write_text", "write_bytes", "mkdir", "rmdir", "touch", "chmod", "lchmod"),
    *("symlink_to", "hardlink_to", "rename", "truncate", "rmtree", "extract", "extractall"),
    *("kill", "terminate", "send_signal", "open_process", "run_process", "sendto"),
    *("open_terminal", "connect", "connect_tcp", "connect_unix", "connect_unix_socket"),
    "create_connection",
}
"""Methods that count on any object."""
OPENERS = {"open", "io.open", "os.fdopen", "gzip.open", "bz2.open", "lzma.open", "tarfile.open"}
"""Functions that open a file; the mode is the second argument."""
WRITING = frozenset("wax+")
FILE_REPLACE_ARGUMENTS = 1
"""`Path.replace` takes one argument, `str.replace` two."""


def sites_in(source: str, module: str) -> set[str]:
    """Return the places in a module, each as `module:function: call`."""
    return _sites_in_tree(ast.parse(source), module)


def sites_in_files(files: Iterable[SourceFile]) -> set[str]:
    """Return the places in these modules; a package's module is called `__init__` here."""
    found: set[str] = set()
    for file in files:
        found |= _sites_in_tree(file.tree, file.name.removesuffix(".py").replace("/", "."))
    return found


def _sites_in_tree(tree: ast.Module, module: str) -> set[str]:
    finder = _SiteFinder(module)
    finder.visit(tree)
    return finder.sites


class _SiteFinder(ast.NodeVisitor):
    """AST visitor for one module that tracks the enclosing function."""

    def __init__(self, module: str) -> None:
        self.sites: set[str] = set()
        self._module = module
        self._scope_names: list[str] = []
        self._imported_names: dict[str, str] = {}
        """Full names of imported names."""
        self._judged_nodes: set[ast.AST] = set()
        """Nodes already judged as part of a call, to skip on their own visit."""

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._enter(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._enter(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._enter(node)

    def visit_arg(self, node: ast.arg) -> None:
        """Skip type annotations."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def _enter(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._scope_names.append(node.name)
        for each in ast.iter_child_nodes(node):
            if each is not getattr(node, "returns", None):
                self.visit(each)
        self._scope_names.pop()

    def visit_Import(self, node: ast.Import) -> None:
        for each in node.names:
            self._imported_names[each.asname or each.name.partition(".")[0]] = (
                each.name if each.asname else each.name.partition(".")[0]
            )

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for each in node.names:
            if each.name == "*":
                self._note(f"from {node.module} import *")
            self._imported_names[each.asname or each.name] = f"{node.module}.{each.name}"

    def visit_Call(self, node: ast.Call) -> None:
        name = self._name_of(node.func)
        if name == "getattr" and node.args and self._name_of(node.args[0]) in EFFECTS_BY_MODULE:
            self._note_attribute_by_name(node)
        elif name in OPENERS:
            self._note_opening(name, node, place=1)
        elif isinstance(node.func, ast.Attribute):
            self._judge_method(name, node, node.func)
        self.generic_visit(node)

    def _judge_method(self, name: str, node: ast.Call, method: ast.Attribute) -> None:
        """Check the arguments of method names that also have a harmless meaning."""
        if _is_effect(name):
            return
        if method.attr == "open":
            self._judged_nodes.add(method)
            self._note_opening("*.open", node, place=0)
        elif method.attr == "replace":
            self._judged_nodes.add(method)
            if len(node.args) == FILE_REPLACE_ARGUMENTS and not node.keywords:
                self._note("*.replace")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = self._name_of(node)
        if isinstance(node.ctx, ast.Load) and node not in self._judged_nodes:
            if _is_effect(name):
                self._note(name)
            elif name not in OPENERS and node.attr in {*EFFECT_METHODS, "open", "replace"}:
                self._note(f"*.{node.attr}")
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        name = self._imported_names.get(node.id, f"builtins.{node.id}")
        if isinstance(node.ctx, ast.Load) and _is_effect(name):
            self._note(name.removeprefix("builtins."))

    def _note_opening(self, name: str, node: ast.Call, place: int) -> None:
        """Note an opened file, unless it is clearly opened for reading only."""
        given = [each.value for each in node.keywords if each.arg == "mode"]
        given += node.args[place : place + 1]
        if not given:
            return
        mode = given[0].value if isinstance(given[0], ast.Constant) else None
        if not isinstance(mode, str) or WRITING & set(mode):
            self._note(name)

    def _note_attribute_by_name(self, node: ast.Call) -> None:
        wanted = node.args[1]
        module = self._name_of(node.args[0])
        if isinstance(wanted, ast.Constant):
            if _is_effect(f"{module}.{wanted.value}"):
                self._note(f"{module}.{wanted.value}")
        else:
            self._note(f"getattr({module})")

    def _name_of(self, node: ast.AST) -> str:
        """Return the full name of an expression, as far as the imports determine it."""
        if isinstance(node, ast.Name):
            return self._imported_names.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            return f"{self._name_of(node.value)}.{node.attr}"
        return "*"

    def _note(self, what: str) -> None:
        self.sites.add(f"{self._module}:{'.'.join(self._scope_names) or '(module)'}: {what}")


def _is_effect(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    if attribute in EFFECTS_BY_MODULE.get(module, ()):
        return True
    if module.partition(".")[0] in NETWORKING:
        return attribute.endswith(CONNECTING)
    return any(module == each or module.startswith(f"{each}.") for each in EFFECT_MODULES)
