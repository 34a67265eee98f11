/**
 * Syntax highlighting.
 *
 * Creates DOM nodes instead of HTML, so that the agent's text is never parsed as HTML. The languages are in
 * a script of their own (`highlightEngine`), loaded with the first code; until then code is plain.
 */
import type { ElementContent, Root } from "hast";
import { useEffect, useState } from "preact/hooks";
import type { DiffSegment } from "../diffSegments.js";
import type { DiffLine } from "../parts/DiffView.js";
import { splitAtHyphens, UNBROKEN_CLASS } from "../CommandText.js";

export interface HighlightEngine {
  /** Return the root of the highlighted code; null if the language is unknown. */
  highlight(code: string, language: string): Root | null;
  isKnown(language: string): boolean;
  /** Return the coloured parts of a diff's lines, with their changed words. */
  diffSegments(lines: readonly DiffLine[], language: string): readonly (readonly DiffSegment[])[];
}

/** Dispatched on the document by the engine's script, with the engine as detail. */
export const ENGINE_EVENT = "highlight-engine";
const ENGINE_FILES = { script: "highlight.js", styles: "highlight.css" };
/** Languages of commands. */
const SHELLS: ReadonlySet<string> = new Set(["sh", "bash", "shell", "zsh", "console"]);
/** Longer code is shown without highlighting. */
const MAX_CHARACTERS = 60_000;

interface PendingCode {
  readonly element: HTMLElement;
  readonly code: string;
  readonly language: string;
}

let engine: HighlightEngine | null = null;
let loadEngine: (() => void) | null = null;
let pending: PendingCode[] = [];

document.addEventListener(ENGINE_EVENT, (event) => {
  if (!(event instanceof CustomEvent)) return;
  engine = event.detail as HighlightEngine;
  const waiting = pending;
  pending = [];
  for (const { element, code, language } of waiting) {
    if (!element.isConnected || element.textContent !== code) continue;
    element.replaceChildren();
    highlightInto(element, code, language);
  }
});

/** Load the engine's script and styles from the directory of the view's script, with the same nonce. */
export function highlighterFrom({ src, nonce }: HTMLScriptElement): void {
  if (src === "") return;
  const urlOf = (file: string): string => new URL(file, src).href;
  loadEngine = () => {
    const script = Object.assign(document.createElement("script"), { nonce, src: urlOf(ENGINE_FILES.script) });
    const styles = Object.assign(document.createElement("link"), { rel: "stylesheet", href: urlOf(ENGINE_FILES.styles) });
    document.head.append(styles, script);
  };
}

/** Return the engine, which is loaded if it is needed; null until then. */
export function useHighlightEngine(isNeeded: boolean): HighlightEngine | null {
  const [known, setKnown] = useState(engine);
  useEffect(() => {
    if (!isNeeded || known !== null) return undefined;
    const onLoaded = (): void => {
      setKnown(engine);
    };
    document.addEventListener(ENGINE_EVENT, onLoaded);
    if (engine === null) loadOnce();
    else onLoaded();
    return () => {
      document.removeEventListener(ENGINE_EVENT, onLoaded);
    };
  }, [isNeeded, known]);
  return known;
}

function loadOnce(): void {
  loadEngine?.();
  loadEngine = null;
}

/** Append code to an element, highlighted if its language is known. */
export function highlightInto(element: HTMLElement, code: string, language: string): void {
  const root = code.length > MAX_CHARACTERS || language === "" ? null : engineFor(element, code, language);
  const appendText = SHELLS.has(language) ? appendCommand : appendPlain;
  if (root === null) appendText(element, code);
  else appendNodes(element, root.children, appendText);
}

function engineFor(element: HTMLElement, code: string, language: string): Root | null {
  if (engine !== null) return engine.highlight(code, language);
  pending.push({ element, code, language });
  loadOnce();
  return null;
}

type AppendText = (parent: HTMLElement, text: string) => void;

function appendPlain(parent: HTMLElement, text: string): void {
  parent.append(text);
}

function appendCommand(parent: HTMLElement, text: string): void {
  for (const [index, part] of splitAtHyphens(text).entries()) {
    if (index % 2 === 0) {
      parent.append(part);
      continue;
    }
    const span = document.createElement("span");
    span.className = UNBROKEN_CLASS;
    span.append(part);
    parent.append(span);
  }
}

function appendNodes(parent: HTMLElement, children: Root["children"] | ElementContent[], appendText: AppendText): void {
  for (const child of children) {
    if (child.type === "text") appendText(parent, child.value);
    if (child.type !== "element") continue;
    const span = document.createElement("span");
    const { className } = child.properties;
    if (Array.isArray(className)) span.className = className.join(" ");
    appendNodes(span, child.children, appendText);
    parent.appendChild(span);
  }
}

/** Return the language of a file name, its extension; empty without one. */
export function languageOf(path: string): string {
  return /\.([^./\\]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
}
