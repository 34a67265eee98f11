/**
 * What the user wrote, as the agent gets it.
 *
 * Owns which content blocks a draft becomes: its text, pictures, mentioned files, and what of the
 * editor the user left switched on.
 */
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import type { ContentBlock } from "@agentclientprotocol/sdk";
import type { Draft } from "../shared/intents.js";
import type { Glance, Problem } from "./ports.js";

/** Return the blocks of a draft, its text first. */
export function blocksOf(draft: Draft, glance: Glance): ContentBlock[] {
  const blocks: ContentBlock[] = [];
  if (draft.text.trim() !== "") blocks.push({ type: "text", text: draft.text });
  for (const { data, mimeType } of draft.images) blocks.push({ type: "image", data, mimeType });
  const hasSelection = draft.withSelection && glance.selectedText !== "";
  const links = draft.withFile && !hasSelection && glance.file !== "" ? [glance.file] : [];
  for (const path of new Set([...draft.files, ...links])) blocks.push(linkTo(path));
  if (hasSelection) blocks.push(selectionOf(glance));
  if (draft.withProblems && glance.problems.length > 0) blocks.push(problemsOf(glance));
  return blocks;
}

function linkTo(path: string): ContentBlock {
  return { type: "resource_link", uri: pathToFileURL(path).href, name: basename(path) };
}

function selectionOf(glance: Glance): ContentBlock {
  const lines = `L${String(glance.firstLine)}-${String(glance.lastLine)}`;
  const uri = `${pathToFileURL(glance.file).href}#${lines}`;
  return { type: "resource", resource: { uri, text: glance.selectedText, mimeType: "text/plain" } };
}

function problemsOf(glance: Glance): ContentBlock {
  const uri = `${pathToFileURL(glance.file).href}#problems`;
  const text = glance.problems.map(lineOf).join("\n");
  return { type: "resource", resource: { uri, text, mimeType: "text/plain" } };
}

function lineOf(problem: Problem): string {
  const source = [problem.source, problem.code].filter((part) => part !== "").join(" ");
  const from = source === "" ? "" : ` (${source})`;
  return `${String(problem.line)}: ${problem.severity}: ${problem.message}${from}`;
}
