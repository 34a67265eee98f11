/** Opens links from the agent's text: web pages in the browser, files in the editor. Loaded with the first click. */
import nodePath, { type PlatformPath } from "node:path";
import { fileURLToPath } from "node:url";
import { OWN_AGENT } from "./agentIds.js";
import type { IntentHost } from "./intentHandlers.js";

const WEB_URL = /^https?:\/\//;
/** The line of a file that an agent complains about: `/a/b.yaml:4`, `/a/b.yaml, line 4`, `/a/b.yaml: not YAML at line 4`. */
const PLACE_OF_FAULT = /((?:\/|[A-Za-z]:[\\/])[^\s:"'`]+\.\w+)["'`]?(?::|[^\n/\\]*?\bline )(\d+)/g;
/** What opens the settings. */
interface SettingsHost {
  readonly editorWindow: Pick<IntentHost["editorWindow"], "openFile" | "openSettings">;
  readonly mentionReader: Pick<IntentHost["mentionReader"], "readText">;
  readonly viewPublisher: Pick<IntentHost["viewPublisher"], "shownAgentId">;
}
/** A complaint about the command line. */
const ARGUMENT_FAULT = /\b(?:usage|no such (?:option|command)|(?:unknown|unrecognized|unexpected) (?:option|argument|command))/i;

/**
 * Open a link from the agent: web pages in the browser, files in the editor.
 *
 * Other schemes are ignored: `command:` and `vscode:` links could trigger actions in the editor.
 */
export async function openLink(host: IntentHost, href: string): Promise<void> {
  if (WEB_URL.test(href)) return host.editorWindow.openExternal(href);
  const { path, line } = parseFileLink(href, host.editorWindow.folders[0] ?? "");
  if (path === "") return;
  await host.editorWindow.openFile(await existingPath(path, href, host), line, true);
}

/**
 * Open what most likely keeps the agent from starting, as its reason says: the line of a file, or a setting.
 *
 * The words are those of any agent: without a place that exists, the settings of the agent are shown.
 */
export async function openSettings({ editorWindow, mentionReader, viewPublisher }: SettingsHost, reason: string): Promise<void> {
  for (const [, path = "", line = ""] of reason.matchAll(PLACE_OF_FAULT)) {
    if ((await mentionReader.readText(path)) !== null) return editorWindow.openFile(path, Number(line), true);
  }
  // The other settings are of the own server.
  const faulty = ARGUMENT_FAULT.test(reason) ? "arguments" : "";
  const own = reason === "" ? "command" : faulty;
  editorWindow.openSettings(viewPublisher.shownAgentId === OWN_AGENT ? own : "agents");
}

/** Return a linked path, or the workspace's file that it most likely means if it does not exist. */
async function existingPath(path: string, href: string, host: IntentHost): Promise<string> {
  if ((await host.mentionReader.readText(path)) !== null) return path;
  const name = href.replace(/[:#].*$/, "");
  const suffix = `/${name.replaceAll("\\", "/").replace(/^(?:\.\.?\/)+/, "")}`;
  const files = await host.editorWindow.listFiles();
  return files.find((each) => each.replaceAll("\\", "/").endsWith(suffix)) ?? path;
}

/** Parse a file link with an optional line: `src/a.py#L10`, `src/a.py:10`, `file:///...`. */
export function parseFileLink(
  href: string,
  workspaceDirectory: string,
  platformPath: PlatformPath = nodePath,
): { path: string; line: number } {
  const address = href.replace(/#.*$/, "");
  const lineSuffix = /^(.*?):(\d+)(?::\d+)?$/.exec(address);
  const fragment = /#L(\d+)/.exec(href);
  const line = Number(fragment?.[1] ?? lineSuffix?.[2] ?? 1);
  return { path: resolveAddress(lineSuffix?.[1] ?? address, workspaceDirectory, platformPath), line };
}

/** Return the absolute path of an address; empty if it is not a file. */
function resolveAddress(address: string, workspaceDirectory: string, platformPath: PlatformPath): string {
  if (address.startsWith("file:")) return fileURLToPath(address, { windows: platformPath.sep === "\\" });
  if (/^[a-z][a-z0-9+.-]+:/i.test(address) || address === "") return "";
  const path = decodePath(address);
  return platformPath.isAbsolute(path) ? path : platformPath.join(workspaceDirectory, path);
}

/** Percent-decode a path; a path with a literal percent sign is returned unchanged. */
function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
