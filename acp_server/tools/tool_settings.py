"""Settings of single tools. Values only: cheap to import."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, PositiveFloat, PositiveInt

from acp_server.config.setting import setting
from acp_server.config.values import CommandWords, PrivateHosts
from acp_server.startup.fast_dataclass import frozen_dataclass

MAX_DIAGNOSTICS_SECONDS = 2.0


@frozen_dataclass
class CheckConfig:
    """Configuration of the checks of changed files, used if the editor sends no diagnostics."""

    commands: Mapping[str, CommandWords] = setting(
        {},
        "Commands that check a changed file, by language; `{path}` is the file",
        "diagnostics.commands",
    )
    timeout_seconds: Annotated[float, Field(gt=0, le=MAX_DIAGNOSTICS_SECONDS)] = setting(
        MAX_DIAGNOSTICS_SECONDS, "How many seconds a check may take", "diagnostics.timeout_seconds"
    )


@frozen_dataclass
class WebConfig:
    """Configuration of `web_fetch`."""

    allowed_private_hosts: PrivateHosts = setting(
        (),
        "Private hosts, addresses or networks from which pages may be fetched",
        "web.allow_private",
    )
    timeout_seconds: PositiveFloat = setting(
        30.0, "How many seconds a fetch may take", "web.timeout_seconds"
    )
    max_bytes: PositiveInt = setting(5_000_000, "The maximum size of a page", "web.max_bytes")
