/** Buttons to sign in: enter a key in VS Code if the server can store it, and the agent's own methods. */
import type { JSX } from "preact";
import type { SignInMethod } from "../../shared/events.js";
import { useHost } from "../hostContext.js";
import { t } from "../../shared/l10n.js";

interface SignInButtonsProps {
  readonly methods: readonly SignInMethod[];
  readonly canStoreKey: boolean;
}

export function SignInButtons({ methods, canStoreKey }: SignInButtonsProps): JSX.Element {
  const { post } = useHost();
  // A server that stores keys has one method that only looks for a stored key: a button for it does nothing.
  const offered = canStoreKey ? methods.filter(({ isTerminal }) => isTerminal) : methods;
  const sorted = [...offered].sort((a, b) => Number(b.isTerminal) - Number(a.isTerminal));
  return (
    <div class="buttons sign-in">
      {canStoreKey && (
        <button
          type="button"
          class="primary wide"
          data-testid="sign-in-enter-key"
          onClick={() => {
            post({ type: "enterKey" });
          }}
        >
          {t("Enter an API Key")}
        </button>
      )}
      {sorted.map((method, index) => (
        <button
          key={method.id}
          type="button"
          class={index === 0 && !canStoreKey ? "primary wide" : "secondary wide"}
          title={method.description}
          data-testid={`sign-in-${method.id}`}
          onClick={() => {
            post({ type: "signIn", methodId: method.id });
          }}
        >
          {method.name}
        </button>
      ))}
      {canStoreKey && (
        <button
          type="button"
          class="secondary wide"
          title={t("A scripted model that shows what the agent does")}
          data-testid="try-demo"
          onClick={() => {
            post({ type: "tryDemo" });
          }}
        >
          {t("Try the Demo")}
        </button>
      )}
    </div>
  );
}
