"""The command: serves at once, before anything slow is imported, or hands over to the rest.

`acp-server` and `acp-server serve [OPTION VALUE]...` take the short way; every other command line,
a mistyped one included, goes to `acp_server.cli`.
"""

import gc
import sys

from acp_server.startup.isolation import drop_workspace_entries

SERVE_OPTIONS = ("--model", "--mode", "--sandbox", "--log-level", "--log-file", "--unstable")
CHOICES = {
    "--mode": ("ask", "accept_edits", "plan", "bypass"),
    "--sandbox": ("off", "workspace", "strict"),
    "--log-level": ("debug", "info", "warning", "error"),
    "--unstable": ("true", "false"),
}
"""The values of options that have only these; a mistyped one must not be served weaker."""


def main() -> None:
    """Run the command line; the process ends with its exit code."""
    drop_workspace_entries(sys.path)
    arguments = sys.argv[1:]
    options = serve_options(arguments)
    if options is not None:
        sys.exit(serve(options))
    from acp_server.cli.main import run_command

    if arguments[-1:] == ["setup"]:  # a client's login: our own command line, and `setup` behind it
        arguments = ["setup"]
    sys.exit(run_command(arguments, serve))


def serve_options(arguments: list[str]) -> dict[str, str] | None:
    """Return the options of a plain serve; None when somebody else must look at the arguments."""
    rest = arguments[1:] if arguments[:1] == ["serve"] else arguments
    if len(rest) % 2 or (rest and arguments[0] != "serve"):
        return None
    names, values = rest[::2], rest[1::2]
    if not set(names) <= set(SERVE_OPTIONS) or any(value.startswith("-") for value in values):
        return None
    options = dict(zip(names, values, strict=True))
    fits = all(options[name] in CHOICES[name] for name in CHOICES if name in options)
    return options if fits else None


def serve(options: dict[str, str]) -> int:
    """Speak ACP on stdin and stdout until the client leaves, then end the process.

    Returns the exit code of a server that never came to serve.
    """
    from acp_server.handshake import claim_wire, greet, leave

    if sys.stdin is not None and sys.stdin.isatty():
        print(HINT, file=sys.stderr)  # noqa: T201  for the person who typed the command
    try:
        wire = claim_wire(is_unstable=options.get("--unstable") == "true")
    except OSError as error:
        print(f"acp-server: stdin and stdout must be open: {error}", file=sys.stderr)  # noqa: T201
        return 1
    greet(wire)
    if wire.is_over:
        return 0
    gc.disable()  # what is imported stays: looking through it again and again only takes time
    from acp_server.app import run_stdio

    gc.freeze()
    gc.enable()
    return leave(run_stdio(wire, options))


HINT = """\
acp-server speaks the Agent Client Protocol here: an editor starts it and writes to its stdin.
To see it at work, press Ctrl-C and run `acp-server demo`; `acp-server --help` lists the rest."""

if __name__ == "__main__":
    main()
