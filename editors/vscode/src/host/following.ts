/**
 * Follow mode: the editor shows where the agent works.
 *
 * Owns which place is opened: the newest of a call, once. The user's focus stays where it is.
 */
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { Desk } from "./ports.js";

export class Following {
  readonly #desk: Desk;
  #lastPlace = "";
  isOn: boolean;

  constructor(desk: Desk, isOn: boolean) {
    this.#desk = desk;
    this.isOn = isOn;
  }

  /** Open the place that an update of the shown session names, if that is wanted. */
  async follow(update: SessionUpdate): Promise<void> {
    if (!this.isOn) return;
    if (update.sessionUpdate !== "tool_call" && update.sessionUpdate !== "tool_call_update") return;
    const location = update.locations?.at(-1);
    if (location === undefined) return;
    const line = location.line ?? 1;
    const place = `${update.toolCallId} ${location.path}:${String(line)}`;
    if (place === this.#lastPlace) return;
    this.#lastPlace = place;
    await this.#desk.openFile(location.path, line, false);
  }
}
