/**
 * The agent's plan: collapsed to the current entry, or expanded to all entries.
 *
 * It is docked while the agent works on it; after a turn that left it unfinished, it is an entry of the conversation.
 */
import type { PlanEntry } from "@agentclientprotocol/sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { SessionState } from "../../shared/state.js";
import { Icon, type IconName } from "../Icon.js";
import { t } from "../../shared/l10n.js";

const ICONS: Readonly<Record<PlanEntry["status"], IconName>> = {
  pending: "circle",
  in_progress: "loading",
  completed: "check",
};
const LABELS: Readonly<Record<PlanEntry["status"], string>> = {
  pending: t("To do"),
  in_progress: t("In progress"),
  completed: t("Done"),
};

export function DockedPlan({ session: { plan, isRunning } }: { session: SessionState }): JSX.Element | null {
  return isRunning && plan.length > 0 ? <Plan entries={plan} isRunning /> : null;
}

export function Plan({ entries, isRunning }: { entries: readonly PlanEntry[]; isRunning: boolean }): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  const done = entries.filter(({ status }) => status === "completed").length;
  const now = entries.find(({ status }) => status !== "completed");
  return (
    <section class="plan" aria-label={t("Plan")} data-testid="plan">
      <button
        type="button"
        class="fold"
        aria-expanded={isOpen}
        data-testid="plan-toggle"
        onClick={() => {
          setIsOpen(!isOpen);
        }}
      >
        <Icon name={isOpen ? "chevronDown" : "chevronRight"} />
        <Icon name="list" />
        <span class="plan-count">
          {t("Plan")} {done}/{entries.length}
        </span>
        {!isOpen && (
          <span class="hint" title={now?.content}>
            {now?.content ?? t("Done")}
          </span>
        )}
      </button>
      {isOpen && (
        <ol class="plan-entries">
          {entries.map((entry, index) => (
            <li key={index} class={entry.status} data-testid="plan-entry">
              <span role="img" aria-label={LABELS[entry.status]}>
                <Icon name={ICONS[entry.status]} spins={entry.status === "in_progress" && isRunning} />
              </span>
              {entry.content}
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
