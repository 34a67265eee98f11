/** The agent's status bar item. */
import { MarkdownString, StatusBarAlignment, ThemeColor, window } from "vscode";
import type { HostState } from "../host/hostServices.js";
import type { Disposable } from "../host/ports.js";
import type { ConnectionStatus } from "../shared/events.js";
import { t } from "../shared/l10n.js";

const ICONS: Readonly<Record<ConnectionStatus, string>> = {
  untrusted: "$(workspace-untrusted)",
  noFolder: "$(hubot)",
  missing: "$(warning)",
  starting: "$(hubot)",
  ready: "$(hubot)",
  restarting: "$(sync~spin)",
  failed: "$(error)",
};
const DESCRIPTIONS: Readonly<Record<ConnectionStatus, string>> = {
  untrusted: t("The agent starts once this workspace is trusted."),
  noFolder: t("Open a folder to use the agent."),
  missing: t("The agent's program was not found."),
  starting: t("The agent starts when you open the chat."),
  ready: t("The agent is ready."),
  restarting: t("The agent is being restarted."),
  failed: t("The server could not be started."),
};

/** Longer names of models and modes are cut; the item's hover has them whole. */
const MAX_FACT_CHARACTERS = 24;

export class StatusBar implements Disposable {
  readonly #item = window.createStatusBarItem("acpServer.status", StatusBarAlignment.Right, 90);

  constructor() {
    this.#item.name = "Hermes Agent";
    this.#item.command = "acpServer.focus";
    this.#item.show();
  }

  show(state: HostState): void {
    const { status, message, openQuestions, agent, session } = state;
    const lines = [agent, ...session.map(([name, value]) => `${name}: ${value}`)];
    const isError = status === "failed" || status === "missing";
    this.#item.text = labelFor(state);
    this.#item.tooltip = new MarkdownString([questionText(state), DESCRIPTIONS[status], message, ...lines].filter((part) => part !== "").join("\n\n"));
    this.#item.backgroundColor = isError
      ? new ThemeColor("statusBarItem.errorBackground")
      : openQuestions > 0
        ? new ThemeColor("statusBarItem.warningBackground")
        : undefined;
    this.#item.command = openQuestions > 0 ? "acpServer.showQuestion" : "acpServer.focus";
    const label = ["Hermes Agent:", questionText(state), DESCRIPTIONS[status]].filter((part) => part !== "").join(" ");
    this.#item.accessibilityInformation = { label };
  }

  dispose(): void {
    this.#item.dispose();
  }
}

/** Return how many questions wait, and where; empty if none does. */
function questionText({ openQuestions, askingTitle }: HostState): string {
  if (openQuestions === 0) return "";
  const count = openQuestions === 1 ? t("1 question waits for you") : t("{0} questions wait for you", openQuestions);
  return askingTitle === "" ? `${count}.` : t("{0} in “{1}”.", count, askingTitle);
}

/** Return the text of the item: who asks, else the model, mode and cost of the shown session, or its agent until they are known. */
function labelFor({ status, isRunning, openQuestions, askingAgent, agent, session }: HostState): string {
  if (openQuestions > 0) return `$(bell-dot) ${t("{0} asks", askingAgent || "Hermes")}`;
  const facts = status === "ready" ? session.map(([, value]) => shortened(value)) : [];
  return `${isRunning ? "$(loading~spin)" : ICONS[status]} ${facts.join(" · ") || agent || "Hermes"}`;
}

function shortened(value: string): string {
  return value.length > MAX_FACT_CHARACTERS ? `${value.slice(0, MAX_FACT_CHARACTERS)}…` : value;
}
