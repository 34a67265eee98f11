"""Sandbox settings of the user. Imports no tools, because it is needed before they are loaded."""

from pathlib import Path

from acp_server.config.setting import setting
from acp_server.config.values import Names, NetworkSetting, Paths, PortSetting, SandboxMode
from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class SandboxConfig:
    """How commands are confined, where the system supports it."""

    mode: SandboxMode = setting(
        "workspace",
        "Sandbox of commands: writes only in the workspace; strict: reads too",
        "sandbox.mode",
        "ACP_SERVER_SANDBOX",
        "--sandbox",
    )
    network: NetworkSetting = setting(
        "hosts",
        "Network of sandboxed commands; hosts: those that you allow when asked; on: all",
        "sandbox.network",
        "ACP_SERVER_SANDBOX_NETWORK",
    )
    allowed_hosts: Names = setting(
        (),
        "Hosts that sandboxed commands may connect to without a question, such as *.example.org",
        "sandbox.allowed_hosts",
    )
    ports: PortSetting = setting(
        "ask",
        "Ports of sandboxed servers on this machine; ask: when you agree; on: as needed",
        "sandbox.ports",
        "ACP_SERVER_SANDBOX_PORTS",
    )
    writable_directories: Paths = setting(
        (), "More directories that sandboxed commands may write", "sandbox.writable"
    )
    temporary_directories: tuple[Path, ...] = ()
    """Temporary directories besides the session's own. Shared ones, such as `/tmp`, hold files of
    other sessions and programs: only `writable_directories` of the user admits them."""
