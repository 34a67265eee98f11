/** The manifest: settings and walkthrough are complete, and name only what exists. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

interface Setting {
  readonly type: string;
  readonly scope?: string;
  readonly order?: number;
  readonly markdownDescription?: string;
  readonly enum?: readonly string[];
  readonly enumDescriptions?: readonly string[];
}
interface Step {
  readonly id: string;
  readonly description: string;
  readonly media: { readonly image: string };
  readonly completionEvents?: readonly string[];
}
interface Contributions {
  readonly commands: readonly { readonly command: string }[];
  readonly views: Readonly<Record<string, readonly { readonly id: string }[]>>;
  readonly menus: Readonly<Record<string, readonly { readonly command?: string; readonly submenu?: string }[]>>;
  readonly configuration: { readonly properties: Readonly<Record<string, Setting>> };
  readonly walkthroughs: readonly { readonly steps: readonly Step[] }[];
}

const { contributes, capabilities, displayName } = JSON.parse(readFileSync("package.json", "utf8")) as {
  displayName: string;
  contributes: Contributions;
  capabilities: { untrustedWorkspaces: { restrictedConfigurations: readonly string[] } };
};
const texts = JSON.parse(readFileSync("package.nls.json", "utf8")) as Readonly<Record<string, string>>;
const commandIds = new Set(contributes.commands.map(({ command }) => command));
const viewIds = Object.values(contributes.views).flatMap((views) => views.map(({ id }) => id));
const textOf = (text: string): string => texts[text.replaceAll("%", "")] ?? text;

test("every setting has a description, a scope and a place of its own", () => {
  const settings = Object.entries(contributes.configuration.properties);
  for (const [name, setting] of settings) {
    assert.ok(textOf(setting.markdownDescription ?? "").length > 30, `${name} needs a markdownDescription`);
    assert.ok(["window", "machine-overridable", "resource"].includes(setting.scope ?? ""), `${name} needs a scope`);
    assert.equal(setting.enumDescriptions?.length, setting.enum?.length, name);
  }
  const orders = settings.map(([, { order }]) => order);
  assert.deepEqual(orders, settings.map((_, index) => index + 1));
});

test("settings that name programs are not taken from an untrusted workspace", () => {
  const named = Object.keys(contributes.configuration.properties).filter((name) => /command|arguments|environment|agents/.test(name));
  assert.deepEqual(named.filter((name) => !capabilities.untrustedWorkspaces.restrictedConfigurations.includes(name)), []);
});

test("each step of the walkthrough has a picture, and is completed by something that exists", () => {
  const [walkthrough] = contributes.walkthroughs;
  for (const { id, description, media, completionEvents = [] } of walkthrough?.steps ?? []) {
    assert.ok(existsSync(media.image), media.image);
    assert.ok(completionEvents.length > 0, `${id} is completed by nothing`);
    const linked = [...textOf(description).matchAll(/\(command:([\w.]+)\)/g)].map(([, command]) => `onCommand:${command ?? ""}`);
    for (const event of [...completionEvents, ...linked]) {
      const [kind, name = ""] = event.split(":");
      const views = kind === "onView" ? viewIds : [...commandIds, ...viewIds.map((view) => `${view}.focus`)];
      assert.ok(views.includes(name), `${id}: ${event}`);
    }
  }
});

test("menus name only commands that exist", () => {
  const named = Object.values(contributes.menus).flatMap((items) => items.flatMap(({ command }) => (command === undefined ? [] : [command])));
  assert.deepEqual(named.filter((command) => !commandIds.has(command)), []);
});

test("users see one name; the ids of the program and the package are its own", () => {
  assert.equal(displayName, "Hermes Agent");
});
