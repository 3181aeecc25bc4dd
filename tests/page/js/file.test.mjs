// Files that are not what they should be: the reader says what is wrong and never fails otherwise.
import assert from "node:assert/strict";
import { test } from "node:test";

import { block, idOf, ModelError, open, SPECIALS } from "../../../src/tacit/page/static/compact.js";
import { crc32 } from "../../../src/tacit/page/static/crc32.js";
import { complete } from "../../../src/tacit/page/static/suggest.js";
import { bytes, vectors } from "./vectors.mjs";

const path = vectors.small.file;

/** A copy with some bytes changed and, if wanted, a CRC that fits. */
function changed(change, sealed = true, file = path) {
  const data = new Uint8Array(bytes(file));
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

/** Where a section begins, and its length. */
function section(data, name) {
  const view = new DataView(data.buffer);
  for (let at = 24; at < 24 + 16 * view.getUint32(12, true); at += 16) {
    const found = String.fromCharCode(...data.subarray(at, at + 8)).replace(/\0+$/, "");
    if (found === name) return [view.getUint32(at + 8, true), view.getUint32(at + 12, true)];
  }
  throw new Error(name);
}

test("a file whose numbers lead nowhere is refused before it is asked", () => {
  const lies = {
    blocks: (view, at) => view.setUint32(at + 4, 0xfffffff0, true), // a word of four gigabytes
    text: (view, at) => [0, 1, 2, 3, 4].forEach((i) => view.setUint8(at + i, 0xff)), // so has its length
    common: (view, at) => view.setUint32(at + 4, 0xffffffff, true),
    start2: (view, at) => view.setUint32(at + 4, 0xffffffff, true), // four thousand million n-grams to look at
    label2: (view, at) => view.setUint16(at, 0xffff, true),
    rank2: (view, at) => view.setUint32(at, 0xffffffff, true),
    pick3: (view, at) => view.setUint32(at + 4, 0xffffffff, true), // and as many bits
    deep2: (view, at) => view.setUint8(at, view.getUint8(at) ^ 1),
    head3: (view, at) => view.setUint8(at, view.getUint8(at) ^ 2),
    tp3: (view, at) => view.setFloat32(at + 4, NaN, true),
  };
  for (const [name, lie] of Object.entries(lies)) {
    const buffer = changed((data, view) => lie(view, section(data, name)[0]));
    assert.throws(() => open(buffer), (e) => e instanceof ModelError && /do not fit together/.test(e.message), name);
  }
});

test("crafted files are accepted and refused as by Python", () => {
  for (const [change, told] of vectors.crafted.changes) {
    const buffer = changed((data) => change.forEach(([at, byte]) => (data[at] = byte)), true, vectors.crafted.file);
    let refused = "";
    try {
      open(buffer);
    } catch (error) {
      assert.ok(error instanceof ModelError, String(error));
      refused = error.message;
    }
    assert.equal(refused === "", told === "", `${JSON.stringify(change)}: here '${refused}', Python '${told}'`);
  }
});

test("any file that is opened can be asked", () => {
  let seed = 11;
  const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  let asked = 0;
  for (let i = 0; i < 60; i++) {
    const buffer = changed((data) => (data[24 + random(data.length - 24)] = random(256)));
    try {
      const model = open(buffer);
      for (const context of [[], ["see", "you"], ["i", "am"]]) complete(model, context, i % 2 ? "t" : "", 3);
      asked++;
    } catch (error) {
      assert.ok(error instanceof ModelError, String(error));
    }
  }
  assert.ok(asked > 10 && asked < 60, String(asked));
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
  assert.ok(idOf(model, "pizza") >= SPECIALS.length && model.hidden[idOf(model, "pizza")]);
  for (const c of complete(model, [], "", 3000)) assert.ok(c.id >= SPECIALS.length && !model.hidden[c.id]);
});
