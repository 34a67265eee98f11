/**
 * Handlers for the intents that the view posts.
 *
 * A stateless table from intent types to operations of the host.
 */
import { fileURLToPath } from "node:url";
import { methods, type ClientContext } from "@agentclientprotocol/sdk";
import type { Draft, Intent } from "../shared/intents.js";
import type { BusyMode } from "../shared/events.js";
import type { EditorReporter } from "./editorReporter.js";
import type { EditorWindow } from "./ports.js";
import type { MentionSearch } from "./mentionSearch.js";
import { promptBlocks, type MentionReader } from "./promptBlocks.js";
import type { Questions } from "./questions.js";
import type { ReviewLoader } from "./reviewLoader.js";
import type { ReviewService } from "./reviewService.js";
import type { ServerSetup } from "./serverSetup.js";
import type { Session } from "./session.js";
import type { SessionManager } from "./sessionManager.js";
import type { TerminalManager } from "./terminalManager.js";
import type { AnswerStore } from "./answerStore.js";
import type { TurnEndStore } from "./turnEndStore.js";
import type { ViewPublisher } from "./viewPublisher.js";
import { pathInside } from "./workspacePaths.js";
import { t } from "../shared/l10n.js";

const WEB_URL = /^https?:\/\//;

/** The parts of the host that intents operate on. Implemented by `Controller`. */
export interface IntentHost {
  agentOf(sessionId: string): ClientContext;
  readonly editorReporter: EditorReporter;
  readonly editorWindow: EditorWindow;
  readonly questions: Questions;
  readonly reviews: ReviewLoader;
  readonly sessions: SessionManager;
  readonly terminals: TerminalManager;
  readonly turnEnds: TurnEndStore;
  readonly answers: AnswerStore;
  readonly viewPublisher: ViewPublisher;
  readonly mentionSearch: MentionSearch;
  readonly mentionReader: MentionReader;
  chooseAgent(): Promise<void>;
  restart(): void;
  labelOf(path: string): string;
  refreshContext(): Promise<void>;
  setFollow(isOn: boolean): void;
  signIn(methodId: string): Promise<void>;
  readonly serverSetup: ServerSetup;
  loadScript(name: string): Promise<void>;
  /** Mention files in the draft. */
  attach(paths: readonly string[]): void;
}

type IntentHandlers = { readonly [T in Intent["type"]]: (intent: Extract<Intent, { type: T }>, host: IntentHost) => unknown };

const HANDLERS: IntentHandlers = {
  // The controller has filled the view.
  ready: () => undefined,
  send: ({ draft, busyMode }, host) => send(host, draft, busyMode),
  stop: (_, host) => host.sessions.shown?.stop(),
  unqueue: ({ id }, host) => host.sessions.shown?.unqueue(id),
  restore: async (intent, host) => (await import("./rewind.js")).restore(intent, host),
  copyText: ({ text }, host) => host.editorWindow.copy(text),
  newSession: (_, host) => newSession(host),
  switchAgent: (_, host) => host.chooseAgent(),
  openSession: ({ id }, host) => host.sessions.show(id),
  forkSession: ({ id }, host) => host.sessions.fork(id),
  renameSession: ({ id, title }, host) => {
    host.sessions.rename(id, title);
  },
  deleteSession: ({ id }, host) => deleteSession(host, id),
  archiveSession: ({ id, isArchived }, host) => {
    host.sessions.archive(id, isArchived);
  },
  openInTab: ({ id }, host) => {
    host.editorWindow.openChatTab(id);
  },
  listSessions: (_, host) => host.sessions.refresh(),
  permit: async (intent, host) => {
    const proposals = host.reviews.loaded?.proposals;
    const isPartly = proposals?.hasRejectedParts(intent.questionId) === true && host.questions.isAllowing(intent.questionId, intent.optionId);
    await (isPartly ? proposals.accept(intent.questionId, intent.optionId) : permit(intent, host));
  },
  fillIn: ({ questionId, content }, host) => {
    host.questions.submitForm(questionId, content);
  },
  decline: ({ questionId }, host) => {
    host.questions.decline(questionId);
  },
  openUrl: ({ questionId }, host) => openUrl(host, questionId),
  setMode: ({ modeId }, host) => setMode(host, modeId),
  setOption: ({ optionId, value }, host) => setOption(host, optionId, value),
  openFile: ({ path, line }, host) => host.editorWindow.openFile(path, line, true),
  openLink: async ({ href }, host) => (await import("./links.js")).openLink(host, href),
  openDiff: ({ callId, path }, host) => review(host, ({ proposals }, shown) => proposals.openDiff(shown, callId, path)),
  openChange: ({ path }, host) => review(host, (reviews) => reviews.openChange(path)),
  keep: ({ path, hunkId }, host) => review(host, (reviews, shown) => reviews.keep(shown, path, hunkId)),
  revert: ({ path, hunkId }, host) => review(host, (reviews, shown) => reviews.revert(shown, path, hunkId)),
  keepAll: (_, host) => review(host, (reviews, shown) => reviews.keepAll(shown)),
  revertAll: (_, host) => review(host, (reviews, shown) => reviews.revertAll(shown)),
  showTerminal: ({ id }, host) => {
    host.terminals.show(id);
  },
  stopTerminal: ({ id }, host) => {
    host.terminals.stop(id);
  },
  findMentions: ({ query }, host) => findMentions(host, query),
  attachFiles: async (_, host) => {
    host.attach(await host.editorWindow.chooseFiles());
  },
  attachUris: ({ uris }, host) => {
    host.attach(uris.map(pathOfUri).filter((path) => path !== ""));
  },
  loadScript: ({ name }, host) => host.loadScript(name),
  installServer: (_, host) => host.serverSetup.installServer(),
  tryDemo: (_, host) => host.serverSetup.tryDemo(),
  enterKey: (_, host) => host.serverSetup.enterKey(),
  signIn: ({ methodId }, host) => host.signIn(methodId),
  refreshContext: (_, host) => host.refreshContext(),
  follow: ({ isOn }, host) => {
    host.setFollow(isOn);
  },
  manageTrust: (_, host) => {
    host.editorWindow.manageTrust();
  },
  openFolder: (_, host) => {
    host.editorWindow.openFolder();
  },
  restart: (_, host) => {
    host.restart();
  },
  showLog: (_, host) => {
    host.editorWindow.showLog();
  },
  openSettings: async ({ reason }, host) => (await import("./links.js")).openSettings(host, reason),
};

