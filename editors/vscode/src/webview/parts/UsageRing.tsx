/** How full the model's window is, and what the session cost. */
import type { UsageUpdate } from "@agentclientprotocol/sdk";
import type { JSX } from "preact";
import { costOf, tokensOf } from "../format.js";

const RADIUS = 6;
const AROUND = 2 * Math.PI * RADIUS;
/** From this share on the ring warns. */
const FULL = 0.8;

export function UsageRing({ usage }: { usage: UsageUpdate | null }): JSX.Element | null {
  if (usage === null || usage.size <= 0) return null;
  const share = Math.min(usage.used / usage.size, 1);
  const cost = usage.cost ? costOf(usage.cost.amount, usage.cost.currency) : "";
  const percent = `${String(Math.round(share * 100))}%`;
  const words = `${percent} of the window: ${tokensOf(usage.used)} of ${tokensOf(usage.size)} tokens`;
  return (
    <span class="usage" title={cost === "" ? words : `${words}, ${cost}`} data-testid="usage">
      <svg
        class={share >= FULL ? "ring full" : "ring"}
        viewBox="0 0 16 16"
        role="img"
        aria-label={words}
      >
        <circle class="track" cx="8" cy="8" r={RADIUS} />
        <circle
          class="filled"
          cx="8"
          cy="8"
          r={RADIUS}
          stroke-dasharray={`${String(share * AROUND)} ${String(AROUND)}`}
          transform="rotate(-90 8 8)"
        />
      </svg>
      {cost !== "" && <span class="cost">{cost}</span>}
    </span>
  );
}
