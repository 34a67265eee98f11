/** The extension's settings, read on demand. A value of the wrong type counts as not set. */
import { workspace } from "vscode";
import type { ServerSettings } from "../host/serverLocator.js";
import { isRecord } from "../shared/validation.js";

export const SECTION = "acpServer";
/** Settings that take effect when the server starts the next time. */
export const SERVER_SETTINGS = ["command", "arguments", "environment"] as const;

export function serverSettings(): ServerSettings {
  const settings = workspace.getConfiguration(SECTION);
  const command: unknown = settings.get("command");
  const serverArguments: unknown = settings.get("arguments");
  const environment: unknown = settings.get("environment");
  return {
    command: typeof command === "string" ? command.trim() : "",
    arguments: Array.isArray(serverArguments) ? serverArguments.filter((word) => typeof word === "string") : [],
    environment: isRecord(environment) ? stringEntries(environment) : {},
  };
}

export function isTraceEnabled(): boolean {
  return workspace.getConfiguration(SECTION).get("trace") === "messages";
}

export function shouldFollowInitially(): boolean {
  return workspace.getConfiguration(SECTION).get("followAgent") === true;
}

export function shouldNotifyWhenHidden(): boolean {
  return workspace.getConfiguration(SECTION).get("notifyWhenHidden") !== false;
}

export function shouldOpenDiffs(): boolean {
  return workspace.getConfiguration(SECTION).get("openDiffs") !== false;
}

function stringEntries(values: Readonly<Record<string, unknown>>): Record<string, string> {
  const texts = Object.entries(values).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return Object.fromEntries(texts);
}
