/**
 * Output of a command, limited to a number of bytes.
 *
 * Keeps the end of the output and never splits a UTF-8 character.
 */

export class BoundedOutput {
  readonly #limitBytes: number;
  #chunks: Buffer[] = [];
  #byteCount = 0;
  #isTruncated = false;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get isTruncated(): boolean {
    return this.#isTruncated || this.#byteCount > this.#limitBytes;
  }

  /** Append bytes. Trims only when the buffer exceeds twice the limit, so that appending stays cheap. */
  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#byteCount += chunk.length;
    if (this.#byteCount > 2 * this.#limitBytes + 4096) this.#trim();
  }

  text(): string {
    if (this.#byteCount > this.#limitBytes) this.#trim();
    return Buffer.concat(this.#chunks).toString("utf8");
  }

  #trim(): void {
    const all = Buffer.concat(this.#chunks);
    let start = Math.max(all.length - this.#limitBytes, 0);
    while (start < all.length && isContinuation(all[start] ?? 0)) start += 1;
    const tail = all.subarray(start);
    this.#isTruncated ||= start > 0;
    this.#chunks = [Buffer.from(tail)];
    this.#byteCount = tail.length;
  }
}

/** Whether a byte is a UTF-8 continuation byte, i.e. not the first byte of a character. */
function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}
