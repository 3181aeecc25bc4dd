// Reads the container of Tacit's binary files: a header, a table of named sections, and the sections.
//
// `src/tacit/base/sections.py` documents it. A file is checked before anything in it is used; all numbers are
// little-endian.

import { crc32 } from "./crc32.js";

const HEADER = 24;

/**
 * One file format: its first 8 bytes, the version that this page reads, the bytes of a section's name in the table, and
 * words for messages: "a compact n-gram file", "distil the model again".
 * @typedef {{magic: string, version: number, name: number, what: string, again: string}} Format
 */
/** Offset and length in bytes of each section. @typedef {Map<string, [number, number]>} Places */

/** What is wrong with a model file, for users. */
export class ModelError extends Error {}

/**
 * The sections of a file; throws a ModelError if its header, its length or its checksum is wrong.
 * @param {ArrayBuffer} buffer
 * @param {Format} form
 * @returns {Places}
 */
export function sectionsOf(buffer, form) {
  const bytes = new Uint8Array(buffer);
  if (!bytes.length) throw new ModelError(`the file is empty; ${form.again}`);
  const begins = String.fromCharCode(...bytes.subarray(0, form.magic.length));
  if (begins !== form.magic.slice(0, bytes.length)) {
    throw new ModelError(`not ${form.what}; it should begin with '${form.magic.trim()}'`);
  }
  if (bytes.length < HEADER) throw new ModelError(`cut short, ${bytes.length} bytes; copy it again`);
  const view = new DataView(buffer);
  const number = (/** @type {number} */ at) => view.getUint32(at, true);
  const [version, count, length, check] = [8, 12, 16, 20].map(number);
  if (version !== form.version) {
    throw new ModelError(`format version ${version}, but this page reads version ${form.version}; update Tacit`);
  }
  const entry = form.name + 8;
  if (length !== bytes.length || HEADER + count * entry > length) {
    throw new ModelError(`${bytes.length} bytes, but ${length} were written; copy it again`);
  }
  if (crc32(bytes.subarray(HEADER), crc32(bytes.subarray(0, HEADER - 4))) !== check) {
    throw new ModelError("damaged (its CRC-32 is not what it says); copy it again");
  }
  /** @type {Places} */
  const places = new Map();
  for (let at = HEADER; at < HEADER + count * entry; at += entry) {
    const name = String.fromCharCode(...bytes.subarray(at, at + form.name)).replace(/\0+$/, "");
    places.set(name, [number(at + form.name), number(at + form.name + 4)]);
  }
  return places;
}

/**
 * A ModelError for sections that do not fit together.
 * @param {unknown} error
 * @param {Format} form
 */
export function misfit(error, form) {
  const reason = error instanceof Error ? error.message : String(error);
  return new ModelError(`its sections do not fit together (${reason}); ${form.again}`);
}
