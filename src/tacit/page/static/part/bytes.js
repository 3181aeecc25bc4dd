// Bytes: joined, compared, written as numbers and as text. Integers are unsigned and big-endian.

const encoder = new TextEncoder();

/** The bytes of a text in UTF-8. @param {string} text @returns {Uint8Array} */
export const utf8 = (text) => encoder.encode(text);

/** @param {ArrayLike<number>[]} parts @returns {Uint8Array} */
export function join(...parts) {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** An integer below 2⁵³ in so many bytes. @param {number} value @param {number} size */
export function integer(value, size) {
  const found = new Uint8Array(size);
  for (let i = size - 1; i >= 0; i--) {
    found[i] = value % 256;
    value = Math.floor(value / 256);
  }
  return found;
}

/** A number as a double. @param {number} value */
export function double(value) {
  const found = new Uint8Array(8);
  new DataView(found.buffer).setFloat64(0, value);
  return found;
}

/** The integer of bytes; above 2⁵³ it is rounded. @param {Uint8Array} bytes */
export const integerOf = (bytes) => bytes.reduce((value, byte) => value * 256 + byte, 0);

/** @param {Uint8Array} a @param {Uint8Array} b */
export const equal = (a, b) => a.length === b.length && a.every((byte, i) => byte === b[i]);

/** @param {Uint8Array} bytes */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** @param {string} text */
export const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** @param {Uint8Array} bytes */
export function base64(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** SHA-256. @param {Uint8Array} data @returns {Promise<Uint8Array>} */
export async function sha256(data) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", /** @type {BufferSource} */ (data)));
}
