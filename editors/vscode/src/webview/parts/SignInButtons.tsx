/** Buttons for the agent's sign-in methods. */
import type { JSX } from "preact";
import type { SignInMethod } from "../../shared/events.js";
import { useHost } from "../hostContext.js";

export function SignInButtons({ methods }: { methods: readonly SignInMethod[] }): JSX.Element {
  const { post } = useHost();
  // Terminal methods come first, because they prompt for missing keys.
  const sorted = [...methods].sort((a, b) => Number(b.isTerminal) - Number(a.isTerminal));
  return (
    <div class="buttons">
      {sorted.map((way, index) => (
        <button
          key={way.id}
          type="button"
          class={index === 0 ? "primary" : "secondary"}
          title={way.description}
          data-testid={`sign-in-${way.id}`}
          onClick={() => {
            post({ type: "signIn", methodId: way.id });
          }}
        >
          {way.name}
        </button>
      ))}
    </div>
  );
}
