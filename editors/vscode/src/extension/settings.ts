/**
 * The extension's settings, read when they are needed.
 *
 * Owns their names. What is not of the right type counts as not set.
 */
import { workspace } from "vscode";
import type { ServerSettings } from "../host/locating.js";
import { isRecord } from "../shared/intents.js";

export const SECTION = "acpServer";
/** A change of these is used when the server starts the next time. */
export const OF_THE_SERVER = ["command", "arguments", "environment"] as const;

export function serverSettings(): ServerSettings {
  const settings = workspace.getConfiguration(SECTION);
  const command: unknown = settings.get("command");
  const words: unknown = settings.get("arguments");
  const environment: unknown = settings.get("environment");
  return {
    command: typeof command === "string" ? command.trim() : "",
    arguments: Array.isArray(words) ? words.filter((word) => typeof word === "string") : [],
    environment: isRecord(environment) ? textsOf(environment) : {},
  };
}

export function isTraced(): boolean {
  return workspace.getConfiguration(SECTION).get("trace") === "messages";
}

export function followsAtFirst(): boolean {
  return workspace.getConfiguration(SECTION).get("followAgent") === true;
}

export function notifiesWhenHidden(): boolean {
  return workspace.getConfiguration(SECTION).get("notifyWhenHidden") !== false;
}

function textsOf(values: Readonly<Record<string, unknown>>): Record<string, string> {
  const texts = Object.entries(values).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return Object.fromEntries(texts);
}
