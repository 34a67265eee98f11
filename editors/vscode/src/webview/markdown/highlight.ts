/**
 * Syntax highlighting.
 *
 * Creates DOM nodes instead of HTML, so that the agent's text is never parsed as HTML.
 */
import type { ElementContent, Root } from "hast";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import makefile from "highlight.js/lib/languages/makefile";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import scss from "highlight.js/lib/languages/scss";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";

/** Longer code is shown without highlighting. */
const MAX_CHARACTERS = 60_000;

const lowlight = createLowlight({
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  dockerfile,
  go,
  ini,
  java,
  javascript,
  json,
  kotlin,
  makefile,
  markdown,
  php,
  python,
  ruby,
  rust,
  scss,
  sql,
  swift,
  typescript,
  xml,
  yaml,
});
lowlight.registerAlias({ bash: ["sh", "shell", "zsh", "console"], ini: ["toml"], python: ["py3"] });

/** Return code as DOM nodes, highlighted if the language is known. */
export function highlightCode(code: string, language: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  if (code.length > MAX_CHARACTERS || !lowlight.registered(language)) fragment.append(code);
  else appendNodes(fragment, lowlight.highlight(language, code).children);
  return fragment;
}

function appendNodes(parent: Node, children: Root["children"] | ElementContent[]): void {
  for (const child of children) {
    if (child.type === "text") parent.appendChild(document.createTextNode(child.value));
    if (child.type !== "element") continue;
    const span = document.createElement("span");
    const { className } = child.properties;
    if (Array.isArray(className)) span.className = className.join(" ");
    appendNodes(span, child.children);
    parent.appendChild(span);
  }
}

/** Return the language of a file name; empty if unknown. */
export function languageOf(path: string): string {
  const extension = /\.([^./\\]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  return lowlight.registered(extension) ? extension : "";
}
