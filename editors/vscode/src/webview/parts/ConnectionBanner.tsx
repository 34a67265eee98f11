/** Banner above the transcript: the server restarts, another session asks, or the user must sign in. */
import type { JSX } from "preact";
import type { ViewState } from "../../shared/state.js";
import { Icon } from "../Icon.js";
import type { SessionSummary } from "../../shared/events.js";
import { useHost } from "../hostContext.js";
import { SignInButtons } from "./SignInButtons.js";
import { t } from "../../shared/l10n.js";

export function ConnectionBanner({ state }: { state: ViewState }): JSX.Element | null {
  const { connection, signIn, session } = state;
  if (connection.status === "restarting") {
    const [reason = "", ...details] = connection.message.split("\n");
    return (
      <div class="banner warning" role="status" data-testid="banner-restarting">
        <Icon name="loading" spins />
        <div>
          <p>{`${reason} ${t("It is being restarted.")}`.trim()}</p>
          {details.length > 0 && <p class="small">{details.join("\n")}</p>}
        </div>
      </div>
    );
  }
  const elsewhere = state.sessions.find(({ id, openQuestions }) => openQuestions > 0 && id !== session.id);
  if (elsewhere !== undefined && connection.status === "ready") return <QuestionElsewhere session={elsewhere} />;
  if (!signIn.isNeeded || session.items.length === 0) return null;
  return (
    <div class="banner" role="status" data-testid="banner-sign-in">
      <Icon name="lock" />
      <div>
        <p>{signIn.message === "" ? t("Sign in to continue.") : signIn.message}</p>
        <SignInButtons methods={connection.signInMethods} canStoreKey={connection.canStoreKey} />
      </div>
    </div>
  );
}

/** A question of a session that is not shown, with a button that leads to it. */
function QuestionElsewhere({ session }: { session: SessionSummary }): JSX.Element {
  const { post } = useHost();
  const text = session.title === "" ? t("Question in another session") : t("Question in “{0}”", session.title);
  return (
    <div class="banner question-elsewhere" role="status" data-testid="banner-question">
      <Icon name="bell" />
      <p class="ellipsis" title={text}>
        {text}
      </p>
      <button
        type="button"
        class="secondary"
        data-testid="show-question"
        onClick={() => {
          post({ type: "openSession", id: session.id });
        }}
      >
        {t("Show")}
      </button>
    </div>
  );
}
