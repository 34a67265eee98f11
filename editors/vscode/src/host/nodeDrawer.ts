/**
 * A folder of texts that are kept between runs of the editor.
 *
 * Owns how they are written, readable for the user alone and never half, and how many there may be.
 * Refuses to know what they say.
 */
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isMissing } from "./failures.js";
import type { Drawer } from "./ports.js";

const MOST_TEXTS = 30;
const OURS_ALONE = 0o600;

export class NodeDrawer implements Drawer {
  readonly #folder: string;
  readonly #most: number;

  constructor(folder: string, most: number = MOST_TEXTS) {
    this.#folder = folder;
    this.#most = most;
  }

  async read(name: string): Promise<string | null> {
    try {
      return await readFile(join(this.#folder, name), "utf8");
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  async write(name: string, text: string): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    const path = join(this.#folder, name);
    const beside = `${path}.${process.pid.toString(36)}~`;
    await writeFile(beside, text, { mode: OURS_ALONE });
    await rename(beside, path);
    await this.#prune();
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.#folder, name), { force: true });
  }

  /** Remove what has not been written for the longest time. */
  async #prune(): Promise<void> {
    const names = await readdir(this.#folder);
    if (names.length <= this.#most) return;
    const aged = names.map(async (name) => ({ name, age: (await stat(join(this.#folder, name))).mtimeMs }));
    const oldest = (await Promise.all(aged)).sort((one, other) => one.age - other.age);
    for (const { name } of oldest.slice(0, names.length - this.#most)) await this.remove(name);
  }
}
