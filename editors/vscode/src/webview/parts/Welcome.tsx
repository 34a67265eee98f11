/**
 * Content of an empty view: a message for each connection state, sign-in, or suggestions for a
 * first prompt.
 */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Intent } from "../../shared/intents.js";
import type { ViewState } from "../../shared/state.js";
import { CommandText } from "../CommandText.js";
import { Icon, IconButton, type IconName } from "../Icon.js";
import { INSTALL_COMMAND } from "../../shared/install.js";
import { useHost } from "../hostContext.js";
import { t } from "../../shared/l10n.js";
import { SignInButtons } from "./SignInButtons.js";

export const SUGGESTION_EVENT = "suggestion";
const COPIED_MILLISECONDS = 2000;

const SUGGESTIONS: readonly (readonly [IconName, string, string])[] = [
  ["search", t("Explain this project"), t("Explain how this project is structured and where to start reading.")],
  ["beaker", t("Find untested code"), t("Find the most important behaviour that no test covers, and propose one.")],
  ["diff", t("Review my changes"), "/review"],
];

export function Welcome({ state }: { state: ViewState }): JSX.Element {
  const { connection, session, signIn } = state;
  switch (connection.status) {
    case "untrusted":
      return (
        <WelcomeCard icon="lock" title={t("This workspace is not trusted")} testId="welcome-untrusted">
          <p>{t("The agent reads files and runs commands, so it starts only where you trust the code.")}</p>
          <ActionButton intent={{ type: "manageTrust" }} label={t("Manage Workspace Trust")} isPrimary />
        </WelcomeCard>
      );
    case "noFolder":
      return (
        <WelcomeCard icon="folder" title={t("Open a folder")} testId="welcome-no-folder">
          <p>{t("The agent works on the files in a folder.")}</p>
          <ActionButton intent={{ type: "openFolder" }} label={t("Open Folder")} isPrimary />
        </WelcomeCard>
      );
    case "missing":
      return connection.agentId === "" ? <MissingServer message={connection.message} /> : <MissingAgent name={connection.agent} message={connection.message} />;
    case "failed":
      return (
        <WelcomeCard icon="error" title={connection.agentId === "" ? t("The server could not be started") : t("{0} could not be started", connection.agent)} testId="welcome-failed">
          <pre tabIndex={0} class="reason"><CommandText text={connection.message} /></pre>
          <ActionButton intent={{ type: "restart" }} label={t("Try Again")} isPrimary />
          <ActionButton intent={{ type: "showLog" }} label={t("Show Log")} />
          <ActionButton intent={{ type: "openSettings", reason: connection.message }} label={t("Settings")} />
        </WelcomeCard>
      );
    case "starting":
      return (
        <WelcomeCard icon="loading" title={t("Starting the agent…")} testId="welcome-starting">
          <p class="small">{t("This takes a few seconds.")}</p>
        </WelcomeCard>
      );
    default:
      if (session.isLoading) return <WelcomeCard icon="loading" title={t("Loading…")} testId="welcome-loading" />;
      return signIn.isNeeded ? <SignInCard state={state} /> : <StartCard state={state} />;
  }
}

interface WelcomeCardProps {
  readonly icon: IconName;
  readonly title: string;
  readonly testId: string;
  readonly children?: preact.ComponentChildren;
}

