/**
 * A window of VS Code in Chromium, and the chat in it, as a user has them.
 *
 * Owns where things are on the screen. Refuses to know the scenarios.
 */
import { setTimeout as wait } from "node:timers/promises";
import { chromium } from "playwright-core";

const SETTLING_MILLISECONDS = 700;
const WIDENED_PIXELS = 110;
export const PATIENCE_MILLISECONDS = 20_000;

export class Window {
  #browser;

  constructor(browser, page) {
    this.#browser = browser;
    this.page = page;
    /** What the page could not do, for when a test fails. */
    this.complaints = [];
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    this.chat = new Chat(page);
  }

  static async open(url, { program, width = 1280, height = 800 }) {
    const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox"] });
    const page = await browser.newPage({ viewport: { width, height } });
    page.setDefaultTimeout(PATIENCE_MILLISECONDS);
    const window = new Window(browser, page);
    await page.goto(url);
    await window.ready();
    return window;
  }

  async ready() {
    await this.page.locator(".monaco-workbench .part.statusbar").waitFor({ timeout: 3 * PATIENCE_MILLISECONDS });
  }

  async close() {
    await this.#browser.close();
  }

  /** Show the chat, and wait until something of it is there. */
  async openChat(testId = "composer-input") {
    await this.page.locator('.activitybar a[aria-label^="Hermes Agent"]').click();
    await this.chat.at(testId).waitFor({ timeout: 2 * PATIENCE_MILLISECONDS });
  }

  /** Drag the side bar's edge, as one does who reads diffs in it. */
  async widenSideBar() {
    const { x, y, width, height } = await this.page.locator(".part.sidebar").boundingBox();
    const { mouse } = this.page;
    await mouse.move(x + width, y + height / 2);
    await mouse.down();
    await mouse.move(x + width + WIDENED_PIXELS, y + height / 2, { steps: 4 });
    await mouse.up();
  }

  /** Answer a question of VS Code's own. */
  async answerDialog(label) {
    const dialog = this.page.locator(".monaco-dialog-box");
    await dialog.waitFor({ timeout: 2 * PATIENCE_MILLISECONDS });
    await dialog.getByRole("button", { name: label }).click();
    await dialog.waitFor({ state: "detached" });
  }

  /** Run a command of VS Code's by its title. */
  async run(title) {
    await this.page.keyboard.press("F1");
    const input = this.page.locator(".quick-input-widget input");
    await input.fill(`>${title}`);
    await this.page.locator(".quick-input-list .monaco-list-row").first().waitFor();
    await input.press("Enter");
  }

  /** What a screen reader is told of a place in the status bar. */
  async statusOf(name) {
    return this.page.locator(`.statusbar-item a[aria-label^="${name}"]`).getAttribute("aria-label");
  }

  async openFile(name) {
    await this.page.keyboard.press("Control+P");
    const input = this.page.locator(".quick-input-widget input");
    await input.fill(name);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().waitFor();
    await input.press("Enter");
    await this.tab(name).waitFor();
    await this.editor.locator(".view-line").first().waitFor();
  }

  get editor() {
    return this.page.locator(".part.editor .monaco-editor").first();
  }

  tab(name) {
    return this.page.locator(".part.editor .tab", { hasText: name });
  }

  async isDirty(name) {
    return (await this.tab(name).getAttribute("class")).split(" ").includes("dirty");
  }

  /** What the open file says, as far as it is on the screen. */
  async editorText() {
    const lines = await this.editor.locator(".view-lines .view-line").evaluateAll((nodes) =>
      nodes
        .map((node) => [Number.parseFloat(node.style.top), node.textContent.replaceAll("\u00a0", " ")])
        .sort(([one], [other]) => one - other)
        .map(([, text]) => text),
    );
    return lines.join("\n");
  }

  /** Put the cursor into the file, at its very beginning. */
  async enterEditor() {
    await this.editor.locator(".view-lines").click();
    await this.page.keyboard.press("Control+Home");
  }
}

