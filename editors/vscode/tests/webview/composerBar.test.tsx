/** What stands below the input: the options of the session, the usage of the context window and the cost. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TestPage } from "../support/page.js";
import { CONVERSATION, SESSION_OPENED } from "../support/conversation.js";

test("options are chosen in pickers", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED);
  const picker = page.find("picker-model") as HTMLSelectElement;
  picker.value = "claude-opus-5";
  picker.dispatchEvent(new window.Event("change", { bubbles: true }));
  assert.deepEqual(page.posted, [{ type: "setOption", optionId: "model", value: "claude-opus-5" }]);
});

test("an option names what its value is of, unless that is a mode or a model; a switch has its name in its tooltip", async () => {
  const fast = { type: "boolean" as const, id: "fast", name: "Fast mode", description: "Costs twice as much", currentValue: false };
  const page = await new TestPage().dispatch(...SESSION_OPENED);
  const shown = ["mode", "model", "thinking"].map((id) => page.find(`picker-${id}`).parentElement);
  assert.deepEqual(shown.map((picker) => picker?.querySelector(".picker-value")?.textContent), ["Ask before changes", "claude-sonnet-5", "Thinking: medium"]);
  assert.deepEqual(shown.map((picker) => picker?.title), ["Mode: Ask before changes", "Model: claude-sonnet-5", "Thinking: medium"]);
  assert.equal(page.find("picker-thinking").getAttribute("aria-label"), "Thinking");
  const modes = { currentModeId: "ask", availableModes: [{ id: "ask", name: "Ask", description: "Asks before each edit" }] };
  await page.dispatch({ type: "choices", modes, options: [] });
  assert.equal(page.find("picker-mode").parentElement?.title, "Mode: Ask\nAsks before each edit");
  await page.dispatch({ type: "choices", modes: null, options: [fast] });
  assert.equal(page.find("picker-fast").closest("label")?.title, "Fast mode: Costs twice as much");
});

test("the usage ring shows the usage of the context window and the cost", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION);
  const known = "24% of the context window: 48k of 200k tokens, $0.12";
  assert.equal(page.find("usage").title, known);
  assert.equal(page.find("usage").querySelector("[role=img]")?.getAttribute("aria-label"), known, "a narrow view has no room for the cost");
  await page.press("header-context");
  assert.equal(page.find("context-usage").textContent, known);
});
