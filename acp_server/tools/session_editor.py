"""The editor of a session, as its tools use it. Cheap to import."""

from typing import TYPE_CHECKING

from acp_server.startup.fast_dataclass import frozen_dataclass

if TYPE_CHECKING:
    from acp_server.permissions.questions import PermissionAsker
    from acp_server.session.ports.editor import EditorPort
    from acp_server.session.ports.user_questions import UserAsker


@frozen_dataclass
class SessionEditor:
    """The editor of a session, and those who ask its user."""

    port: "EditorPort"
    permission_asker: "PermissionAsker"
    user_asker: "UserAsker"
