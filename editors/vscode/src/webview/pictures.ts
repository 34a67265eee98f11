/**
 * Pictures that are pasted or dropped.
 *
 * Owns which kinds and sizes are taken.
 */
import type { PastedImage } from "../shared/intents.js";

const TAKEN = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const MOST_BYTES = 8 * 1024 * 1024;

/** Return the pictures among files, as base64. */
export async function picturesIn(files: Iterable<File>): Promise<PastedImage[]> {
  const wanted = [...files].filter(({ type, size }) => TAKEN.has(type) && size <= MOST_BYTES);
  return Promise.all(wanted.map(pictureOf));
}

function pictureOf(file: File): Promise<PastedImage> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => {
      const address = typeof reader.result === "string" ? reader.result : "";
      resolve({ mimeType: file.type, data: address.slice(address.indexOf(",") + 1) });
    });
    reader.addEventListener("error", () => {
      reject(reader.error ?? new Error(`${file.name} could not be read`));
    });
    reader.readAsDataURL(file);
  });
}
