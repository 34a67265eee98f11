/** Page objects for a VS Code window in Chromium and for the chat in it. */
import { setTimeout as wait } from "node:timers/promises";
import { chromium } from "playwright-core";

const SETTLING_MILLISECONDS = 700;
const WIDENED_PIXELS = 110;
export const TIMEOUT_MILLISECONDS = 60_000;
/** In which a prompt is shown; one that is sent while a session is replaced may be lost. */
export const SHOWING_MILLISECONDS = 8_000;

export class Window {
  #browser;

  constructor(browser, page) {
    this.#browser = browser;
    this.page = page;
    /** Uncaught errors of the page, for debugging failed tests. */
    this.pageErrors = [];
    page.on("pageerror", (error) => this.pageErrors.push(String(error)));
    this.chat = new Chat(page);
  }

  static async open(url, { program, width = 1280, height = 800 }) {
    const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox"] });
    const page = await browser.newPage({ viewport: { width, height } });
    page.setDefaultTimeout(TIMEOUT_MILLISECONDS);
    const window = new Window(browser, page);
    await page.goto(url);
    await window.ready();
    return window;
  }

  async ready() {
    await this.page.locator(".monaco-workbench .part.statusbar").waitFor({ timeout: 3 * TIMEOUT_MILLISECONDS });
  }

  async close() {
    await this.#browser.close();
  }

  /** Return the chat, in a side bar or a tab, that has an element with a text. */
  async chatWith(testId, text) {
    let found;
    await until(async () => {
      for (const frame of this.page.frames()) {
        const texts = await frame.getByTestId(testId).allInnerTexts().catch(() => []); // the frame was replaced
        if (texts.some((each) => each.includes(text))) found = new Chat(this.page, frame);
      }
      return found !== undefined;
    });
    return found;
  }

  /** Show the chat, and wait for an element of it. After a command that shows it, wait for the element only. */
  async openChat(testId = "composer-input") {
    await this.openView("Hermes Agent");
    await this.chat.at(testId).waitFor({ timeout: 2 * TIMEOUT_MILLISECONDS });
  }

  /** Click on a view's icon in the activity bar, unless the view is shown: the click would hide it. */
  async openView(name) {
    // The badge covers the link, but not the item.
    const item = this.page.locator(".activitybar .action-item", { has: this.page.locator(`a[aria-label^="${name}"]`) });
    await item.waitFor();
    if (!(await item.getAttribute("class")).split(" ").includes("checked")) await item.click();
  }

  /**
   * Open the code actions at the cursor, by the light bulb.
   *
   * VS Code shows it at the cursor once it has the actions. It drops them if they are asked for by the key while the
   * cursor or the problems change.
   */
  async openCodeActions() {
    const bulb = this.editor.locator(".lightBulbWidget");
    const cursor = this.editor.locator(".cursors-layer .cursor").first();
    await until(async () => {
      const [shown, place] = [await bulb.boundingBox(), await cursor.boundingBox()];
      return shown !== null && place !== null && Math.abs(shown.y - place.y) < 1.5 * place.height;
    });
    await bulb.click();
  }

  /** Widen the side bar by dragging its edge, to make room for diffs. */
  async widenSideBar() {
    const { x, y, width, height } = await this.page.locator(".part.sidebar").boundingBox();
    const { mouse } = this.page;
    await mouse.move(x + width, y + height / 2);
    await mouse.down();
    await mouse.move(x + width + WIDENED_PIXELS, y + height / 2, { steps: 4 });
    await mouse.up();
  }

  /** Answer a VS Code dialog. */
  async answerDialog(label) {
    const dialog = this.page.locator(".monaco-dialog-box");
    await dialog.waitFor({ timeout: 2 * TIMEOUT_MILLISECONDS });
    await dialog.getByRole("button", { name: label }).click();
    await dialog.waitFor({ state: "detached" });
  }

  /** Run a VS Code command by its title. */
  async run(title) {
    await this.page.keyboard.press("F1");
    const input = this.page.locator(".quick-input-widget input");
    await input.fill(`>${title}`);
    await this.page.locator(".quick-input-list .monaco-list-row").first().waitFor();
    await input.press("Enter");
  }

