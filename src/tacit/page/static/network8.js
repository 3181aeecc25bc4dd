// Reads Tacit's 8-bit network, the file of `tacit export`: int8 weights as views of the file, a scale for each row.
//
// `src/tacit/lm/network8/reader.py` documents the layout. This module refuses the files that it refuses; `forward.js`
// computes with what is read.

import { misfit, sectionsOf } from "./sections.js";
import { BLOCK, compare } from "./words.js";

/** @type {import("./sections.js").Format} */
const FORM = { magic: "TacitNN\n", version: 1, name: 32, what: "an 8-bit network", again: "export the run again" };
const SPECIALS = 3; // `<s>`, `</s>`, `<unk>`
const MOST_TEXT = 1 << 26; // bytes of all words, unpacked
const MOST_SUM = 1e15; // a product of a matrix
const LONGEST = 1000; // words of a context, if the run had no limit

/**
 * The fields of a run's model that shape the weights.
 * @typedef {{kind: string, embedding: number, hidden: number, layers: number, tied: boolean, variant: string,
 *   coupled: boolean, groups: number, layer_norm: boolean, residual: boolean}} Architecture
 */
/** Weights in 8 bits: `rows` × `columns` codes, a scale for each row; tuned ones are float32, of scale 1. */
/** @typedef {{codes: Int8Array | Float32Array, scale: Float32Array, rows: number, columns: number}} Matrix */
/**
 * An open file. `cased`: whether its words have capitals; `longest`: words of a context that are read.
 * @typedef {{facts: {name: string, source: string, cased: boolean}, architecture: Architecture, longest: number,
 *   words: import("./words.js").Words, matrices: Record<string, Matrix>, vectors: Record<string, Float32Array>,
 *   hidden: Uint8Array, bytes: number, mark: string}} Network `mark`: of the file, by its checksum
 */

/** Whether a file says that it is an 8-bit network. @param {ArrayBuffer} buffer */
export function isNetwork(buffer) {
  return String.fromCharCode(...new Uint8Array(buffer, 0, Math.min(8, buffer.byteLength))) === FORM.magic;
}

/**
 * Open a file; throws a ModelError if something is wrong with it. It waits, because a browser unpacks the words so.
 * @param {ArrayBuffer} buffer
 * @returns {Promise<Network>}
 */
export async function openNetwork(buffer) {
  const sections = sectionsOf(buffer, FORM);
  try {
    return await lookAt(buffer, sections);
  } catch (error) {
    throw misfit(error, FORM);
  }
}

/** @param {boolean} fits @param {string} what */
function must(fits, what) {
  if (!fits) throw new Error(what);
}

/**
 * The arrays, as views of the file.
 * @param {ArrayBuffer} buffer
 * @param {import("./sections.js").Places} sections
 * @returns {Promise<Network>}
 */
