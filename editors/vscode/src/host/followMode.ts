/**
 * Follow mode: the editor opens the files where the agent works.
 *
 * Opens the last location of each tool call once, without taking the keyboard focus.
 */
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { EditorWindow } from "./ports.js";

export class FollowMode {
  readonly #editorWindow: EditorWindow;
  #lastLocation = "";
  isOn: boolean;

  constructor(editorWindow: EditorWindow, isOn: boolean) {
    this.#editorWindow = editorWindow;
    this.isOn = isOn;
  }

  /** Open the last location of a tool-call update, if follow mode is on. */
  async follow(update: SessionUpdate): Promise<void> {
    if (!this.isOn) return;
    if (update.sessionUpdate !== "tool_call" && update.sessionUpdate !== "tool_call_update") return;
    const location = update.locations?.at(-1);
    if (location === undefined) return;
    const line = location.line ?? 1;
    const locationKey = `${update.toolCallId} ${location.path}:${String(line)}`;
    if (locationKey === this.#lastLocation) return;
    this.#lastLocation = locationKey;
    await this.#editorWindow.openFile(location.path, line, false);
  }
}
