"""The user's standing decisions about commands, by the keys of a Hermes configuration."""

from acp_server.config.setting import setting
from acp_server.config.values import ApprovalMode, Names
from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class ApprovalConfig:
    """Commands that never run, and whether sessions ask at all."""

    deny: Names = setting(
        (),
        "Commands that are refused in every mode: patterns such as `git push --force*`",
        "approvals.deny",
    )
    mode: ApprovalMode = setting(
        "manual",
        "`off` starts sessions in the mode `bypass`, unless `default_mode` is set",
        "approvals.mode",
    )
    is_invalid: bool = False
    """Whether some rules cannot be read: no command runs then."""
