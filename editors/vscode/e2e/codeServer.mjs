/** VS Code in a browser: code-server on a loopback port, with its own directories and our extension. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const HERE = fileURLToPath(new URL(".", import.meta.url));
export const EXTENSION = join(HERE, "..");
const VERSION = "4.139.1";
const STARTING_MILLISECONDS = 60_000;

/** VS Code settings that disable built-in features and all network access. */
const SETTINGS = {
  "chat.disableAIFeatures": true,
  "extensions.autoCheckUpdates": false,
  "extensions.ignoreRecommendations": true,
  "files.autoSave": "off",
  "git.enabled": false,
  "security.workspace.trust.enabled": false,
  "telemetry.telemetryLevel": "off",
  "terminal.integrated.gpuAcceleration": "off",
  "update.mode": "none",
  "window.commandCenter": false,
  "workbench.colorTheme": "Default Dark Modern",
  "workbench.layoutControl.enabled": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
};

/** Return the directory that `install.sh` created; undefined if there is none. */
export function installedFolder() {
  const cache = process.env.ACP_SERVER_E2E_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "acp-server-e2e");
  const folder = join(cache, `code-server-${VERSION}`);
  return existsSync(join(folder, "complete")) ? folder : undefined;
}

/** A code-server instance with a workspace and a home directory for the server. */
export class CodeServer {
  #root;
  #process;
  #installed;
  #path = "";
  #machineSettings = {};

  constructor(installed, root) {
    this.#installed = installed;
    this.#root = root;
    this.workspace = join(root, "project");
    /** Home directory of the user, and of the server's files. */
    this.userHome = root;
    this.home = join(root, "home");
    this.extensions = join(root, "extensions");
    this.pidFile = join(root, "server.pid");
    this.url = "";
  }

  /** Create the directories, install the extension and start listening.
   *
   * `model` is the server's model, empty for the configured one; `environment` has additional variables
   * for the server. Without `server`, none is installed. `path` is put in place of the PATH. `extension` is the
   * folder of another extension, and `folders` are names of empty folders that the workspace has too.
   */
  static async start({ installed, server, vsix, model = "", environment = {}, settings = {}, path = "", extension, folders = [] }) {
    const code = new CodeServer(installed, await mkdtemp(join(tmpdir(), "acp-e2e-")));
    code.#path = path;
    await code.#prepare(server, model, environment, settings);
    code.#install(vsix);
    if (extension !== undefined) await code.#add(extension);
    await code.#listen(folders);
    return code;
  }

