/**
 * One connection to an agent.
 *
 * Owns the greeting, what we say that we can do, and which handler serves which method. Refuses to
 * know where the stream comes from.
 */
import {
  client,
  methods,
  PROTOCOL_VERSION,
  type AuthMethod,
  type ClientCapabilities,
  type ClientConnection,
  type ClientContext,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  type CreateTerminalRequest,
  type CreateTerminalResponse,
  type InitializeResponse,
  type ReadTextFileRequest,
  type ReadTextFileResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionNotification,
  type Stream,
  type TerminalOutputResponse,
  type WaitForTerminalExitResponse,
  type WriteTextFileRequest,
} from "@agentclientprotocol/sdk";
import type { AgentAbilities, SignInWay } from "../shared/events.js";
import { isRecord } from "../shared/intents.js";

export const STEERING_METHOD = "_session/steering";
export const FORK_METHOD = "session/fork";
export const ACTIVE_FILE_METHOD = "_hermes/active_file";
export const DIAGNOSTICS_METHOD = "_hermes/diagnostics";

interface OfTerminal {
  readonly sessionId: string;
  readonly terminalId: string;
}

/** What the agent may ask of us. A signal fires when the agent takes its question back. */
export interface ClientHandlers {
  update(notification: SessionNotification): void;
  permission(
    request: RequestPermissionRequest,
    signal: AbortSignal,
  ): Promise<RequestPermissionResponse>;
  elicit(request: CreateElicitationRequest, signal: AbortSignal): Promise<CreateElicitationResponse>;
  elicitationCompleted(elicitationId: string): void;
  readFile(request: ReadTextFileRequest): Promise<ReadTextFileResponse>;
  writeFile(request: WriteTextFileRequest): Promise<void>;
  createTerminal(request: CreateTerminalRequest): Promise<CreateTerminalResponse>;
  terminalOutput(request: OfTerminal): TerminalOutputResponse;
  waitForExit(request: OfTerminal): Promise<WaitForTerminalExitResponse>;
  killTerminal(request: OfTerminal): void;
  releaseTerminal(request: OfTerminal): void;
}

const CAPABILITIES: ClientCapabilities = {
  fs: { readTextFile: true, writeTextFile: true },
  terminal: true,
  auth: { terminal: true },
  elicitation: { form: {}, url: {} },
  session: { configOptions: { boolean: {} }, notices: {}, compaction: {} },
};

export interface Connection {
  readonly agent: ClientContext;
  readonly greeting: InitializeResponse;
  readonly closed: Promise<void>;
  isOpen(): boolean;
  close(): void;
}

/** Greet an agent over a stream, and serve it from then on.
 *
 * @throws the agent's error, or that the connection was closed.
 */
export async function connect(
  stream: Stream,
  handlers: ClientHandlers,
  version: string,
): Promise<Connection> {
  const connection = appOf(handlers).connect(stream);
  const greeting = await greet(connection, version);
  return {
    agent: connection.agent,
    greeting,
    closed: connection.closed,
    isOpen: () => !connection.signal.aborted,
    close: () => {
      connection.close();
    },
  };
}

function greet(connection: ClientConnection, version: string): Promise<InitializeResponse> {
  return connection.agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: CAPABILITIES,
    clientInfo: { name: "acp-server-vscode", title: "VS Code", version },
  });
}

function appOf(handlers: ClientHandlers): ReturnType<typeof client> {
  const { session, fs, terminal, elicitation } = methods.client;
  return client({ name: "acp-server-vscode" })
    .onNotification(session.update, ({ params }) => {
      handlers.update(params);
    })
    .onRequest(session.requestPermission, ({ params, signal }) =>
      handlers.permission(params, signal),
    )
    .onRequest(elicitation.create, ({ params, signal }) => handlers.elicit(params, signal))
    .onNotification(elicitation.complete, ({ params }) => {
      handlers.elicitationCompleted(params.elicitationId);
    })
    .onRequest(fs.readTextFile, ({ params }) => handlers.readFile(params))
    .onRequest(fs.writeTextFile, async ({ params }) => {
      await handlers.writeFile(params);
      return {};
    })
    .onRequest(terminal.create, ({ params }) => handlers.createTerminal(params))
    .onRequest(terminal.output, ({ params }) => handlers.terminalOutput(params))
    .onRequest(terminal.waitForExit, ({ params }) => handlers.waitForExit(params))
    .onRequest(terminal.kill, ({ params }) => {
      handlers.killTerminal(params);
      return {};
    })
    .onRequest(terminal.release, ({ params }) => {
      handlers.releaseTerminal(params);
      return {};
    });
}

/** Return what an agent can do, as far as we show it. */
export function abilitiesOf(greeting: InitializeResponse): AgentAbilities {
  const can = greeting.agentCapabilities;
  const sessions = can?.sessionCapabilities;
  // `fork` is a draft of the protocol, so the SDK's types do not have it.
  const drafts: unknown = sessions;
  const steering = greeting._meta?.["steering"];
  return {
    images: can?.promptCapabilities?.image === true,
    steer: isRecord(steering) && steering["supported"] === true,
    list: isOffered(sessions?.list),
    load: can?.loadSession === true,
    delete: isOffered(sessions?.delete),
    fork: isRecord(drafts) && isOffered(drafts["fork"]),
  };
}

function isOffered(capability: unknown): boolean {
  return capability !== null && capability !== undefined;
}

/** Return the ways to sign in, as the view shows them. */
export function signInWaysOf(ways: readonly AuthMethod[] | undefined): SignInWay[] {
  return (ways ?? []).map((way) => ({
    id: way.id,
    name: way.name,
    description: way.description ?? "",
    isTerminal: "type" in way,
  }));
}
