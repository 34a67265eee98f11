/**
 * Converts a draft to ACP content blocks.
 *
 * The blocks are the text, images, mentioned files, and the editor context (file, selection, problems)
 * that the user left enabled.
 */
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import type { ContentBlock } from "@agentclientprotocol/sdk";
import type { Draft } from "../shared/intents.js";
import type { EditorSnapshot, Problem } from "./ports.js";

/** Return the content blocks of a draft, its text first. */
export function promptBlocks(draft: Draft, snapshot: EditorSnapshot): ContentBlock[] {
  const blocks: ContentBlock[] = [];
  if (draft.text.trim() !== "") blocks.push({ type: "text", text: draft.text });
  for (const { data, mimeType } of draft.images) blocks.push({ type: "image", data, mimeType });
  const hasSelection = draft.withSelection && snapshot.selectedText !== "";
  const links = draft.withFile && !hasSelection && snapshot.file !== "" ? [snapshot.file] : [];
  for (const path of new Set([...draft.files, ...links])) blocks.push(linkBlock(path));
  if (hasSelection) blocks.push(selectionBlock(snapshot));
  if (draft.withProblems && snapshot.problems.length > 0) blocks.push(problemsBlock(snapshot));
  return blocks;
}

function linkBlock(path: string): ContentBlock {
  return { type: "resource_link", uri: pathToFileURL(path).href, name: basename(path) };
}

function selectionBlock(snapshot: EditorSnapshot): ContentBlock {
  const lines = `L${String(snapshot.firstLine)}-${String(snapshot.lastLine)}`;
  const uri = `${pathToFileURL(snapshot.file).href}#${lines}`;
  return { type: "resource", resource: { uri, text: snapshot.selectedText, mimeType: "text/plain" } };
}

function problemsBlock(snapshot: EditorSnapshot): ContentBlock {
  const uri = `${pathToFileURL(snapshot.file).href}#problems`;
  const text = snapshot.problems.map(formatProblem).join("\n");
  return { type: "resource", resource: { uri, text, mimeType: "text/plain" } };
}

function formatProblem(problem: Problem): string {
  const source = [problem.source, problem.code].filter((part) => part !== "").join(" ");
  const from = source === "" ? "" : ` (${source})`;
  return `${String(problem.line)}: ${problem.severity}: ${problem.message}${from}`;
}