/** The webview: a frame in a frame. */
export class Chat {
  #page;

  constructor(page) {
    this.#page = page;
    this.frame = page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame");
  }

  at(testId) {
    return this.frame.getByTestId(testId);
  }

  get input() {
    return this.at("composer-input");
  }

  async send(text) {
    await this.input.click();
    await this.input.fill(text);
    await this.input.press("Enter");
  }

  /** Send a prompt, wait for the end of its turn, and return the last text of the answer. */
  async ask(text) {
    const before = await this.at("user-message").count();
    await this.send(text);
    await this.at("user-message").nth(before).waitFor();
    return this.answered();
  }

  /** Wait until no turn runs, and return the text of the last answer. */
  async answered() {
    await this.idle();
    return this.at("agent-message").last().innerText();
  }

  async idle() {
    await this.at("send").waitFor();
    await this.at("working").waitFor({ state: "detached" });
  }

  /** Paste a picture of one point. */
  pastePicture() {
    return this.input.evaluate((node) => {
      const { DataTransfer, ClipboardEvent, File, Uint8Array, atob } = node.ownerDocument.defaultView;
      const bytes = Uint8Array.from(
        atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="),
        (character) => character.charCodeAt(0),
      );
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File([bytes], "point.png", { type: "image/png" }));
      node.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    });
  }

  /** Wait for a call of a kind that stands so. */
  async call(kind, status) {
    const card = this.frame.locator(`[data-testid=tool-call][data-kind=${kind}][data-status=${status}]`).last();
    await card.waitFor();
    return card;
  }

  /** Begin to note how long the newest diff is whenever something is drawn. */
  watchDiffs() {
    return this.frame.locator("body").evaluate((body) => {
      const lengths = new Set();
      const look = () => {
        const diff = [...body.querySelectorAll("[data-testid=diff]")].at(-1);
        if (diff !== undefined) lengths.add(diff.textContent.length);
      };
      const { MutationObserver } = body.ownerDocument.defaultView;
      new MutationObserver(look).observe(body, { childList: true, subtree: true, characterData: true });
      body.ownerDocument.defaultView.diffLengths = lengths;
    });
  }

  /** Return the lengths since, in their order. */
  diffLengths() {
    return this.frame.locator("body").evaluate((body) => [...body.ownerDocument.defaultView.diffLengths]);
  }

  /** Begin to measure how long the view stands still. */
  watchGaps() {
    return this.frame.locator("body").evaluate((body) => {
      const view = body.ownerDocument.defaultView;
      let last = view.performance.now();
      view.longestGap = 0;
      view.setInterval(() => {
        const now = view.performance.now();
        view.longestGap = Math.max(view.longestGap, now - last);
        last = now;
      }, 10);
    });
  }

  /** Return the longest standstill since, in milliseconds. */
  async longestGap() {
    return Math.round(await this.frame.locator("body").evaluate((body) => body.ownerDocument.defaultView.longestGap));
  }

  /** Wait until it asks, and answer by a key. */
  async answerByKey(key) {
    const card = this.at("permission").last();
    await card.waitFor();
    const focused = card.getByTestId("permission-reject_once").first();
    await until(async () => (await focused.evaluate((node) => node === node.ownerDocument.activeElement)));
    // A question takes no key that was meant for what was there before, for a moment.
    await until(async () => {
      await wait(SETTLING_MILLISECONDS);
      if ((await card.count()) > 0) await this.#page.keyboard.press(key);
      return card.waitFor({ state: "detached", timeout: SETTLING_MILLISECONDS }).then(() => true, () => false);
    });
  }
}

/** Wait until something is so. */
export async function until(isSo, patience = PATIENCE_MILLISECONDS) {
  const deadline = Date.now() + patience;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`not so in time: ${isSo}`);
    await wait(50);
  }
}
