/**
 * A directory of texts that persist across editor restarts.
 *
 * Files are written atomically and are readable by the owner only. The oldest are removed beyond a
 * maximum number.
 */
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isNotFound } from "./errors.js";
import type { TextStore } from "./ports.js";

const MAX_TEXTS = 30;
const OWNER_ONLY = 0o600;

export class DirectoryTextStore implements TextStore {
  readonly #directory: string;
  readonly #maxTexts: number;

  constructor(directory: string, maxTexts: number = MAX_TEXTS) {
    this.#directory = directory;
    this.#maxTexts = maxTexts;
  }

  async read(name: string): Promise<string | null> {
    try {
      return await readFile(join(this.#directory, name), "utf8");
    } catch (error) {
      if (isNotFound(error)) return null;
      throw error;
    }
  }

  async write(name: string, text: string): Promise<void> {
    await mkdir(this.#directory, { recursive: true });
    const path = join(this.#directory, name);
    const temporary = `${path}.${process.pid.toString(36)}~`;
    await writeFile(temporary, text, { mode: OWNER_ONLY });
    await rename(temporary, path);
    await this.#prune();
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.#directory, name), { force: true });
  }

  /** Remove the least recently written files beyond the maximum. */
  async #prune(): Promise<void> {
    const names = await readdir(this.#directory);
    if (names.length <= this.#maxTexts) return;
    const withAges = names.map(async (name) => ({ name, age: (await stat(join(this.#directory, name))).mtimeMs }));
    const oldest = (await Promise.all(withAges)).sort((one, other) => one.age - other.age);
    for (const { name } of oldest.slice(0, names.length - this.#maxTexts)) await this.remove(name);
  }
}
