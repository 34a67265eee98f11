/**
 * Code in colours.
 *
 * Owns which languages are known. Makes nodes, never HTML: nothing of what an agent says is parsed
 * as a page.
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

/** Longer code is shown without colours. */
const MOST_CHARACTERS = 60_000;

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

/** Return code as nodes, coloured where its language is known. */
export function highlighted(code: string, language: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  if (code.length > MOST_CHARACTERS || !lowlight.registered(language)) fragment.append(code);
  else appendAll(fragment, lowlight.highlight(language, code).children);
  return fragment;
}

function appendAll(parent: Node, children: Root["children"] | ElementContent[]): void {
  for (const child of children) {
    if (child.type === "text") parent.appendChild(document.createTextNode(child.value));
    if (child.type !== "element") continue;
    const span = document.createElement("span");
    const { className } = child.properties;
    if (Array.isArray(className)) span.className = className.join(" ");
    appendAll(span, child.children);
    parent.appendChild(span);
  }
}

/** Return the language that a file's name stands for; empty where it is not known. */
export function languageOf(path: string): string {
  const ending = /\.([^./\\]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  return lowlight.registered(ending) ? ending : "";
}
