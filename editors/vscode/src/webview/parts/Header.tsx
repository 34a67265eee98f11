/**
 * Header: title of the shown session, and buttons for the session list, follow mode, context and a
 * new session.
 */
import type { JSX } from "preact";
import type { ViewState } from "../../shared/state.js";
import { Icon, IconButton } from "../Icon.js";
import { useHost } from "../hostContext.js";
import { t } from "../../shared/l10n.js";

export type PanelName = "none" | "sessions" | "context";

interface HeaderProps {
  readonly state: ViewState;
  readonly panel: PanelName;
  readonly onPanel: (panel: PanelName) => void;
}

export function Header({ state, panel, onPanel }: HeaderProps): JSX.Element {
  const { post } = useHost();
  const title = state.session.title === "" ? t("New session") : state.session.title;
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
      {!state.connection.canStoreKey && <span class="small" data-testid="header-agent">{state.connection.agent}</span>}
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
