/**
 * What the user wants, done.
 *
 * Owns the table from intents to the parts of the host. Holds nothing itself.
 */
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { methods } from "@agentclientprotocol/sdk";
import type { Draft, Intent } from "../shared/intents.js";
import type { Manner } from "../shared/events.js";
import type { Controller } from "./controller.js";
import { blocksOf } from "./prompts.js";
import type { Session } from "./session.js";

const MOST_FOUND = 30;
const WEB = /^https?:\/\//;

type Deeds = { readonly [T in Intent["type"]]: (intent: Extract<Intent, { type: T }>, host: Controller) => unknown };

const DEEDS: Deeds = {
  ready: (_, host) => {
    host.start();
  },
  send: ({ draft, manner }, host) => send(host, draft, manner),
  stop: (_, host) => host.sessions.shown?.stop(),
  unqueue: ({ id }, host) => host.sessions.shown?.unqueue(id),
  newSession: (_, host) => host.sessions.create(),
  openSession: ({ id }, host) => host.sessions.show(id),
  forkSession: ({ id }, host) => host.sessions.fork(id),
  renameSession: ({ id, title }, host) => {
    host.sessions.rename(id, title);
  },
  deleteSession: ({ id }, host) => deleteSession(host, id),
  listSessions: (_, host) => host.sessions.refresh(),
  permit: ({ questionId, optionId }, host) => {
    host.questions.permit(questionId, optionId);
  },
  fillIn: ({ questionId, content }, host) => {
    host.questions.fillIn(questionId, content);
  },
  decline: ({ questionId }, host) => {
    host.questions.decline(questionId);
  },
  openUrl: ({ questionId }, host) => openUrl(host, questionId),
  setMode: ({ modeId }, host) => setMode(host, modeId),
  setOption: ({ optionId, value }, host) => setOption(host, optionId, value),
  openFile: ({ path, line }, host) => host.desk.openFile(path, line, true),
  openLink: ({ href }, host) => openLink(host, href),
  openDiff: ({ callId, path }, host) => openDiff(host, callId, path),
  openChange: ({ path }, host) => host.reviewing.open(host.hub.shown, path),
  keep: ({ path, hunkId }, host) => host.reviewing.keep(host.hub.shown, path, hunkId),
  revert: ({ path, hunkId }, host) => host.reviewing.revert(host.hub.shown, path, hunkId),
  keepAll: (_, host) => host.reviewing.keepAll(host.hub.shown),
  revertAll: (_, host) => host.reviewing.revertAll(host.hub.shown),
  showTerminal: ({ id }, host) => {
    host.terminals.show(id);
  },
  stopTerminal: ({ id }, host) => {
    host.terminals.stop(id);
  },
  findFiles: ({ query }, host) => findFiles(host, query),
  signIn: ({ wayId }, host) => host.signIn(wayId),
  refreshContext: (_, host) => host.refreshContext(),
  follow: ({ isOn }, host) => {
    host.setFollow(isOn);
  },
  manageTrust: (_, host) => {
    host.desk.manageTrust();
  },
  openFolder: (_, host) => {
    host.desk.openFolder();
  },
  restart: (_, host) => {
    host.restart();
  },
  showLog: (_, host) => {
    host.desk.showLog();
  },
  openSettings: (_, host) => {
    host.desk.openSettings();
  },
};

/** Do what the user wants. */
export async function carryOut(intent: Intent, host: Controller): Promise<void> {
  const deed = DEEDS[intent.type] as (intent: Intent, host: Controller) => unknown;
  await deed(intent, host);
}

function shownOf(host: Controller): Session {
  const session = host.sessions.shown;
  if (session === undefined) throw new Error("There is no session to talk to.");
  return session;
}

async function send(host: Controller, draft: Draft, manner: Manner): Promise<void> {
  const session = host.sessions.shown;
  if (session === undefined) {
    // The server ended while this was on its way: the text goes back to where it was written.
    host.hub.record(host.hub.shown, { type: "restore", text: draft.text, number: Date.now() });
    return;
  }
  const glance = host.desk.glance();
  host.presence.lookNow(session.id, glance);
  await session.send(blocksOf(draft, glance), manner);
}

async function deleteSession(host: Controller, id: string): Promise<void> {
  if (!(await host.desk.confirm("Delete this session for good?", "Delete"))) return;
  await host.sessions.delete(id);
  host.endings.forget(id);
  await host.reviewing.forget(id);
}

async function openUrl(host: Controller, questionId: string): Promise<void> {
  const url = host.questions.consent(questionId);
  if (WEB.test(url)) await host.desk.openExternal(url);
}

async function setMode(host: Controller, modeId: string): Promise<void> {
  const { id: sessionId } = shownOf(host);
  const { agent } = host;
  await agent.request(methods.agent.session.setMode, { sessionId, modeId });
  const update = { sessionUpdate: "current_mode_update", currentModeId: modeId } as const;
  host.hub.record(sessionId, { type: "update", update });
}

async function setOption(host: Controller, configId: string, value: string | boolean): Promise<void> {
  const { id: sessionId } = shownOf(host);
  const wanted = typeof value === "boolean" ? ({ type: "boolean", value } as const) : { value };
  const answer = await host.agent.request(methods.agent.session.setConfigOption, {
    sessionId,
    configId,
    ...wanted,
  });
  const { configOptions } = answer;
  const update = { sessionUpdate: "config_option_update", configOptions } as const;
  host.hub.record(sessionId, { type: "update", update });
}

/** Follow a link of the agent's: to the web in a browser, to a file in the editor, nowhere else. */
async function openLink(host: Controller, href: string): Promise<void> {
  if (WEB.test(href)) return host.desk.openExternal(href);
  const { path, line } = placeOf(href, host.desk.folders[0] ?? "");
  if (path !== "") await host.desk.openFile(path, line, true);
}

/** Return the file that a link names, and its line: `src/a.py#L10`, `src/a.py:10`, `file:///...`. */
export function placeOf(href: string, folder: string): { path: string; line: number } {
  const address = href.replace(/#.*$/, "");
  const numbered = /^(.*?):(\d+)(?::\d+)?$/.exec(address);
  const fragment = /#L(\d+)/.exec(href);
  const line = Number(fragment?.[1] ?? numbered?.[2] ?? 1);
  return { path: fileOf(numbered?.[1] ?? address, folder), line };
}

/** Return the absolute path that an address names; empty for what is no file. */
function fileOf(address: string, folder: string): string {
  if (address.startsWith("file:")) return fileURLToPath(address);
  if (/^[a-z][a-z0-9+.-]+:/i.test(address) || address === "") return "";
  const path = unescaped(address);
  return isAbsolute(path) ? path : join(folder, path);
}

/** A path may hold a percent sign of its own. */
function unescaped(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

async function openDiff(host: Controller, callId: string, path: string): Promise<void> {
  const events = host.hub.eventsOf(host.hub.shown);
  for (const event of [...events].reverse()) {
    const call = event.type === "permission" ? event.call : event.type === "update" ? event.update : null;
    if (call === null || !("toolCallId" in call) || call.toolCallId !== callId) continue;
    const diff = call.content?.find((part) => part.type === "diff" && part.path === path);
    if (diff?.type === "diff") return host.desk.openDiff(path, diff.oldText ?? "", diff.newText);
  }
}

async function findFiles(host: Controller, query: string): Promise<void> {
  const found = await host.desk.findFiles(query, MOST_FOUND);
  const paths = found.map((path) => ({ path, label: host.label(path) }));
  host.hub.tell({ type: "files", query, paths });
}