function WelcomeCard({ icon, title, testId, children }: WelcomeCardProps): JSX.Element {
  return (
    <section class="welcome" data-testid={testId}>
      <div class={icon === "sparkle" ? "emblem" : `emblem quiet ${icon}`}>
        <Icon name={icon} spins={icon === "loading"} />
      </div>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function ActionButton({ intent, label, isPrimary = false }: { intent: Intent; label: string; isPrimary?: boolean }): JSX.Element {
  const { post } = useHost();
  return (
    <button
      type="button"
      class={isPrimary ? "primary wide" : "secondary wide"}
      data-testid={`welcome-${intent.type}`}
      onClick={() => {
        post(intent);
      }}
    >
      {label}
    </button>
  );
}

function ActionLink({ intent, label }: { intent: Intent; label: string }): JSX.Element {
  const { post } = useHost();
  return (
    <button
      type="button"
      class="link"
      data-testid={`welcome-${intent.type}`}
      onClick={() => {
        post(intent);
      }}
    >
      {label}
    </button>
  );
}

function CopyButton({ text }: { text: string }): JSX.Element {
  const [isCopied, setIsCopied] = useState(false);
  const copy = (): void => {
    void navigator.clipboard.writeText(text).then(() => {
      setIsCopied(true);
      setTimeout(() => {
        setIsCopied(false);
      }, COPIED_MILLISECONDS);
    });
  };
  return <IconButton icon={isCopied ? "check" : "copy"} label={isCopied ? t("Copied") : t("Copy the command")} testId="copy-command" onPress={copy} />;
}

function MissingServer({ message }: { message: string }): JSX.Element {
  return (
    <WelcomeCard icon="warning" title={t("{0} is not installed", "Hermes Agent")} testId="welcome-missing">
      <p><CommandText text={message} /></p>
      <div class="command-line">
        <pre tabIndex={0}><CommandText text={INSTALL_COMMAND} /></pre>
        <CopyButton text={INSTALL_COMMAND} />
      </div>
      <ActionButton intent={{ type: "installServer" }} label={t("Install with uv")} isPrimary />
      <ActionButton intent={{ type: "tryDemo" }} label={t("Install and Try the Demo")} />
      <p class="small">{t("The demo needs no account and no key.")}</p>
      <div class="buttons">
        <ActionLink intent={{ type: "restart" }} label={t("Try Again")} />
        <ActionLink intent={{ type: "openSettings", reason: "" }} label={t("Set the Path")} />
        <ActionLink intent={{ type: "showLog" }} label={t("Show Log")} />
      </div>
    </WelcomeCard>
  );
}

/** A session of an agent that is not installed any more. */
function MissingAgent({ name, message }: { name: string; message: string }): JSX.Element {
  return (
    <WelcomeCard icon="warning" title={t("{0} is not installed", name)} testId="welcome-missing-agent">
      <p>{message}</p>
      <ActionButton intent={{ type: "newSession" }} label={t("New Session")} isPrimary />
      <ActionButton intent={{ type: "switchAgent" }} label={t("Choose Another Agent")} />
      <div class="buttons">
        <ActionLink intent={{ type: "restart" }} label={t("Try Again")} />
      </div>
    </WelcomeCard>
  );
}

function SignInCard({ state }: { state: ViewState }): JSX.Element {
  return (
    <WelcomeCard icon="lock" title={t("Sign in")} testId="welcome-sign-in">
      <p>{state.signIn.message === "" ? t("The agent needs an API key for its model.") : state.signIn.message}</p>
      <SignInButtons methods={state.connection.signInMethods} canStoreKey={state.connection.canStoreKey} />
      {state.connection.canStoreKey && <p class="small">{t("The server stores the key on this machine. The demo needs none.")}</p>}
    </WelcomeCard>
  );
}

function StartCard({ state }: { state: ViewState }): JSX.Element {
  const suggest = (text: string): void => {
    document.dispatchEvent(new CustomEvent(SUGGESTION_EVENT, { detail: text }));
  };
  const { connection } = state;
  return (
    <WelcomeCard icon="sparkle" title={connection.agent === "" ? t("What should the agent do?") : connection.agent} testId="welcome">
      <p class="introduction">{t("The agent reads and edits files and runs commands. By default, it asks you before it changes anything.")}</p>
      <ul class="suggestions" aria-label={t("Suggestions")}>
        {SUGGESTIONS.map(([icon, label, text]) => (
          <li key={label}>
            <button
              type="button"
              class="suggestion"
              onClick={() => {
                suggest(text);
              }}
            >
              <Icon name={icon} />
              {label}
            </button>
          </li>
        ))}
      </ul>
      <p class="small hints">
        <kbd>/</kbd> {t("commands")} · <kbd>@</kbd> {t("files")} · {t("paste pictures")}
      </p>
    </WelcomeCard>
  );
}
