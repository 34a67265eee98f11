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
  const label = describeUsage(usage);
  if (usage === null || label === "") return null;
  const share = shareOf(usage);
  const cost = costOf(usage);
  return (
    <span class="usage" title={label} data-testid="usage">
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
      {cost !== "" && (
        <span class="cost" aria-hidden="true">
          {cost}
        </span>
      )}
    </span>
  );
}

/** Return the usage of the context window and the cost in words; empty if they are not known. */
export function describeUsage(usage: UsageUpdate | null): string {
  if (usage === null || usage.size <= 0) return "";
  const percent = `${String(Math.round(shareOf(usage) * 100))}%`;
  const label = t("{0} of the context window: {1} of {2} tokens", percent, formatTokens(usage.used), formatTokens(usage.size));
  return [label, costOf(usage)].filter((part) => part !== "").join(", ");
}

function shareOf({ used, size }: UsageUpdate): number {
  return Math.min(used / size, 1);
}

function costOf({ cost }: UsageUpdate): string {
  return cost ? formatCost(cost.amount, cost.currency) : "";
}