async function lookAt(buffer, sections) {
  const placeOf = (/** @type {string} */ name) => {
    const place = sections.get(name);
    if (!place) throw new Error(`'${name}' is missing`);
    return place;
  };
  /** The place of so many bytes, after `skip` others. */
  const at = (/** @type {string} */ name, /** @type {number} */ count, skip = 0) => {
    const [offset, size] = placeOf(name);
    must(size === skip + count && offset + size <= buffer.byteLength, `'${name}' has ${size} bytes, not ${skip + count}`);
    return offset + skip;
  };
  const text = (/** @type {string} */ name) => {
    const [offset, size] = placeOf(name); // as a slice in Python, which may end early
    return new Uint8Array(buffer.slice(offset, offset + size));
  };

  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const meta = strict.decode(text("meta"));
  const facts = JSON.parse(meta);
  must(!/\d[.eE]/.test(meta.replace(/"(?:[^"\\]|\\.)*"/g, "")), "a number is not whole"); // 20.0 is 20 once it is parsed
  const a = architectureOf(facts.model);
  const v = facts.vocabulary;
  must(Number.isInteger(v), "'vocabulary' is no number of words");
  const words = await wordsOf(text("words"), v, Math.floor(placeOf("embedding")[1] / a.embedding));
  must(
    ["lower", "keep"].includes(facts.case) && Number.isInteger(facts.max_words) && facts.max_words >= 0 && facts.max_words < 2 ** 31,
    "its 'case' or 'max_words' is not valid",
  );
  /** @type {Record<string, Matrix>} */
  const matrices = {};
  /** @type {Record<string, Float32Array>} */
  const vectors = {};
  const view = new DataView(buffer);
  for (const [name, rows, columns] of shapes(a, v)) {
    if (!columns) {
      const first = at(name, 2 * rows);
      vectors[name] = Float32Array.from({ length: rows }, (_, i) => half(view.getUint16(first + 2 * i, true)));
      must(vectors[name].every(Number.isFinite), `'${name}' has numbers that are not finite`);
      continue;
    }
    const codes = new Int8Array(buffer, at(name, rows * columns), rows * columns);
    const first = at(`${name}.scale`, rows, 8);
    const [low, high] = [view.getFloat32(first - 8, true), view.getFloat32(first - 4, true)];
    must(0 < low && low <= high && high < Infinity, `the scales of '${name}' go from ${low} to ${high}`);
    const steps = Float32Array.from({ length: 256 }, (_, c) => low * (high / low) ** (c / 255));
    matrices[name] = { codes, scale: new Uint8Array(buffer, first, rows).reduce(scaled(steps), new Float32Array(rows)), rows, columns };
  }
  checkSums(a, matrices);
  return {
    facts: { name: String(facts.name), source: String(facts.source), cased: facts.case === "keep" },
    architecture: a,
    longest: facts.max_words || LONGEST,
    words,
    matrices,
    vectors,
    hidden: new Uint8Array(v),
    bytes: buffer.byteLength,
    mark: `${buffer.byteLength}-${view.getUint32(20, true)}`, // its length and its CRC-32
  };
}

/** Fills in the scale of each row from its code. @param {Float32Array} steps */
const scaled = (steps) => (/** @type {Float32Array} */ all, /** @type {number} */ code, /** @type {number} */ i) => {
  all[i] = steps[code];
  return all;
};

/** A float16. @param {number} bits */
function half(bits) {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size =
    exponent === 31 ? (fraction ? NaN : Infinity) : exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24;
  return bits & 0x8000 ? -size : size;
}

/**
 * The architecture of a file; refuses an impossible one.
 * @param {any} table
 * @returns {Architecture}
 */
function architectureOf(table) {
  const { kind, embedding, hidden, layers, tied, variant, coupled, groups, layer_norm, residual } = table;
  const sizes = [embedding, hidden, layers, groups];
  must(
    sizes.every((n) => Number.isInteger(n) && n > 0) && embedding % groups === 0 && hidden % groups === 0,
    `sizes ${sizes} make no network`,
  );
  must(
    ["gru common", "gru printed", "lstm common"].includes(`${kind} ${variant}`) && typeof kind === "string",
    `no network of kind '${kind}', variant '${variant}'`,
  );
  must([tied, coupled, layer_norm, residual].every((x) => typeof x === "boolean"), "an option is neither true nor false");
  const features = kind === "gru" ? hidden : embedding;
  must(features === (tied ? embedding : hidden), "its output does not fit its states");
  return { kind, embedding, hidden, layers, tied, variant, coupled, groups, layer_norm, residual };
}

/**
 * The name, rows and columns of every weight; a vector has no columns.
 * @param {Architecture} a
 * @param {number} v
 * @returns {[string, number, number][]}
 */
function shapes(a, v) {
  /** @type {[string, number, number][]} */
  const all = [["embedding", v, a.embedding], ["output_bias", v, 0]];
  if (!a.tied) all.push(["output", v, a.hidden]);
  const [e, h] = [a.embedding, a.hidden];
  for (let depth = 0; depth < a.layers; depth++) {
    const s = depth ? h : e;
    /** @type {[string, number, number][]} */
    let layer = [];
    if (a.kind === "lstm") {
      const gates = (a.coupled ? 3 : 4) * h;
      layer = [["input", gates, e / a.groups], ["recurrent", gates, e / a.groups], ["projection", e, h]];
      if (a.coupled || !a.layer_norm) layer.push(["bias", gates, 0]);
      if (a.layer_norm) layer.push(["gate_gain", gates, 0], ["gate_shift", gates, 0], ["cell_gain", h, 0], ["cell_shift", h, 0]);
    } else if (a.variant === "printed") {
      layer = [["update", h, h + s], ["reset", h, h + s], ["candidate", h, h + s]];
    } else {
      layer = [["input", 3 * h, s], ["recurrent", 3 * h, h], ["input_bias", 3 * h, 0], ["recurrent_bias", 3 * h, 0]];
    }
    all.push(...layer.map(([name, rows, columns]) => /** @type {[string, number, number]} */ ([`${a.kind}${depth}/${name}`, rows, columns])));
  }
  return all;
}

/**
 * Refuses scales so large that a product might overflow, as Python does.
 * @param {Architecture} a
 * @param {Record<string, Matrix>} matrices
 */
function checkSums(a, matrices) {
  const largest = (/** @type {string} */ name) => 128 * matrices[name].scale.reduce((most, x) => Math.max(most, x), 0);
  let inputs = a.layers + largest("embedding");
  for (let depth = 0; a.kind === "lstm" && depth < a.layers; depth++) inputs += a.hidden * largest(`lstm${depth}/projection`);
  for (const [name, { columns }] of Object.entries(matrices)) {
    must(
      columns * largest(name) * inputs <= MOST_SUM,
      `the scales of '${name}' are so large that probabilities may be no numbers`,
    );
  }
}

/**
 * The words from id 3 on, in the form of a compact file's, so that a prefix is found as there.
 * @param {Uint8Array} packed
 * @param {number} vocabulary
 * @param {number} rows
 * @returns {Promise<import("./words.js").Words>}
 */
async function wordsOf(packed, vocabulary, rows) {
  const text = await unpacked(packed);
  new TextDecoder("utf-8", { fatal: true }).decode(text); // throws unless it is UTF-8
  /** @type {Uint8Array[]} */
  const keys = [];
  let from = 0;
  for (let to = text.indexOf(10); to >= 0; from = to + 1, to = text.indexOf(10, from)) keys.push(text.subarray(from, to));
  must(vocabulary > SPECIALS && vocabulary === rows && vocabulary === keys.length + SPECIALS, "its number of words does not match 'vocabulary'");
  const inOrder = keys.every((key, i) => (i ? compare(keys[i - 1], key) < 0 : key.length > 0));
  must(from === text.length && inOrder, "its words are not in order");
  return frontCoded(keys);
}

/** Unpacks zlib; the size is bounded, so a malicious section cannot fill the memory. @param {Uint8Array} packed */
async function unpacked(packed) {
  const parts = [];
  let size = 0;
  const stream = new Blob([/** @type {BlobPart} */ (packed)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const reader = stream.getReader();
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    size += value.length;
    must(size <= MOST_TEXT, "its words are truncated, or too long");
    parts.push(value);
  }
  const text = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    text.set(part, at);
    at += part.length;
  }
  // browsers refuse what is cut short or followed by junk, node may not: the checksum must be the last four bytes
  must(packed.length > 4 && checksum(text) === new DataView(packed.buffer, packed.byteOffset).getUint32(packed.length - 4), "its words are truncated, or too long");
  return text;
}

/** Adler-32, the checksum of zlib. @param {Uint8Array} text */
function checksum(text) {
  let [a, b] = [1, 0];
  for (const byte of text) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return b * 65536 + a;
}

/**
 * Sorted words in blocks, as words.js reads them.
 * @param {Uint8Array[]} keys
 * @returns {import("./words.js").Words}
 */
function frontCoded(keys) {
  /** @type {number[]} */
  const text = [];
  /** @type {number[]} */
  const starts = [];
  const varint = (/** @type {number} */ value) => {
    for (; value >= 128; value = Math.floor(value / 128)) text.push((value & 127) | 128);
    text.push(value);
  };
  keys.forEach((key, i) => {
    const last = i % BLOCK ? keys[i - 1] : null;
    let shared = 0;
    if (last) {
      while (shared < Math.min(last.length, key.length) && last[shared] === key[shared]) shared++;
      varint(shared);
    } else {
      starts.push(text.length);
    }
    varint(key.length - shared);
    for (let j = shared; j < key.length; j++) text.push(key[j]);
  });
  starts.push(text.length);
  return { count: keys.length, starts: Uint32Array.from(starts), text: Uint8Array.from(text) };
}
