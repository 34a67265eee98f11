/**
 * The agent's place in the status bar.
 *
 * Owns what each state is called there.
 */
import { MarkdownString, StatusBarAlignment, ThemeColor, window } from "vscode";
import type { HostState } from "../host/surroundings.js";
import type { Disposable } from "../host/ports.js";
import type { ConnectionStatus } from "../shared/events.js";

const TEXTS: Readonly<Record<ConnectionStatus, string>> = {
  untrusted: "$(workspace-untrusted) Hermes",
  noFolder: "$(hubot) Hermes",
  missing: "$(warning) Hermes",
  starting: "$(hubot) Hermes",
  ready: "$(hubot) Hermes",
  restarting: "$(sync~spin) Hermes",
  failed: "$(error) Hermes",
};
const MEANINGS: Readonly<Record<ConnectionStatus, string>> = {
  untrusted: "The agent starts once this workspace is trusted.",
  noFolder: "The agent works in a folder: open one.",
  missing: "The server was not found.",
  starting: "The agent starts when its chat is opened.",
  ready: "The agent is ready.",
  restarting: "The server has ended and is started again.",
  failed: "The server cannot be started.",
};

export class StatusBar implements Disposable {
  readonly #item = window.createStatusBarItem("acpServer.status", StatusBarAlignment.Right, 90);

  constructor() {
    this.#item.name = "Hermes Agent";
    this.#item.command = "acpServer.focus";
    this.#item.show();
  }

  show({ status, message, isRunning, waiting }: HostState): void {
    const isBad = status === "failed" || status === "missing";
    this.#item.text = textOf(status, isRunning, waiting);
    this.#item.tooltip = new MarkdownString([MEANINGS[status], message].join("\n\n").trim());
    this.#item.backgroundColor = isBad
      ? new ThemeColor("statusBarItem.errorBackground")
      : waiting > 0
        ? new ThemeColor("statusBarItem.warningBackground")
        : undefined;
    this.#item.accessibilityInformation = { label: `Hermes Agent: ${MEANINGS[status]}` };
  }

  dispose(): void {
    this.#item.dispose();
  }
}

function textOf(status: ConnectionStatus, isRunning: boolean, waiting: number): string {
  if (waiting > 0) return "$(bell-dot) Hermes asks";
  if (isRunning) return "$(loading~spin) Hermes";
  return TEXTS[status];
}