  /** Return the accessible label of a status bar item. */
  async statusOf(name) {
    return this.page.locator(`.statusbar-item a[aria-label^="${name}"]`).getAttribute("aria-label");
  }

  async openFile(name) {
    await this.page.keyboard.press("Control+P");
    const input = this.page.locator(".quick-input-widget input");
    await input.fill(name);
    // Not by Enter: what closes meanwhile may take the focus away from the input.
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().click();
    await this.tab(name).waitFor();
    await this.editor.locator(".view-line").first().waitFor();
  }

  /** Open a file of any place by its path. */
  async openPath(path) {
    await this.page.keyboard.press("Control+P");
    const input = this.page.locator(".quick-input-widget input");
    await input.fill(path);
    const name = path.split("/").at(-1);
    // Not by Enter: what closes meanwhile may take the focus away from the input.
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().click();
    await this.tab(name).waitFor();
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

  /** Return the visible text of the open editor. */
  async editorText() {
    const lines = await this.editor.locator(".view-lines .view-line").evaluateAll((nodes) =>
      nodes
        .map((node) => [Number.parseFloat(node.style.top), node.textContent.replaceAll("\u00a0", " ")])
        .sort(([one], [other]) => one - other)
        .map(([, text]) => text),
    );
    return lines.join("\n");
  }

  /** Put the cursor at the start of the open file. */
  async enterEditor() {
    await this.editor.locator(".view-lines").click();
    await this.page.keyboard.press("Control+Home");
  }
}

/** The chat's webview, which is a frame within a frame. */
export class Chat {
  #page;

  /** The chat of the first webview, or that in a frame. */
  constructor(page, frame = page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame")) {
    this.#page = page;
    this.frame = frame;
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
  async ask(text, timeout = TIMEOUT_MILLISECONDS) {
    const before = await this.at("user-message").count();
    await this.send(text);
    await this.at("user-message").nth(before).waitFor({ timeout });
    return this.answered();
  }

  /** Wait until no turn runs; return the text of the last answer. */
  async answered() {
    await this.idle();
    return this.at("agent-message").last().innerText();
  }

  async idle() {
    await this.at("send").waitFor();
    await this.at("working").waitFor({ state: "detached" });
  }

  /** Paste an image of one pixel. */
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

  /** Wait for a tool call with this kind and status. */
  async call(kind, status) {
    const card = this.frame.locator(`[data-testid=tool-call][data-kind=${kind}][data-status=${status}]`).last();
    await card.waitFor();
    return card;
  }

  /** Start recording the length of the newest diff on every change of the page. */
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

  /** Return the recorded lengths, in order. */
  diffLengths() {
    return this.frame.locator("body").evaluate((body) => [...body.ownerDocument.defaultView.diffLengths]);
  }

  /** Start measuring how long the view blocks. */
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

  /** Return the longest measured gap, in milliseconds. */
  async longestGap() {
    return Math.round(await this.frame.locator("body").evaluate((body) => body.ownerDocument.defaultView.longestGap));
  }

  /** Wait for a permission request, and answer it with a key. */
  async answerByKey(key) {
    const card = this.at("permission").last();
    await card.waitFor();
    const focused = card.getByTestId("permission-reject_once").first();
    await until(async () => (await focused.evaluate((node) => node === node.ownerDocument.activeElement)));
    // A new question ignores keys for a moment, so retry.
    await until(async () => {
      await wait(SETTLING_MILLISECONDS);
      if ((await card.count()) > 0) await this.#page.keyboard.press(key);
      return card.waitFor({ state: "detached", timeout: SETTLING_MILLISECONDS }).then(() => true, () => false);
    });
  }
}

/** Wait until a condition holds. */
export async function until(isMatch, timeout = TIMEOUT_MILLISECONDS) {
  const deadline = Date.now() + timeout;
  while (!(await isMatch())) {
    if (Date.now() > deadline) throw new Error(`condition not met in time: ${isMatch}`);
    await wait(50);
  }
}
