"""Entry point of the `acp-server` command: a fast path for serving, else the full CLI.

`acp-server` and `acp-server serve [OPTION VALUE]...` answer `initialize` before any slow import.
Every other command line, including a mistyped one, is parsed by `acp_server.cli`.
"""

import sys

from acp_server.startup.isolation import drop_workspace_entries

SERVE_OPTIONS = (
    *("--model", "--mode", "--sandbox", "--record", "--replay", "--strict"),
    *("--log-level", "--log-file", "--unstable"),
)
OPTION_CHOICES = {
    "--mode": ("ask", "accept_edits", "plan", "bypass"),
    "--sandbox": ("off", "workspace", "strict"),
    "--log-level": ("debug", "info", "warning", "error"),
    "--strict": ("true", "false"),
    "--unstable": ("true", "false"),
}
"""Allowed values per option. The fast path must not serve a typo such as `--sandbox strcit`."""


def main() -> None:
    """Run the command line and exit the process with its exit code."""
    drop_workspace_entries(sys.path)
    arguments = take_profile(sys.argv[1:])
    options = parse_serve_options(arguments)
    if options is not None:
        sys.exit(serve(options))
    from acp_server.startup.code_store import CodeStore

    CodeStore().open()
    from acp_server.cli.main import run_command

    # Terminal login: clients append `setup` to our command line.
    if arguments[-1:] == ["setup"] and arguments != ["memory", "setup"]:
        arguments = ["setup"]
    sys.exit(run_command(arguments, serve))


def take_profile(arguments: list[str]) -> list[str]:
    """Use the profile of `--profile NAME`, wherever it stands; return the other arguments.

    Ends the process if there is no such profile.
    """
    before_text = arguments[: arguments.index("--")] if "--" in arguments else arguments
    for number, each in enumerate(before_text):
        option, is_joined, name = each.partition("=")
        if option != "--profile" or not (is_joined or before_text[number + 1 :]):
            continue
        from acp_server.config.settings import use_profile

        problem = use_profile(name if is_joined else arguments[number + 1])
        if problem:
            print(f"acp-server: {problem}", file=sys.stderr)  # noqa: T201
            sys.exit(2)
        return arguments[:number] + arguments[number + (1 if is_joined else 2) :]
    return arguments


def parse_serve_options(arguments: list[str]) -> dict[str, str] | None:
    """Return the options of a plain `serve` by flag; None if the full CLI must parse them."""
    rest = arguments[1:] if arguments[:1] == ["serve"] else arguments
    if len(rest) % 2 or (rest and arguments[0] != "serve"):
        return None
    names, values = rest[::2], rest[1::2]
    if not set(names) <= set(SERVE_OPTIONS) or any(value.startswith("-") for value in values):
        return None
    options = dict(zip(names, values, strict=True))
    fits = all(options[name] in OPTION_CHOICES[name] for name in OPTION_CHOICES if name in options)
    return options if fits else None


def serve(options: dict[str, str]) -> int:
    """Speak ACP on stdin and stdout until the client disconnects, then end the process.

    Returns only if the server could not start or the client left after the handshake; the value
    is then the exit code.
    """
    from acp_server.startup.handshake import answer_initialize, claim_stdio, exit_process

    if sys.stdin is not None and sys.stdin.isatty():
        print(TERMINAL_HINT, file=sys.stderr)  # noqa: T201  a person typed the command
    try:
        wire = claim_stdio()
    except OSError as error:
        print(f"acp-server: stdin and stdout must be open: {error}", file=sys.stderr)  # noqa: T201
        return 1
    answer_initialize(wire)
    if wire.has_client_left:
        return 0
    from acp_server.startup.code_store import CodeStore

    code_store = CodeStore()
    code_store.open()
    from acp_server.startup.gc_pause import pause_gc

    with pause_gc():
        from acp_server.startup.light_typed_dicts import import_pydantic_core
        from acp_server.startup.pydantic_plugins import disable_plugins

        import_pydantic_core()
        disable_plugins()
        from acp_server.server.app import run_stdio
    return exit_process(run_stdio(wire, options, code_store))


TERMINAL_HINT = """\
acp-server is waiting for an Agent Client Protocol client, such as an editor, on stdin.
To try it, press Ctrl-C and run `acp-server demo`. `acp-server --help` lists all commands."""

if __name__ == "__main__":
    main()
