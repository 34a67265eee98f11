/**
 * What is shown while there is nothing to show: the way in, or a beginning.
 *
 * Owns what the user is told in each state of the connection.
 */
import type { JSX } from "preact";
import type { Intent } from "../../shared/intents.js";
import type { ViewState } from "../../shared/state.js";
import { Icon, type IconName } from "../Icon.js";
import { useHost } from "../posting.js";
import { SignInButtons } from "./SignInButtons.js";

export const SUGGESTION_EVENT = "suggestion";

const SUGGESTIONS: readonly (readonly [IconName, string, string])[] = [
  ["search", "Explain this project", "Explain how this project is built, and where to begin reading."],
  ["beaker", "Find what is not tested", "Find the most important behaviour that no test covers, and propose one."],
  ["diff", "Review my changes", "/review"],
];

export function Welcome({ state }: { state: ViewState }): JSX.Element {
  const { connection, session, signIn } = state;
  switch (connection.status) {
    case "untrusted":
      return (
        <Card icon="lock" title="This workspace is not trusted" testId="welcome-untrusted">
          <p>The agent reads files and runs commands, so it starts only where you trust the code.</p>
          <Deed intent={{ type: "manageTrust" }} label="Manage Workspace Trust" isPrimary />
        </Card>
      );
    case "noFolder":
      return (
        <Card icon="folder" title="Open a folder" testId="welcome-no-folder">
          <p>The agent works in the files of a folder.</p>
          <Deed intent={{ type: "openFolder" }} label="Open Folder" isPrimary />
        </Card>
      );
    case "missing":
      return <Missing message={connection.message} />;
    case "failed":
      return (
        <Card icon="error" title="The server cannot be started" testId="welcome-failed">
          <pre tabIndex={0} class="reason">{connection.message}</pre>
          <Deed intent={{ type: "restart" }} label="Try Again" isPrimary />
          <Deed intent={{ type: "showLog" }} label="Show Log" />
          <Deed intent={{ type: "openSettings" }} label="Settings" />
        </Card>
      );
    case "starting":
      return (
        <Card icon="loading" title="Starting the agent…" testId="welcome-starting">
          <p class="small">It is there in a moment.</p>
        </Card>
      );
    default:
      if (session.isLoading) return <Card icon="loading" title="Loading…" testId="welcome-loading" />;
      return signIn.isNeeded ? <SignIn state={state} /> : <Beginning state={state} />;
  }
}

interface CardProps {
  readonly icon: IconName;
  readonly title: string;
  readonly testId: string;
  readonly children?: preact.ComponentChildren;
}

function Card({ icon, title, testId, children }: CardProps): JSX.Element {
  return (
    <section class="welcome" data-testid={testId}>
      <div class="emblem">
        <Icon name={icon} spins={icon === "loading"} />
      </div>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function Deed({ intent, label, isPrimary = false }: { intent: Intent; label: string; isPrimary?: boolean }): JSX.Element {
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

function Missing({ message }: { message: string }): JSX.Element {
  return (
    <Card icon="warning" title="acp-server is not installed" testId="welcome-missing">
      <p>{message}</p>
      <pre tabIndex={0}>uv tool install hermes-acp-server</pre>
      <Deed intent={{ type: "restart" }} label="Try Again" isPrimary />
      <Deed intent={{ type: "openSettings" }} label="Set the Path" />
      <Deed intent={{ type: "showLog" }} label="Show Log" />
    </Card>
  );
}

function SignIn({ state }: { state: ViewState }): JSX.Element {
  return (
    <Card icon="lock" title="Sign in" testId="welcome-sign-in">
      <p>{state.signIn.message === "" ? "The agent needs a key for its model." : state.signIn.message}</p>
      <SignInButtons ways={state.connection.signInWays} />
    </Card>
  );
}

function Beginning({ state }: { state: ViewState }): JSX.Element {
  const suggest = (text: string): void => {
    document.dispatchEvent(new CustomEvent(SUGGESTION_EVENT, { detail: text }));
  };
  const { connection } = state;
  return (
    <Card icon="sparkle" title={connection.agent === "" ? "What shall we do?" : connection.agent} testId="welcome">
      <p class="lead">It reads, edits and runs, and asks before it does.</p>
      <ul class="suggestions" aria-label="Suggestions">
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
        <kbd>/</kbd> commands <kbd>@</kbd> files · paste pictures
      </p>
    </Card>
  );
}