/** Carry out a user's intent. */
export async function handleIntent(intent: Intent, host: IntentHost): Promise<void> {
  const handler = HANDLERS[intent.type] as (intent: Intent, host: IntentHost) => unknown;
  await handler(intent, host);
}

/** Do something to the changes of the shown session. */
async function review(host: IntentHost, action: (reviews: ReviewService, shown: string) => Promise<void>): Promise<void> {
  await action(await host.reviews.load(), host.viewPublisher.shownSessionId);
}

function requireShownSession(host: IntentHost): Session {
  const session = host.sessions.shown;
  if (session === undefined) throw new Error(t("No session is open."));
  return session;
}

/** Create a session in the workspace folder of the active file, or of the shown session. */
async function newSession(host: IntentHost): Promise<void> {
  const { file } = host.editorWindow.snapshot();
  const folder = host.editorWindow.folders.find((each) => file !== "" && pathInside(each, file) !== null);
  await host.sessions.createOf(host.viewPublisher.agentOfNewSessions(), folder ?? host.sessions.shown?.cwd);
}

async function send(host: IntentHost, draft: Draft, busyMode: BusyMode): Promise<void> {
  const session = host.sessions.shown;
  if (session === undefined) {
    // The server stopped while this intent was in flight: return the text to the input.
    host.viewPublisher.record(host.viewPublisher.shownSessionId, { type: "restore", text: draft.text, number: Date.now() });
    return;
  }
  const snapshot = host.editorWindow.snapshot();
  host.editorReporter.sendActiveFileNow(session.id, snapshot);
  await session.send(await promptBlocks(draft, snapshot, host.mentionReader), busyMode);
}

/** Answer a permission request. A reason reaches the running turn first, so that the agent has it with the answer. */
export async function permit(
  { questionId, optionId, reason }: Omit<Extract<Intent, { type: "permit" }>, "type">,
  host: Pick<IntentHost, "questions" | "sessions">,
): Promise<void> {
  if (reason !== "") {
    const session = host.sessions.find(host.questions.sessionIdOf(questionId));
    await session?.send([{ type: "text", text: reason }], "steer");
  }
  host.questions.answerPermission(questionId, optionId);
}

async function deleteSession(host: IntentHost, id: string): Promise<void> {
  if (!(await host.editorWindow.confirm(t("Delete this session permanently?"), t("Delete")))) return;
  await host.sessions.delete(id);
  host.turnEnds.forget(id);
  host.answers.forget(id);
  await (await host.reviews.load()).forget(id);
}

async function openUrl(host: IntentHost, questionId: string): Promise<void> {
  const url = host.questions.acceptUrl(questionId);
  if (WEB_URL.test(url)) await host.editorWindow.openExternal(url);
}

async function setMode(host: IntentHost, modeId: string): Promise<void> {
  const { id: sessionId } = requireShownSession(host);
  await host.agentOf(sessionId).request(methods.agent.session.setMode, { sessionId, modeId });
  const update = { sessionUpdate: "current_mode_update", currentModeId: modeId } as const;
  host.viewPublisher.record(sessionId, { type: "update", update });
}

async function setOption(host: IntentHost, configId: string, value: string | boolean): Promise<void> {
  const { id: sessionId } = requireShownSession(host);
  const newValue = typeof value === "boolean" ? ({ type: "boolean", value } as const) : { value };
  const answer = await host.agentOf(sessionId).request(methods.agent.session.setConfigOption, {
    sessionId,
    configId,
    ...newValue,
  });
  const { configOptions } = answer;
  const update = { sessionUpdate: "config_option_update", configOptions } as const;
  host.viewPublisher.record(sessionId, { type: "update", update });
}

/** Return the path of a file URI from a drop; empty if it is not a file. */
function pathOfUri(uri: string): string {
  try {
    const { protocol, pathname } = new URL(uri);
    return protocol === "file:" || protocol === "vscode-remote:" ? fileURLToPath(`file://${pathname}`) : "";
  } catch {
    return "";
  }
}

async function findMentions(host: IntentHost, query: string): Promise<void> {
  const choices = await host.mentionSearch.find(query);
  // A slow answer to an earlier query must not replace a later one.
  if (query === host.mentionSearch.lastQuery) host.viewPublisher.publish({ type: "mentions", query, choices });
}
