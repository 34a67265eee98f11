/**
 * ACP connection to one agent.
 *
 * Performs `initialize` with our client capabilities and routes incoming requests to the handlers.
 * Independent of where the stream comes from.
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
import { messageOf } from "./errors.js";
import { SYMBOLS_METHOD } from "./methodNames.js";
import type { AgentFeatures, SignInMethod } from "../shared/events.js";
import { isRecord } from "../shared/validation.js";

/** Name under which our own server introduces itself. */
export const AGENT_NAME = "hermes-acp-server";

/** Names one terminal of one session. */
export interface TerminalRef {
  readonly sessionId: string;
  readonly terminalId: string;
}

/** Handlers for the agent's requests and notifications. A signal aborts when the agent cancels its request. */
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
  terminalOutput(request: TerminalRef): TerminalOutputResponse;
  waitForExit(request: TerminalRef): Promise<WaitForTerminalExitResponse>;
  killTerminal(request: TerminalRef): void;
  releaseTerminal(request: TerminalRef): void;
  /** Answer what the editor's language features know; the params are not validated yet. */
  symbols(params: unknown): Promise<object>;
}

const CAPABILITIES: ClientCapabilities = {
  fs: { readTextFile: true, writeTextFile: true },
  terminal: true,
  auth: { terminal: true },
  elicitation: { form: {}, url: {} },
  session: { configOptions: { boolean: {} }, notices: {}, compaction: {} },
  // The texts of sub-agents come as chunks that name the call that they belong to.
  _meta: { hermes: { symbols: {} }, "subagent-transcript": true },
};

export interface Connection {
  readonly agent: ClientContext;
  readonly initializeResponse: InitializeResponse;
  readonly closed: Promise<void>;
  isOpen(): boolean;
  close(): void;
}

/** The connection closed before the agent had answered. */
export class ConnectionClosedError extends Error {}

/** Initialize an agent over a stream and start serving its requests.
 *
 * @throws the agent's error, or {@link ConnectionClosedError} if the connection closes first.
 */
export async function connect(
  stream: Stream,
  handlers: ClientHandlers,
  version: string,
): Promise<Connection> {
  const connection = clientApp(handlers).connect(stream);
  const initializeResponse = await initialize(connection, version).catch((error: unknown) => {
    throw connection.signal.aborted ? new ConnectionClosedError(messageOf(error)) : error;
  });
  return {
    agent: connection.agent,
    initializeResponse,
    closed: connection.closed,
    isOpen: () => !connection.signal.aborted,
    close: () => {
      connection.close();
    },
  };
}

function initialize(connection: ClientConnection, version: string): Promise<InitializeResponse> {
  return connection.agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: CAPABILITIES,
    clientInfo: { name: "acp-server-vscode", title: "VS Code", version },
  });
}

function clientApp(handlers: ClientHandlers): ReturnType<typeof client> {
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
    })
    .onRequest(SYMBOLS_METHOD, (params) => params, ({ params }) => handlers.symbols(params));
}

/** Return the agent's capabilities that the view uses. */
export function featuresOf(initializeResponse: InitializeResponse): AgentFeatures {
  const can = initializeResponse.agentCapabilities;
  const sessions = can?.sessionCapabilities;
  // `fork` is not yet in the protocol, so the SDK's types lack it.
  const drafts: unknown = sessions;
  const steering = initializeResponse._meta?.["steering"];
  const hermes = initializeResponse._meta?.["hermes"];
  return {
    images: can?.promptCapabilities?.image === true,
    steer: isRecord(steering) && steering["supported"] === true,
    list: isSupported(sessions?.list),
    load: can?.loadSession === true,
    delete: isSupported(sessions?.delete),
    fork: isRecord(drafts) && isSupported(drafts["fork"]),
    restore: isRecord(hermes) && isSupported(hermes["restore"]),
  };
}

function isSupported(capability: unknown): boolean {
  return capability !== null && capability !== undefined;
}

/** Return the agent's authentication methods in the form that the view shows. */
export function signInMethodsOf(authMethods: readonly AuthMethod[] | undefined): SignInMethod[] {
  return (authMethods ?? []).map((authMethod) => ({
    id: authMethod.id,
    name: authMethod.name,
    description: authMethod.description ?? "",
    isTerminal: "type" in authMethod,
  }));
}
