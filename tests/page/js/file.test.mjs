// Files that are not what they should be: the reader says what is wrong and never fails otherwise.
import assert from "node:assert/strict";
import { test } from "node:test";

import { block, idOf, ModelError, open, SPECIALS } from "../../../src/tacit/page/compact.js";
import { crc32 } from "../../../src/tacit/page/crc32.js";
import { complete } from "../../../src/tacit/page/suggest.js";
import { bytes, vectors } from "./vectors.mjs";

const path = vectors.small.file;

/** A copy with some bytes changed and, if wanted, a CRC that fits. */
function changed(change, sealed = true) {
  const data = new Uint8Array(bytes(path));
  change(data, new DataView(data.buffer));
  if (sealed) new DataView(data.buffer).setUint32(20, crc32(data.subarray(24), crc32(data.subarray(0, 20))), true);
  return data.buffer;
}

test("CRC-32 is that of zlib", () => {
  const text = new TextEncoder().encode("123456789");
  assert.equal(crc32(text), 0xcbf43926); // the check value that every description of it gives
  assert.equal(crc32(text.subarray(4), crc32(text.subarray(0, 4))), 0xcbf43926);
  assert.equal(crc32(new Uint8Array(0)), 0);
});

test("an empty, a foreign, a short, a newer and a damaged file are told apart", () => {
  const refuses = (buffer, what) => assert.throws(() => open(buffer), (e) => e instanceof ModelError && what.test(e.message));
  refuses(new ArrayBuffer(0), /empty/);
  refuses(new TextEncoder().encode("\\data\\\nngram 1=3").buffer, /not a compact n-gram file/);
  refuses(bytes(path).slice(0, 5), /cut short/);
  refuses(bytes(path).slice(0, 1000), /1000 bytes, but \d+ were written/);
  refuses(changed((_, view) => view.setUint32(8, 2, true)), /format version 2, but this page reads version 1; update/);
  refuses(changed((data) => (data[data.length - 100] ^= 1), false), /damaged/);
});

test("a file whose sections lie is refused or read, but nothing else", () => {
  let seed = 7;
  const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  const refused = [];
  for (let i = 0; i < 150; i++) {
    const buffer = changed((data) => {
      const names = 24 + 16 * new DataView(data.buffer).getUint32(12, true);
      for (let j = 0; j < 2; j++) data[24 + random(names + 200)] = random(256);
    });
    try {
      open(buffer);
    } catch (error) {
      assert.ok(error instanceof ModelError, String(error));
      refused.push(error.message);
    }
  }
  assert.ok(refused.length > 20);
});

test("words of the block list are never suggested, in whatever capitals", () => {
  const model = open(bytes(path));
  const [first] = complete(model, ["see", "you"], "", 1);
  block(model, new Set([first.word]));
  assert.equal(model.hidden[idOf(model, first.word)], 1);
  assert.ok(complete(model, ["see", "you"], "", 50).every((c) => c.word !== first.word));
  assert.ok(complete(model, [], first.word, 5).every((c) => c.word !== first.word));
});

test("a file's own hidden words and the specials are never suggested", () => {
  const model = open(bytes(path));
  for (const c of complete(model, [], "", 3000)) assert.ok(c.id >= SPECIALS.length && !model.hidden[c.id]);
});
