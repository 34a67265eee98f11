// esbuild options for the host, the view and the tests.
// `codicon:NAME` imports the paths of one icon, so that only the icons in use are bundled.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);
const LEXER = join(ROOT, "node_modules", "marked", "lib", "marked.esm.js");
const ICONS = join(dirname(require.resolve("@vscode/codicons/package.json")), "src", "icons");

/** Round a path's coordinates: icons of 16 pixels need no hundredths. */
function rounded(path) {
  return path.replaceAll(/-?\d*\.\d{2,}/g, (number) => {
    const short = String(Math.round(Number(number) * 10) / 10).replace(/^(-?)0\./, "$1.");
    // Two numbers may be separated by the point of the second alone.
    return short.includes(".") ? short : `${short}.0`;
  });
}

/** Icons are drawn in a square of this size, so that not each needs its own. */
const ICON_PIXELS = 16;

function scaled(path, scale) {
  return path.replaceAll(/-?(?:\d+\.?\d*|\.\d+)/g, (number) => (Number(number) * scale).toFixed(3));
}

const codicons = {
  name: "codicons",
  setup(build) {
    build.onResolve({ filter: /^codicon:/ }, ({ path }) => ({ path, namespace: "codicon" }));
    build.onLoad({ filter: /.*/, namespace: "codicon" }, async ({ path }) => {
      const svg = await readFile(join(ICONS, `${path.slice("codicon:".length)}.svg`), "utf8");
      const scale = ICON_PIXELS / Number(/viewBox="0 0 (\d+) /.exec(svg)?.[1]);
      const paths = [...svg.matchAll(/\bd="([^"]+)"/g)].map(([, data]) => rounded(scale === 1 ? data : scaled(data, scale)));
      return { contents: `export default ${JSON.stringify(paths)};`, loader: "js" };
    });
  },
};

/**
 * Leaves zod's conversion of schemas to JSON Schemas out of the host: nothing calls it, but every schema
 * class refers to it, so that it cannot be shaken off.
 */
const withoutJsonSchemas = {
  name: "without-json-schemas",
  setup(build) {
    const names = ["createToJSONSchemaMethod", "createStandardJSONSchemaMethod", "toJSONSchema", "JSONSchemaGenerator"];
    const unused = names.map((name) => `export const ${name} = () => () => { throw new Error("not bundled"); };`);
    const inZod = /[\\/]zod[\\/]v4[\\/]core[\\/](?:to-json-schema|json-schema-processors|json-schema-generator)\.js$/;
    build.onLoad({ filter: inZod }, () => ({ contents: unused.join("\n"), loader: "js" }));
  },
};

/** The methods of zod's schemas that the protocol's schemas, the connection and zod itself call. */
const SCHEMA_METHODS = new Set([
  ...["and", "array", "catch", "check", "clone", "default", "nullable", "nullish", "optional", "pipe", "refine", "superRefine", "transform"],
  ...["parse", "safeParse", "gte", "lte", "min", "max", "int", "url", "strict", "loose", "extend"],
]);

/**
 * Leaves the methods of zod's schemas that nothing calls out of the host: formats such as e-mail addresses hang on
 * them. A method that is missing is noticed at once: all schemas are built when the module is loaded.
 */
const withoutUnusedMethods = {
  name: "without-unused-methods",
  setup(build) {
    const method = /^ {4}(?:async )?(?:(?:get|set) )?"?([\w~]+)"?(?:\(|: (?:async )?function ).*\{\n(?:(?: {5}.*)?\n)*? {4}\},\n/gm;
    build.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]classic[\\/]schemas\.js$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      return { contents: text.replaceAll(method, (whole, name) => (SCHEMA_METHODS.has(name) ? whole : "")), loader: "js" };
    });
  },
};

/**
 * Leaves marked's parsers and renderers of HTML out of the view, which uses its lexer alone: an instance of
 * them in the same module keeps them from being shaken off.
 */
