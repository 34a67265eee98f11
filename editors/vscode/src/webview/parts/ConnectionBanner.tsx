/** One line on top while the server is started again or the user is to sign in. */
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
          <p>The server has ended and is started again.</p>
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
        <p>{signIn.message === "" ? "Sign in to go on." : signIn.message}</p>
        <SignInButtons ways={connection.signInWays} />
      </div>
    </div>
  );
}
