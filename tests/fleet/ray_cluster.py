"""Ray clusters for tests, on request: Ray is no dependency, and listens on all addresses.

The tests run in a network namespace of their own, with Ray installed:

  unshare -n sh -c 'ip link set lo up; RAY_ENABLE_UV_RUN_RUNTIME_ENV=0 uv run --offline
    --with ray pytest -n 0 -m full tests/fleet/test_ray.py tests/fleet/test_engines.py'
"""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from tests.support.server_process import NO_KEYRING
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

PORT = 6379
TOKEN = "of-this-test-" + "0123456789abcdef" * 2
AUTHENTICATION = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN}
# Ray gives up after half a minute, in which a busy machine does not start its agents.
PATIENCE = {"RAY_raylet_start_wait_time_s": str(int(HANG_TIMEOUT_SECONDS * 3))}


def other_networks() -> list[str]:
    """Return the interfaces of this network namespace, except for loopback."""
    return [name for name in psutil.net_if_addrs() if name != "lo"]


ON_REQUEST = [
    pytest.mark.full,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
    pytest.mark.skipif(
        bool(other_networks()), reason="Ray listens on all addresses: run it in a network namespace"
    ),
]


def wait_for_port(head: "subprocess.Popen[bytes]") -> None:
    """Wait until the cluster listens."""
    for _ in range(int(HANG_TIMEOUT_SECONDS * 10)):
        with suppress(OSError), socket.create_connection(("127.0.0.1", PORT)):
            return
        with suppress(subprocess.TimeoutExpired):
            head.wait(0.1)
            break
    raise AssertionError("the cluster did not start")


@contextmanager
def ray_cluster() -> Generator[str]:
    """Run a cluster of one node; yield its address."""
    # A short path: Ray's sockets are in it.
    with (
        tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as name,
        pytest.MonkeyPatch.context() as patch,
    ):
        options = ("--node-ip-address", "127.0.0.1", "--port", str(PORT), "--num-cpus", "2")
        program = str(Path(sys.executable).with_name("ray"))
        kept = {each: os.environ[each] for each in ("PATH", "LANG") if each in os.environ}  # noqa: TID251
        home = Path(name, "home")
        home.mkdir()
        (home / "config.yaml").write_text("{}\n")
        variables = {
            "HERMES_HOME": str(home),
            "HOME": name,
            "RAY_USAGE_STATS_ENABLED": "0",
            **AUTHENTICATION,
            **PATIENCE,
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }
        head = subprocess.Popen(
            (
                *(program, "start", "--head", "--block", *options),
                *("--include-dashboard", "false", "--temp-dir", name),
            ),
            env={**kept, **NO_KEYRING, **variables},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            wait_for_port(head)
            for each, value in (*AUTHENTICATION.items(), *PATIENCE.items()):
                patch.setenv(each, value)
            yield f"127.0.0.1:{PORT}"
        finally:
            # Its own processes only: `ray stop` ends those of all clusters.
            children: list[psutil.Process] = []
            with suppress(psutil.NoSuchProcess, ProcessLookupError):  # it did not start
                children = psutil.Process(head.pid).children(recursive=True)
                os.killpg(head.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                head.wait(20)
            for each in children:
                with suppress(psutil.NoSuchProcess):
                    each.kill()
            with suppress(ProcessLookupError):
                os.killpg(head.pid, signal.SIGKILL)
            head.wait()
