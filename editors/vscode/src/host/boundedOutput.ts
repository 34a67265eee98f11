/**
 * What a command printed, no more of it than was asked for.
 *
 * Owns the bound in bytes and that no character is cut in half. The end is kept.
 */

export class BoundedOutput {
  readonly #limitBytes: number;
  #chunks: Buffer[] = [];
  #heldBytes = 0;
  #isTruncated = false;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get isTruncated(): boolean {
    return this.#isTruncated || this.#heldBytes > this.#limitBytes;
  }

  /** Add bytes; what is too much leaves now and then, so that adding stays cheap. */
  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes > 2 * this.#limitBytes + 4096) this.#cut();
  }

  text(): string {
    if (this.#heldBytes > this.#limitBytes) this.#cut();
    return Buffer.concat(this.#chunks).toString("utf8");
  }

  #cut(): void {
    const all = Buffer.concat(this.#chunks);
    let start = Math.max(all.length - this.#limitBytes, 0);
    while (start < all.length && isContinuation(all[start] ?? 0)) start += 1;
    const kept = all.subarray(start);
    this.#isTruncated ||= start > 0;
    this.#chunks = [Buffer.from(kept)];
    this.#heldBytes = kept.length;
  }
}

/** Whether a byte of UTF-8 is not the first of its character. */
function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}