  async stop() {
    const { pid } = this.#process ?? {};
    if (pid !== undefined) {
      const ended = new Promise((resolve) => this.#process.once("exit", resolve));
      // Signal the whole group: code-server's children would survive otherwise.
      process.kill(-pid, "SIGTERM");
      await ended;
    }
    await rm(this.#root, { recursive: true, force: true, maxRetries: 5 });
  }

  async #prepare(server, model, environment, settings) {
    await cp(join(HERE, "project"), this.workspace, { recursive: true });
    await mkdir(this.home, { recursive: true });
    const program = join(this.#root, "acp-server");
    // exec keeps the process id, so that a test can kill exactly this server.
    await writeFile(program, `#!/bin/sh\necho $$ > '${this.pidFile}'\nexec '${server}' "$@"\n`);
    await chmod(program, 0o755);
    const machineSettings = {
      ...(server !== undefined && { "acpServer.command": program }),
      "acpServer.arguments": ["serve", "--unstable", "true", ...(model === "" ? [] : ["--model", model])],
      "acpServer.environment": { HERMES_HOME: this.home, PYTHON_KEYRING_BACKEND: "keyring.backends.null.Keyring", ...environment },
      ...Object.fromEntries(Object.entries(settings).filter(([name]) => name.startsWith("acpServer."))),
    };
    await this.#write("User", { ...SETTINGS, ...settings });
    // The server settings have machine scope: VS Code ignores them in the user settings.
    this.#machineSettings = machineSettings;
    await this.#write("Machine", machineSettings);
  }

  /** Change the server's model in the settings, as a user would in the file. */
  async useModel(model) {
    this.#machineSettings["acpServer.arguments"] = ["serve", "--unstable", "true", "--model", model];
    await this.#write("Machine", this.#machineSettings);
  }

  async #write(scope, settings) {
    const folder = join(this.#root, "data", scope);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "settings.json"), JSON.stringify(settings));
  }

  get #options() {
    const folders = ["--user-data-dir", join(this.#root, "data"), "--extensions-dir", join(this.#root, "extensions")];
    return [...folders, "--config", join(this.#root, "config.yaml")];
  }

  /** Node and code-server's entry script. */
  get #command() {
    const modules = join(this.#installed, "node_modules");
    const node = join(this.#installed, "node", "node_modules", "node", "bin", "node");
    return [node, join(modules, "code-server", "out", "node", "entry.js")];
  }

  #install(vsix) {
    const [node, entry] = this.#command;
    const ran = spawnSync(node, [entry, ...this.#options, "--install-extension", vsix], { encoding: "utf8", env: this.#environment });
    if (ran.status !== 0) throw new Error(`the extension was not installed:\n${ran.stdout}${ran.stderr}`);
    this.installOutput = ran.stdout;
  }

  /** Add an extension that is not packed, as VS Code lists those that it has installed. */
  async #add(extension) {
    const { publisher, name, version } = JSON.parse(await readFile(join(extension, "package.json"), "utf8"));
    const relativeLocation = `${publisher}.${name}-${version}`;
    const path = join(this.extensions, relativeLocation);
    await cp(extension, path, { recursive: true });
    const list = join(this.extensions, "extensions.json");
    const installed = JSON.parse(await readFile(list, "utf8"));
    const added = { identifier: { id: `${publisher}.${name}` }, version, location: { $mid: 1, path, scheme: "file" }, relativeLocation, metadata: {} };
    await writeFile(list, JSON.stringify([...installed, added]));
  }

  get #environment() {
    const PATH = this.#path === "" ? process.env.PATH : this.#path;
    return { ...process.env, PATH, HOME: this.#root, XDG_CONFIG_HOME: this.#root, XDG_DATA_HOME: this.#root };
  }

  async #listen(folders) {
    const port = await freePort();
    const [node, entry] = this.#command;
    const address = ["--bind-addr", `127.0.0.1:${port}`, "--auth", "none"];
    const quiet = ["--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"];
    this.#process = spawn(node, [entry, ...this.#options, ...address, ...quiet], {
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: this.#environment,
    });
    this.url = `http://127.0.0.1:${port}/?${await this.#opened(folders)}`;
    await this.#untilItListens();
  }

  /** Return the query that opens the workspace, which is a file if it has several folders. */
  async #opened(folders) {
    if (folders.length === 0) return `folder=${encodeURIComponent(this.workspace)}`;
    const paths = [this.workspace, ...folders.map((name) => join(this.#root, name))];
    for (const path of paths) await mkdir(path, { recursive: true });
    const file = join(this.#root, "all.code-workspace");
    await writeFile(file, JSON.stringify({ folders: paths.map((path) => ({ path })) }));
    return `workspace=${encodeURIComponent(file)}`;
  }

  #untilItListens() {
    let output = "";
    return new Promise((resolve, reject) => {
      const fail = () => { reject(new Error(`code-server does not listen:\n${output}`)); };
      const timer = setTimeout(fail, STARTING_MILLISECONDS);
      const onOutput = (chunk) => {
        output += chunk;
        if (!output.includes("HTTP server listening")) return;
        clearTimeout(timer);
        resolve();
      };
      this.#process.stdout.on("data", onOutput);
      this.#process.stderr.on("data", onOutput);
      this.#process.once("exit", fail);
    });
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => { resolve(port); });
    });
  });
}
