/** The ways to sign in that the agent offers. */
import type { JSX } from "preact";
import type { SignInWay } from "../../shared/events.js";
import { useHost } from "../posting.js";

export function SignInButtons({ ways }: { ways: readonly SignInWay[] }): JSX.Element {
  const { post } = useHost();
  // The one in a terminal asks for what is missing, so it comes first.
  const sorted = [...ways].sort((a, b) => Number(b.isTerminal) - Number(a.isTerminal));
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
            post({ type: "signIn", wayId: way.id });
          }}
        >
          {way.name}
        </button>
      ))}
    </div>
  );
}
