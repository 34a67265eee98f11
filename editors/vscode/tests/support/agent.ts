/** In-memory agent, built with the SDK over paired streams, whose behaviour a test defines. */
import {
  agent,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type AgentContext,
  type AnyMessage,
  type ContentBlock,
  type InitializeResponse,
  type NewSessionResponse,
  type PromptResponse,
  type SessionConfigOption,
  type SessionInfo,
  type SessionUpdate,
  type Stream,
} from "@agentclientprotocol/sdk";
import { FORK_METHOD, RESTORE_METHOD, STEERING_METHOD } from "../../src/host/methodNames.js";

/** The agent's behaviour in a turn. */
export type Turn = (turn: {
  readonly client: AgentContext;
  readonly sessionId: string;
  readonly prompt: readonly ContentBlock[];
  /** Resolves when the client cancels. */
  readonly cancelled: Promise<void>;
  readonly say: (text: string) => Promise<void>;
  readonly show: (update: SessionUpdate) => Promise<void>;
}) => Promise<PromptResponse>;

export const INITIALIZE_RESPONSE: InitializeResponse = {
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
  _meta: { steering: { supported: true }, hermes: { restore: {} } },
};

function modeOption(currentValue: string): SessionConfigOption {
  const options = [
    { value: "ask", name: "Ask" },
    { value: "plan", name: "Plan" },
  ];
  return { id: "mode", name: "Mode", type: "select", category: "mode", currentValue, options };
}

const SESSION_RESPONSE: Omit<NewSessionResponse, "sessionId"> = {
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
  /** Received requests and notifications in order: method and parameters. */
  readonly received: [string, unknown][] = [];
  turn: Turn = () => Promise.resolve({ stopReason: "end_turn" });
  /** Sessions that `session/list` returns for their folder. */
  sessions: SessionInfo[] = [{ sessionId: "earlier", cwd: "/project", title: "Earlier", updatedAt: "2026-01-02T03:04:05Z" }];
  /** Updates that `session/load` replays before its response. */
  history: SessionUpdate[] = [];
  initializeResponse: InitializeResponse = INITIALIZE_RESPONSE;
  steering: "injected" | "failed" = "injected";
  /** Files that a restore leaves as they are. */
  left = [{ path: "/project/b", reason: "changed since" }];
  /** Whether no session is created before `authenticate`. */
  needsSignIn = false;
  authenticate: () => Promise<object> = () => Promise.resolve({});
  #sessions = 0;
  readonly #cancels = new Map<string, () => void>();

  /** Open a connection; return the client's stream and a function that closes it. */
  open(): { stream: Stream; close: () => void } {
    const toAgent = new TransformStream<AnyMessage, AnyMessage>();
    const toClient = new TransformStream<AnyMessage, AnyMessage>();
    const connection = this.#app().connect({ readable: toAgent.readable, writable: toClient.writable });
    return {
      stream: { readable: toClient.readable, writable: toAgent.writable },
      close: () => {
        connection.close();
      },
    };
  }

  /** Return the parameters of all received messages of a method. */
  paramsOf(method: string): unknown[] {
    return this.received.filter(([name]) => name === method).map(([, params]) => params);
  }

  #app(): ReturnType<typeof agent> {
    const { session } = methods.agent;
    const record = <T>(method: string, params: T): T => {
      this.received.push([method, params]);
      return params;
    };
    const raw = (params: unknown): unknown => params;
    const app = agent({ name: "fake" })
      .onRequest(methods.agent.initialize, ({ params }) => {
        record("initialize", params);
        return this.initializeResponse;
      })
      .onRequest(methods.agent.authenticate, ({ params }) => {
        record("authenticate", params);
        this.needsSignIn = false;
        return this.authenticate();
      })
      .onRequest(session.new, ({ params }) => {
        record("session/new", params);
        if (this.needsSignIn) throw RequestError.authRequired();
        this.#sessions += 1;
        return { sessionId: `session-${String(this.#sessions)}`, ...SESSION_RESPONSE };
      })
      .onRequest(session.load, async ({ params, client }) => {
        const { sessionId } = record("session/load", params);
        for (const update of this.history) {
          await client.notify(methods.client.session.update, { sessionId, update });
        }
        return SESSION_RESPONSE;
      })
      .onRequest(session.list, ({ params }) => {
        record("session/list", params);
        return { sessions: this.sessions.filter(({ cwd }) => cwd === params.cwd) };
      })
      .onRequest(session.delete, ({ params }) => {
        record("session/delete", params);
      })
      .onRequest(session.setMode, ({ params }) => {
        record("session/set_mode", params);
      })
      .onRequest(session.setConfigOption, ({ params }) => {
        record("session/set_config_option", params);
        return { configOptions: [modeOption("plan")] };
      })
      .onRequest(session.prompt, ({ params, client }) => {
        record("session/prompt", params);
        return this.#run(params.sessionId, params.prompt, client);
      })
      .onNotification(session.cancel, ({ params }) => {
        record("session/cancel", params);
        this.#cancels.get(params.sessionId)?.();
      });
    for (const method of ["_hermes/active_file", "_hermes/diagnostics"]) {
      app.onNotification(method, raw, ({ params }) => {
        record(method, params);
      });
    }
    app.onRequest(STEERING_METHOD, raw, ({ params }) => {
      record(STEERING_METHOD, params);
      return { outcome: this.steering };
    });
    app.onRequest(RESTORE_METHOD, raw, ({ params }) => {
      record(RESTORE_METHOD, params);
      return { restored: ["/project/a"], left: this.left, _meta: { hermes: { checkpoint: "undo" } } };
    });
    app.onRequest(FORK_METHOD, raw, ({ params }) => {
      record(FORK_METHOD, params);
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
