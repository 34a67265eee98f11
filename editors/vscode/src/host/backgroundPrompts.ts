/**
 * Prompts in sessions of their own that no view shows, such as for a commit message.
 *
 * Such a session may only answer: every request for permission or for input is cancelled. It is deleted
 * afterwards, if the agent can.
 */
import { methods, type ClientContext, type SessionNotification } from "@agentclientprotocol/sdk";
import { textOf } from "../shared/sessionUpdates.js";

export class BackgroundPrompts {
  /** The answers so far, by session id. */
  readonly #answers = new Map<string, string>();

  /** Whether a session was created for such a prompt. */
  owns(sessionId: string): boolean {
    return this.#answers.has(sessionId);
  }

  /** Record an update of an owned session. A tool call begins a new answer: the text before it was no answer. */
  update({ sessionId, update }: SessionNotification): void {
    const answer = this.#answers.get(sessionId) ?? "";
    if (update.sessionUpdate === "agent_message_chunk") this.#answers.set(sessionId, answer + textOf(update.content));
    else if (update.sessionUpdate === "tool_call") this.#answers.set(sessionId, "");
  }

  /** Return the agent's answer to a prompt. */
  async run(agent: ClientContext, cwd: string, text: string, canDelete: boolean): Promise<string> {
    const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
    this.#answers.set(sessionId, "");
    try {
      await agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
      return this.#answers.get(sessionId) ?? "";
    } finally {
      // The id stays known, so that a list of sessions that was asked for meanwhile does not show it.
      if (canDelete) await agent.request(methods.agent.session.delete, { sessionId }).catch(() => undefined);
    }
  }
}
