/**
 * Converts a draft to ACP content blocks.
 *
 * The blocks are the text, images, mentions, and the editor context (file, selection, problems) that the
 * user left enabled.
 */
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import type { ContentBlock } from "@agentclientprotocol/sdk";
import type { Mention } from "../shared/events.js";
import { linesOf } from "../shared/diff.js";
import type { Draft } from "../shared/intents.js";
import type { EditorSnapshot, Problem } from "./ports.js";

/** Reads what mentions refer to. */
export interface MentionReader {
  /** Return a file's text including unsaved changes; null if it does not exist. */
  readText(path: string): Promise<string | null>;
  /** Return the entries of the Problems panel of all files. */
  allProblems(): readonly FileProblem[];
  /** Return the end of the last output in a terminal; empty if there is none. */
  terminalOutput(): string;
}

export interface FileProblem extends Problem {
  readonly path: string;
}

/** Return the content blocks of a draft, its text first. */
export async function promptBlocks(draft: Draft, snapshot: EditorSnapshot, reader: MentionReader): Promise<ContentBlock[]> {
  const blocks: ContentBlock[] = [];
  if (draft.text.trim() !== "") blocks.push({ type: "text", text: draft.text });
  for (const { data, mimeType } of draft.images) blocks.push({ type: "image", data, mimeType });
  const hasSelection = draft.withSelection && snapshot.selectedText !== "";
  const hasFile = draft.withFile && !hasSelection && snapshot.file !== "";
  const attached: Mention[] = hasFile ? [{ kind: "file", path: snapshot.file, firstLine: 0, lastLine: 0 }] : [];
  const unique = new Map([...draft.mentions, ...attached].map((mention) => [JSON.stringify(mention), mention]));
  for (const mention of unique.values()) blocks.push(await mentionBlock(mention, reader));
  if (hasSelection) blocks.push(selectionBlock(snapshot));
  if (draft.withProblems && snapshot.problems.length > 0) blocks.push(problemsBlock(snapshot));
  return blocks;
}

async function mentionBlock(mention: Mention, reader: MentionReader): Promise<ContentBlock> {
  const { kind, path, firstLine } = mention;
  switch (kind) {
    case "problems":
      return textBlock("vscode:problems", reader.allProblems().map(formatFileProblem).join("\n") || "There are no problems.");
    case "terminal":
      return textBlock("vscode:terminal", reader.terminalOutput() || "There is no output of a command in a terminal.");
    default:
      return firstLine === 0 ? linkBlock(path, kind === "folder") : linesBlock(mention, await reader.readText(path));
  }
}

function linkBlock(path: string, isFolder: boolean): ContentBlock {
  const uri = pathToFileURL(path).href;
  return { type: "resource_link", uri: isFolder && !uri.endsWith("/") ? `${uri}/` : uri, name: basename(path) };
}

/** Return the mentioned lines as text; a link if the file cannot be read. */
function linesBlock({ path, firstLine, lastLine }: Mention, text: string | null): ContentBlock {
  if (text === null) return linkBlock(path, false);
  const lines = linesOf(text).slice(firstLine - 1, lastLine);
  return textBlock(`${pathToFileURL(path).href}#L${String(firstLine)}-${String(lastLine)}`, lines.join(""));
}

function textBlock(uri: string, text: string): ContentBlock {
  return { type: "resource", resource: { uri, text, mimeType: "text/plain" } };
}

function selectionBlock(snapshot: EditorSnapshot): ContentBlock {
  const lines = `L${String(snapshot.firstLine)}-${String(snapshot.lastLine)}`;
  return textBlock(`${pathToFileURL(snapshot.file).href}#${lines}`, snapshot.selectedText);
}

function problemsBlock(snapshot: EditorSnapshot): ContentBlock {
  return textBlock(`${pathToFileURL(snapshot.file).href}#problems`, snapshot.problems.map(formatProblem).join("\n"));
}

function formatFileProblem(problem: FileProblem): string {
  return `${problem.path}:${formatProblem(problem)}`;
}

function formatProblem(problem: Problem): string {
  const source = [problem.source, problem.code].filter((part) => part !== "").join(" ");
  const from = source === "" ? "" : ` (${source})`;
  return `${String(problem.line)}: ${problem.severity}: ${problem.message}${from}`;
}
