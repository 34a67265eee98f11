/** The page that VS Code loads for the view. */
import "../support/page.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { renderPage } from "../../src/extension/page.js";

test("the page may load our script and styles and nothing else", () => {
  const page = renderPage({ cspSource: "https://x.test", script: "s.js", styles: "s.css", language: "de", translations: JSON.stringify({ Send: '"Ab" & zu' }) });
  const policy = /content="([^"]+)"/.exec(page)?.[1] ?? "";
  const nonce = /nonce="([^"]+)"/.exec(page)?.[1] ?? "-";
  assert.deepEqual(policy.split("; "), [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    "style-src https://x.test",
    "img-src https://x.test data:",
    "base-uri 'none'",
    "form-action 'none'",
  ]);
  const { documentElement, body } = new window.DOMParser().parseFromString(page, "text/html");
  assert.equal(documentElement.lang, "de");
  assert.deepEqual(JSON.parse(body.firstElementChild?.getAttribute("data-translations") ?? ""), { Send: '"Ab" & zu' });
});
