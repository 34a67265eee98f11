/**
 * Entry of the bundle that is loaded with the first request of VS Code's own chat: the participant `@hermes`, and the
 * tool with which other agents ask ours.
 *
 * A request goes to the session that our chat shows, and the answer is streamed back. Questions are answered in our
 * chat, which shows what they are about.
 */
import {
  Location,
  LanguageModelTextPart,
  LanguageModelToolResult,
  Uri,
  type CancellationToken,
  type ChatPromptReference,
  type ChatRequest,
  type ChatResponseStream,
  type ChatResult,
  type LanguageModelToolInvocationOptions,
} from "vscode";
import { messageOf } from "../host/errors.js";
import type { Mention, ViewEvent } from "../shared/events.js";
import { textOf } from "../shared/sessionUpdates.js";
import { t } from "../shared/l10n.js";

/** How long the end of a turn may arrive after the answer to its prompt: events are sent in batches. */
const END_MILLISECONDS = 500;

/** What VS Code's own chat needs of the host. */
export interface ChatHost {
  /** Start the agent if need be; return whether it is ready. */
  start(): Promise<boolean>;
  /** Whether the shown session is busy. */
  isRunning(): boolean;
  /** Receive the events of the shown session from now on, until the returned function is called. */
  follow(listener: (event: ViewEvent) => void): () => void;
  /** Send a prompt to the shown session, and wait for the end of its turn. */
  send(text: string, mentions: readonly Mention[]): Promise<void>;
  stop(): Promise<void>;
  /** Return the agent's answer to a prompt that no view shows; it may only read. */
  askInBackground(text: string): Promise<string>;
}

/** Answer a request to `@hermes`. */
export async function answerRequest(host: ChatHost, request: ChatRequest, response: ChatResponseStream, token: CancellationToken): Promise<ChatResult> {
  if (!(await host.start())) {
    response.markdown(t("The agent has not started. The chat shows why."));
    response.button({ command: "acpServer.focus", title: t("Show Chat") });
    return {};
  }
  if (host.isRunning()) {
    response.markdown(t("The agent is working on another prompt. Wait for its end, or stop it."));
    response.button({ command: "acpServer.focus", title: t("Show Chat") });
    return {};
  }
  let end: (error: string) => void = () => undefined;
  const ended = new Promise<string>((resolve) => (end = resolve));
  const unfollow = host.follow((event) => {
    if (event.type === "ended") end(event.error);
    else show(event, response);
  });
  const cancellation = token.onCancellationRequested(() => {
    void host.stop();
  });
  try {
    await host.send(request.prompt, request.references.flatMap(mentionOf));
    const timeout = new Promise<string>((resolve) => setTimeout(resolve, END_MILLISECONDS, ""));
    const error = await Promise.race([ended, timeout]);
    return error === "" ? {} : { errorDetails: { message: error } };
  } catch (error) {
    return { errorDetails: { message: messageOf(error) } };
  } finally {
    cancellation.dispose();
    unfollow();
  }
}

/** Answer a call of our tool by another agent. */
export async function askTool(host: ChatHost, { input }: LanguageModelToolInvocationOptions<{ question?: unknown }>): Promise<LanguageModelToolResult> {
  const { question } = input;
  if (typeof question !== "string" || question === "") throw new Error("The tool needs a question.");
  return new LanguageModelToolResult([new LanguageModelTextPart(await host.askInBackground(question))]);
}

/** Show an event of the session in VS Code's chat. */
function show(event: ViewEvent, response: ChatResponseStream): void {
  if (event.type === "permission") ask(event.call.title ?? t("Run a tool"), response);
  if (event.type === "elicitation") ask(event.message, response);
  if (event.type !== "update") return;
  const { update } = event;
  if (update.sessionUpdate === "agent_message_chunk") response.markdown(textOf(update.content));
  if (update.sessionUpdate === "tool_call") response.progress(update.title);
  if (update.sessionUpdate !== "tool_call" && update.sessionUpdate !== "tool_call_update") return;
  for (const { path } of update.locations ?? []) response.reference(Uri.file(path));
}

function ask(question: string, response: ChatResponseStream): void {
  response.markdown(`\n\n**${t("Hermes asks: {0}", question)}**\n\n`);
  response.button({ command: "acpServer.showQuestion", title: t("Answer in the Chat") });
}

/** Return a file or lines of one as a mention; nothing for what is no file. */
function mentionOf({ value }: ChatPromptReference): Mention[] {
  if (value instanceof Uri) return value.scheme === "file" ? [{ kind: "file", path: value.fsPath, firstLine: 0, lastLine: 0 }] : [];
  if (!(value instanceof Location) || value.uri.scheme !== "file") return [];
  const { start, end } = value.range;
  return [{ kind: "file", path: value.uri.fsPath, firstLine: start.line + 1, lastLine: end.line + 1 }];
}
