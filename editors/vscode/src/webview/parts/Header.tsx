/**
 * Header: title of the shown session, and buttons for the session list, follow mode, context and a
 * new session.
 */
import type { JSX } from "preact";
import type { ViewState } from "../../shared/state.js";
import { Icon, IconButton } from "../Icon.js";
import { useHost } from "../hostContext.js";
import { t } from "../../shared/l10n.js";

/** Whether the agent is worth a mention: it is not our own server, or some sessions are of others. */
function hasAgents({ connection, sessions }: ViewState): boolean {
  return connection.agentId !== "" || (connection.agent !== "" && !connection.canStoreKey) || new Set(sessions.map(({ agent }) => agent)).size > 1;
}

export type PanelName = "none" | "sessions" | "context";

interface HeaderProps {
  readonly state: ViewState;
  readonly panel: PanelName;
  readonly onPanel: (panel: PanelName) => void;
}

export function Header({ state, panel, onPanel }: HeaderProps): JSX.Element {
  const { post } = useHost();
  // In the list, a session without a title has its first prompt's.
  const title = state.session.title || (state.sessions.find(({ id }) => id === state.session.id)?.title ?? "") || t("New session");
  const agentName = state.connection.agent || t("Agent");
  const toggle = (name: PanelName): void => {
    if (name === "sessions" && panel !== "sessions") post({ type: "listSessions" });
    if (name === "context" && panel !== "context") post({ type: "refreshContext" });
    onPanel(panel === name ? "none" : name);
  };
  return (
    <header class="header">
      <button
        type="button"
        class="session-title"
        aria-expanded={panel === "sessions"}
        data-testid="header-sessions"
        title={t("{0}: show all sessions", title)}
        onClick={() => {
          toggle("sessions");
        }}
      >
        <Icon name="history" />
        <span class="ellipsis">{title}</span>
        <Icon name="chevronDown" />
      </button>
      {hasAgents(state) && (
        <button
          type="button"
          class="link small header-agent"
          data-testid="header-agent"
          title={t("{0}: start a session of another agent", agentName)}
          onClick={() => {
            post({ type: "switchAgent" });
          }}
        >
          <span class="ellipsis">{agentName}</span>
        </button>
      )}
      <IconButton
        icon="eye"
        label={t("Follow the agent")}
        testId="header-follow"
        isPressed={state.isFollowing}
        onPress={() => {
          post({ type: "follow", isOn: !state.isFollowing });
        }}
      />
      <IconButton
        icon="book"
        label={t("Active instructions and skills")}
        testId="header-context"
        isPressed={panel === "context"}
        onPress={() => {
          toggle("context");
        }}
      />
      <IconButton
        icon="add"
        label={t("New session")}
        testId="header-new"
        onPress={() => {
          onPanel("none");
          post({ type: "newSession" });
        }}
      />
    </header>
  );
}
