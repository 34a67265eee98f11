/**
 * Ids of sessions in a window with several agents.
 *
 * Each agent chooses the ids of its sessions, so two agents may use the same. In the window, the ids of sessions of
 * the own server are as it chose them; those of another agent carry the id of that agent. The connection of an agent
 * translates between both, so that nothing else in the window knows the ids that other agents chose.
 */
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { isRecord } from "../shared/validation.js";

/** Id of the own server among the agents. */
export const OWN_AGENT = "";
const FORMAT = /^agent:([^/]*)\//;

/** Return the id of the agent that a session belongs to. */
export function agentIdOf(sessionId: string): string {
  return decodeURIComponent(FORMAT.exec(sessionId)?.[1] ?? OWN_AGENT);
}

/** Return a stream in whose messages the ids of sessions carry the id of their agent. */
export function streamWithAgentId(stream: Stream, agentId: string): Stream {
  if (agentId === OWN_AGENT) return stream;
  const prefix = `agent:${encodeURIComponent(agentId)}/`;
  const outgoing = translator((id) => (id.startsWith(prefix) ? id.slice(prefix.length) : id));
  // The connection sees the same failure on its own end of the stream.
  outgoing.readable.pipeTo(stream.writable).catch(() => undefined);
  return { writable: outgoing.writable, readable: stream.readable.pipeThrough(translator((id) => prefix + id)) };
}

function translator(translate: (id: string) => string): TransformStream<AnyMessage, AnyMessage> {
  return new TransformStream({
    transform(message, controller) {
      controller.enqueue(withIds(message, translate));
    },
  });
}

/** Translate the ids in the params of a request or notification, and in the result of a response. */
function withIds(message: AnyMessage, translate: (id: string) => string): AnyMessage {
  const inPart = (part: unknown): unknown => {
    if (!isRecord(part)) return part;
    const { sessionId, sessions } = part;
    return {
      ...part,
      ...(typeof sessionId === "string" && { sessionId: translate(sessionId) }),
      ...(Array.isArray(sessions) && { sessions: sessions.map(inPart) }),
    };
  };
  const parts: Record<string, unknown> = { ...message };
  for (const name of ["params", "result"]) if (name in parts) parts[name] = inPart(parts[name]);
  return parts as unknown as AnyMessage;
}
