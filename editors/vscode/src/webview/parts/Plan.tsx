/**
 * The agent's plan: collapsed to the current entry, or expanded to all entries.
 *
 * It is docked while the agent works on it; after a turn that left it unfinished, it is an entry of the conversation.
 */
import type { PlanEntry } from "@agentclientprotocol/sdk";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { SessionState } from "../../shared/state.js";
import { useFold } from "../fold.js";
import { Icon, type IconName } from "../Icon.js";
import { useResize } from "../resize.js";
import { MoreBelow } from "./MoreBelow.js";
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

export function DockedPlan({ session: { plan, isRunning, questions } }: { session: SessionState }): JSX.Element | null {
  return isRunning && plan.length > 0 ? <Plan entries={plan} isRunning questionId={questions[0]?.id ?? ""} /> : null;
}

interface PlanProps {
  readonly entries: readonly PlanEntry[];
  readonly isRunning: boolean;
  /** Id of the open question, which takes the space of the entries; empty if there is none. */
  readonly questionId?: string;
}

export function Plan({ entries, isRunning, questionId = "" }: PlanProps): JSX.Element {
  const [isOpen, toggle] = useFold(questionId);
  const done = entries.filter(({ status }) => status === "completed").length;
  const now = entries.find(({ status }) => status !== "completed");
  return (
    <section class="plan" aria-label={t("Plan")} data-testid="plan">
      <button
        type="button"
        class="fold"
        aria-expanded={isOpen}
        data-testid="plan-toggle"
        onClick={toggle}
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
      {isOpen && <PlanEntries entries={entries} isRunning={isRunning} />}
    </section>
  );
}

/** All entries, scrolled to the current one. */
function PlanEntries({ entries, isRunning }: Pick<PlanProps, "entries" | "isRunning">): JSX.Element {
  const list = useRef<HTMLOListElement>(null);
  const current = entries.findIndex(({ status }) => status !== "completed");
  const showCurrent = (): void => {
    const node = list.current;
    const entry = node?.children[current];
    if (node !== null && entry instanceof HTMLElement) node.scrollTop = entry.offsetTop - node.offsetTop;
  };
  useLayoutEffect(showCurrent, [current]);
  useResize([list], showCurrent); // what is opened beside it leaves less room
  return (
    <>
      <ol class="plan-entries" ref={list} {...(isRunning && { tabIndex: 0 }) /* docked, it may scroll */}>
        {entries.map((entry, index) => (
          <li key={index} class={entry.status} data-testid="plan-entry">
            <span role="img" aria-label={LABELS[entry.status]}>
              <Icon name={ICONS[entry.status]} spins={entry.status === "in_progress" && isRunning} />
            </span>
            {entry.content}
          </li>
        ))}
      </ol>
      <MoreBelow list={list} count={entries.length} textOf={stepsBelow} />
    </>
  );
}

function stepsBelow(steps: number): string {
  if (steps === 0) return t("More");
  return steps === 1 ? t("1 more step") : t("{0} more steps", steps);
}