const lexerAlone = {
  name: "lexer-alone",
  setup(build) {
    build.onLoad({ filter: /[\\/]marked\.esm\.js$/ }, async ({ path }) => {
      if (path !== LEXER) return undefined; // mermaid has a copy of its own, which it uses whole
      const text = await readFile(path, "utf8");
      const localNameOf = (name) => new RegExp(`[{,]([\\w$]+) as ${name}[,}]`).exec(text)?.[1] ?? name;
      const end = text.indexOf(`var ${localNameOf("Renderer")}=class`);
      const lexer = localNameOf("Lexer");
      if (end < text.indexOf(`var ${lexer}=class`)) throw new Error("marked's modules are in another order: renew `lexerAlone`");
      return { contents: `${text.slice(0, end)}\nexport { ${lexer} as Lexer };`, loader: "js" };
    });
  },
};

/** Leaves what the extension imports at first use in a file of its own. */
const loadedAtFirstUse = {
  name: "loaded-at-first-use",
  setup(build) {
    build.onResolve({ filter: /\.js$/ }, ({ path, kind }) => (kind === "dynamic-import" ? { path, external: true } : undefined));
  },
};

const shared = { absWorkingDir: ROOT, bundle: true, logLevel: "warning", plugins: [codicons] };

export const HOST = {
  ...shared,
  // All but the first are loaded at first use: with a change of a file, a request for symbols, an action, a
  // choice of an agent, a restore of an earlier state, a search for what a prompt mentions, a click on a link, a question while the chat is hidden,
  // a step of the first run.
  entryPoints: {
    extension: "src/extension/extension.ts",
    review: "src/extension/review.ts",
    symbols: "src/extension/symbols.ts",
    actions: "src/extension/actions.ts",
    agents: "src/extension/agents.ts",
    participant: "src/extension/participant.ts",
    agentView: "src/extension/agentView.ts",
    mcpServers: "src/extension/mcpServers.ts",
    mentionRanking: "src/host/mentionRanking.ts",
    rewind: "src/host/rewind.ts",
    links: "src/host/links.ts",
    questionNotice: "src/extension/questionNotice.ts",
    firstRun: "src/host/firstRun.ts",
  },
  outdir: "dist",
  platform: "node",
  target: "node20",
  format: "cjs",
  external: ["vscode"],
  plugins: [codicons, withoutJsonSchemas, withoutUnusedMethods, loadedAtFirstUse],
  // VS Code provides its module to `require` alone.
  supported: { "dynamic-import": false },
  // Node warns of code that reads the global, which browsers have: a dependency looks for its user agent.
  define: { navigator: "undefined" },
};

export const VIEW = {
  ...shared,
  plugins: [codicons, lexerAlone],
  // All but the first are loaded at first use.
  entryPoints: {
    webview: "src/webview/main.tsx",
    highlight: "src/webview/markdown/highlightEngine.ts",
    diagrams: "src/renderers/diagrams.ts",
    math: "src/renderers/math.ts",
  },
  outdir: "dist",
  platform: "browser",
  target: "es2022",
  format: "iife",
  jsx: "automatic",
  jsxImportSource: "preact",
};

/** Tests run without VS Code: a fake replaces the `vscode` module. */
const fakeVscode = {
  name: "fake-vscode",
  setup(build) {
    const path = join(ROOT, "tests", "support", "vscode.ts");
    build.onResolve({ filter: /^vscode$/ }, () => ({ path }));
  },
};

/** Return the options for test files; `splitting` has them share one instance of each module, `sourcemap` places errors in the sources. */
export function testsOf(entryPoints, { splitting = false, sourcemap = false } = {}) {
  return {
    ...shared,
    entryPoints,
    splitting,
    plugins: [codicons, fakeVscode],
    outdir: "out/tests",
    outbase: "tests",
    outExtension: { ".js": ".mjs" },
    platform: "node",
    target: "node20",
    format: "esm",
    packages: "external",
    jsx: "automatic",
    jsxImportSource: "preact",
    loader: { ".css": "empty" },
    sourcemap: sourcemap ? "inline" : false,
    sourcesContent: false,
  };
}
