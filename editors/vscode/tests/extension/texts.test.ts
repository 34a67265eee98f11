/** Every text that users see can be translated: those of the sources and those of the manifest. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { test } from "node:test";
import { t, useTranslations } from "../../src/shared/l10n.js";

interface Source {
  readonly name: string;
  readonly tree: unknown;
}
interface Stray {
  readonly line: number;
  readonly text: string;
}
interface Texts {
  readonly BUNDLE: string;
  readonly sources: () => Source[];
  readonly bundleOf: (sources: readonly Source[]) => string;
  readonly strayTextsIn: (tree: unknown) => Stray[];
}

const { BUNDLE, sources, bundleOf, strayTextsIn } = (await import(pathToFileURL(join(process.cwd(), "scripts", "texts.mjs")).href)) as Texts;

/** Names, the same in every language. */
const NAMES = [
  ...["Hermes Agent", "Hermes Agent:", "$(hubot) Hermes Agent", "Hermes", "VS Code", "{} Trace"],
  ...["Claude Agent", "Claude Code", "Codex", "Gemini CLI", "Goose", "Kimi CLI", "GitHub Copilot CLI", "Anthropic", "Google Gemini"],
];
/** Texts that a model or an agent reads, not the user. */
const FOR_MODELS: Readonly<Record<string, RegExp>> = {
  "extension/actions.ts": /^(?:Fix the problems here|Explain|- line|Change the mentioned|It failed with|The test|Write a commit message for)/,
  "extension/participant.ts": /^The tool needs a question/,
  "host/clientHandlers.ts": /^This session may only answer/,
  "host/fileService.ts": /^\{\} (?:could not be saved|is not absolute)|^the editor refused/,
  "host/promptBlocks.ts": /^There (?:are|is) no/,
  "host/proposalService.ts": /^(?:\{\} was changed after|`\{\}`, line|\{\} I rejected these)/,
  "shared/hunks.ts": /^I accept this change/,
  "renderers/diagrams.ts": /^not an SVG$/,
  "renderers/math.ts": /^no formula$/,
};
/** Names by which VS Code's own chat knows ours, and what a model reads of our tool. */
const OF_TOOLS = /^(?:hermes|acpServer_ask|The question, with all that is needed to answer it\.)$/;
/** Keys, code and other languages than English. */
const NO_TEXTS: Readonly<Record<string, RegExp>> = {
  "extension/agentView.ts": /^(?:\/mcp sign-(?:in|out)|mcp|skill|memory|rule|instructions) \{\}$/,
  "extension/mcpServers.ts": /^(?:mcp servers|(?:yes|no) \{\})$/,
  "extension/viewHosts.ts": /^participant \{\}$/,
  "extension/page.ts": /^(?:style-src|img-src|<!DOCTYPE)/,
  "extension/inlineEdits.ts": /^(?:Cmd|Ctrl)$/,
  "host/answerStore.ts": /^(?:form answers|saved \{\} \{\})$/,
  "shared/eventLog.ts": /^(?:call|terminal) \{\}$/,
  "shared/install.ts": /^uv \{\}$/,
  "webview/ansi.ts": /^(?:Bright\{\}|Black|Red|Green|Yellow|Blue|Magenta|Cyan|White)$/,
  "webview/Composer.tsx": /^(?:Escape|Enter|Tab)$/,
  "webview/markdown/sandbox.ts": /^(?:<!DOCTYPE|math mrow|mmultiscripts|display math|accentunder|Renderer$)/,
};

function isAllowed(name: string, text: string): boolean {
  return NAMES.includes(text) || FOR_MODELS[name]?.test(text) === true || NO_TEXTS[name]?.test(text) === true;
}

test("every text that users see is passed to the translation", () => {
  const stray = sources().flatMap(({ name, tree }) =>
    strayTextsIn(tree)
      .filter(({ text }) => !isAllowed(name, text))
      .map(({ line, text }) => `${name}:${String(line)}: ${text}`),
  );
  assert.deepEqual(stray, [], "surround these with t(…), or say in this test who reads them");
});

test("the file for translators has all texts of the sources", async () => {
  assert.equal(await readFile(BUNDLE, "utf8"), bundleOf(sources()), "run `npm run texts`");
});

test("a text is translated with its values, and English without a translation", () => {
  try {
    useTranslations({ "{0} of {1}": "{1} davon {0}" });
    assert.equal(t("{0} of {1}", 2, "{0}"), "{0} davon 2");
    assert.equal(t("Stop"), "Stop");
    assert.equal(t("{0} files", 3), "3 files");
  } finally {
    useTranslations({});
  }
});

test("every text of the manifest is in its file for translators, and nothing else is", async () => {
  const [manifest, texts] = await Promise.all(["package.json", "package.nls.json"].map((name) => readFile(name, "utf8")));
  const used = [...(manifest ?? "").matchAll(/"%([^%"]+)%"/g)].map(([, key]) => key ?? "");
  assert.deepEqual([...new Set(used)].sort(), Object.keys(JSON.parse(texts ?? "") as object).sort());
  const { contributes, capabilities } = JSON.parse(manifest ?? "") as Record<"contributes" | "capabilities", object>;
  const shown = textsFor([contributes, capabilities]).filter((text) => !text.startsWith("%") && !NAMES.includes(text) && !OF_TOOLS.test(text));
  assert.deepEqual(shown, []);
});

/** Return the values of all properties in a manifest that VS Code shows to users. */
function textsFor(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, each]: [string, unknown]) => {
    const isShown = /^(?:title|label|name|altText|(?:markdown)?(?:enum)?descriptions?|contents)$/i.test(name);
    if (isShown && typeof each === "string") return [each];
    return isShown && Array.isArray(each) ? each.map(String) : textsFor(each);
  });
}
