/** An agent in memory: the SDK's own, over crossed streams, that does as a test tells it. */
import {
  agent,
  methods,
  PROTOCOL_VERSION,
  type AgentContext,
  type AnyMessage,
  type ContentBlock,
  type InitializeResponse,
  type NewSessionResponse,
  type PromptResponse,
  type SessionConfigOption,
  type SessionUpdate,
  type Stream,
} from "@agentclientprotocol/sdk";
import { FORK_METHOD, STEERING_METHOD } from "../../src/host/connection.js";

/** What the agent does in a turn. */
export type Turn = (turn: {
  readonly client: AgentContext;
  readonly sessionId: string;
  readonly prompt: readonly ContentBlock[];
  /** Resolves when the client cancels. */
  readonly cancelled: Promise<void>;
  readonly say: (text: string) => Promise<void>;
  readonly show: (update: SessionUpdate) => Promise<void>;
}) => Promise<PromptResponse>;

export const GREETING: InitializeResponse = {
  protocolVersion: PROTOCOL_VERSION,
  agentInfo: { name: "fake", title: "Fake Agent", version: "1" },
  agentCapabilities: {
    loadSession: true,
    promptCapabilities: { image: true },
    sessionCapabilities: { list: {}, delete: {}, resume: {} },
  },
  authMethods: [
    { id: "key", name: "API key" },
    { id: "setup", name: "Terminal", type: "terminal", args: ["setup"] },
  ],
  _meta: { steering: { supported: true } },
};

function modeOption(currentValue: string): SessionConfigOption {
  const options = [
    { value: "ask", name: "Ask" },
    { value: "plan", name: "Plan" },
  ];
  return { id: "mode", name: "Mode", type: "select", category: "mode", currentValue, options };
}

const OPENED: Omit<NewSessionResponse, "sessionId"> = {
  modes: {
    currentModeId: "ask",
    availableModes: [
      { id: "ask", name: "Ask" },
      { id: "plan", name: "Plan" },
    ],
  },
  configOptions: [modeOption("ask")],
};

export class FakeAgent {
  /** Every request and notification that came, in order: method and parameters. */
  readonly heard: [string, unknown][] = [];
  turn: Turn = () => Promise.resolve({ stopReason: "end_turn" });
  /** What loading a session tells before its answer. */
  past: SessionUpdate[] = [];
  greeting: InitializeResponse = GREETING;
  steering: "injected" | "failed" = "injected";
  #sessions = 0;
  readonly #cancels = new Map<string, () => void>();

  /** Return the client's end of a new connection, and how it is cut. */
  open(): { stream: Stream; close: () => void } {
    const there = new TransformStream<AnyMessage, AnyMessage>();
    const back = new TransformStream<AnyMessage, AnyMessage>();
    const connection = this.#app().connect({ readable: there.readable, writable: back.writable });
    return {
      stream: { readable: back.readable, writable: there.writable },
      close: () => {
        connection.close();
      },
    };
  }

  /** Return the parameters of what came under a method. */
  heardOf(method: string): unknown[] {
    return this.heard.filter(([name]) => name === method).map(([, params]) => params);
  }

  #app(): ReturnType<typeof agent> {
    const { session } = methods.agent;
    const note = <T>(method: string, params: T): T => {
      this.heard.push([method, params]);
      return params;
    };
    const raw = (params: unknown): unknown => params;
    const app = agent({ name: "fake" })
      .onRequest(methods.agent.initialize, ({ params }) => {
        note("initialize", params);
        return this.greeting;
      })
      .onRequest(methods.agent.authenticate, ({ params }) => {
        note("authenticate", params);
      })
      .onRequest(session.new, ({ params }) => {
        note("session/new", params);
        this.#sessions += 1;
        return { sessionId: `session-${String(this.#sessions)}`, ...OPENED };
      })
      .onRequest(session.load, async ({ params, client }) => {
        const { sessionId } = note("session/load", params);
        for (const update of this.past) {
          await client.notify(methods.client.session.update, { sessionId, update });
        }
        return OPENED;
      })
      .onRequest(session.list, ({ params }) => {
        note("session/list", params);
        const info = { cwd: "/project", title: "Earlier", updatedAt: "2026-01-02T03:04:05Z" };
        return { sessions: [{ sessionId: "earlier", ...info }] };
      })
      .onRequest(session.delete, ({ params }) => {
        note("session/delete", params);
      })
      .onRequest(session.setMode, ({ params }) => {
        note("session/set_mode", params);
      })
      .onRequest(session.setConfigOption, ({ params }) => {
        note("session/set_config_option", params);
        return { configOptions: [modeOption("plan")] };
      })
      .onRequest(session.prompt, ({ params, client }) => {
        note("session/prompt", params);
        return this.#run(params.sessionId, params.prompt, client);
      })
      .onNotification(session.cancel, ({ params }) => {
        note("session/cancel", params);
        this.#cancels.get(params.sessionId)?.();
      });
    for (const method of ["_hermes/active_file", "_hermes/diagnostics"]) {
      app.onNotification(method, raw, ({ params }) => {
        note(method, params);
      });
    }
    app.onRequest(STEERING_METHOD, raw, ({ params }) => {
      note(STEERING_METHOD, params);
      return { outcome: this.steering };
    });
    app.onRequest(FORK_METHOD, raw, ({ params }) => {
      note(FORK_METHOD, params);
      return { sessionId: "fork" };
    });
    return app;
  }

  #run(
    sessionId: string,
    prompt: readonly ContentBlock[],
    client: AgentContext,
  ): Promise<PromptResponse> {
    const show = (update: SessionUpdate): Promise<void> =>
      client.notify(methods.client.session.update, { sessionId, update });
    const cancelled = new Promise<void>((resolve) => {
      this.#cancels.set(sessionId, resolve);
    });
    const say = (text: string): Promise<void> =>
      show({ sessionUpdate: "agent_message_chunk", messageId: "m", content: { type: "text", text } });
    return this.turn({ client, sessionId, prompt, cancelled, say, show });
  }
}
