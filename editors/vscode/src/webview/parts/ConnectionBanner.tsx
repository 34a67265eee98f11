/** Banner above the transcript while the server restarts or the user must sign in. */
import type { JSX } from "preact";
import type { ViewState } from "../../shared/state.js";
import { Icon } from "../Icon.js";
import { SignInButtons } from "./SignInButtons.js";

export function ConnectionBanner({ state }: { state: ViewState }): JSX.Element | null {
  const { connection, signIn, session } = state;
  if (connection.status === "restarting") {
    return (
      <div class="banner warning" role="status" data-testid="banner-restarting">
        <Icon name="loading" spins />
        <div>
          <p>The server stopped and is restarting.</p>
          {connection.message !== "" && <p class="small">{connection.message}</p>}
        </div>
      </div>
    );
  }
  if (!signIn.isNeeded || session.items.length === 0) return null;
  return (
    <div class="banner" role="status" data-testid="banner-sign-in">
      <Icon name="lock" />
      <div>
        <p>{signIn.message === "" ? "Sign in to continue." : signIn.message}</p>
        <SignInButtons methods={connection.signInMethods} />
      </div>
    </div>
  );
}
