/** Usage of the context window, and the session's cost. */
import type { UsageUpdate } from "@agentclientprotocol/sdk";
import type { JSX } from "preact";
import { formatCost, formatTokens } from "../format.js";
import { t } from "../../shared/l10n.js";

const RADIUS = 6;
const CIRCUMFERENCE = 2 * Math.PI * RADIUS;
/** From this share of the context window on, the ring shows a warning. */
const WARNING_SHARE = 0.8;

export function UsageRing({ usage }: { usage: UsageUpdate | null }): JSX.Element | null {
  if (usage === null || usage.size <= 0) return null;
  const share = Math.min(usage.used / usage.size, 1);
  const cost = usage.cost ? formatCost(usage.cost.amount, usage.cost.currency) : "";
  const percent = `${String(Math.round(share * 100))}%`;
  const label = t("{0} of the context window: {1} of {2} tokens", percent, formatTokens(usage.used), formatTokens(usage.size));
  return (
    <span class="usage" title={cost === "" ? label : `${label}, ${cost}`} data-testid="usage">
      <svg
        class={share >= WARNING_SHARE ? "ring full" : "ring"}
        viewBox="0 0 16 16"
        role="img"
        aria-label={label}
      >
        <circle class="track" cx="8" cy="8" r={RADIUS} />
        <circle
          class="filled"
          cx="8"
          cy="8"
          r={RADIUS}
          stroke-dasharray={`${String(share * CIRCUMFERENCE)} ${String(CIRCUMFERENCE)}`}
          transform="rotate(-90 8 8)"
        />
      </svg>
      {cost !== "" && <span class="cost">{cost}</span>}
    </span>
  );
}
