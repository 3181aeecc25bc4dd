// Tests of secure sums on the shared vectors, by name: node runs them (secure.test.mjs), and so does Chromium
// (test_part_secure.py). They use no assertion library, because a browser has none.

import { hex, integer, join, unhex } from "../../../src/tacit/page/static/part/bytes.js";
import { makeClient } from "../../../src/tacit/page/static/part/secure/client.js";
import { checkParts, digestOf, encode, mostBits } from "../../../src/tacit/page/static/part/secure/codec.js";
import { Abandoned, Refused } from "../../../src/tacit/page/static/part/secure/errors.js";
import { addMasks } from "../../../src/tacit/page/static/part/secure/masks.js";
import { contextOf, encodeTerms } from "../../../src/tacit/page/static/part/secure/messages.js";
import * as primitives from "../../../src/tacit/page/static/part/secure/primitives.js";
import { split } from "../../../src/tacit/page/static/part/secure/shamir.js";

const same = (got, wanted, what) => {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${what}: ${a.slice(0, 300)} instead of ${b.slice(0, 300)}`);
};

async function fails(kind, words, work) {
  try {
    await work();
  } catch (error) {
    if (error instanceof kind && error.message.includes(words)) return;
    throw new Error(`failed with ${error.constructor.name} "${error.message}" instead of "${words}"`);
  }
  throw new Error(`was taken, although: ${words}`);
}

/** Random bytes that were drawn before, in their order. */
function drawn(parts) {
  const left = parts.map(unhex);
  return (size) => {
    const next = left.shift();
    if (next?.length !== size) throw new Error(`draws ${size} bytes where Python drew ${next?.length}`);
    return next;
  };
}

/** Decimal words as halves, the lower first; and back. */
const halves = (words) => Uint32Array.from(words.flatMap((w) => [Number(BigInt(w) & 0xffffffffn), Number(BigInt(w) >> 32n)]));
const decimals = (halves) =>
  Array.from({ length: halves.length / 2 }, (_, i) => String((BigInt(halves[2 * i + 1]) << 32n) | BigInt(halves[2 * i])));

export function secureTests(round, fixed) {
  const said = round.terms;
  const terms = {
    roundId: unhex(said.round_id),
    clients: said.clients,
    words: said.words,
    least: said.least,
    schema: unhex(said.schema),
  };
  const context = unhex(said.context);
  const message = (kind, i) => unhex(round.messages[kind][i]);
  const fresh = (i) => makeClient(terms, i, drawn(round.clients[i].drawn));

  /** Client 0 before a stage; `changed` are messages in place of the server's. */
  async function before(stage, i = 0) {
    const client = fresh(i);
    if (stage === "advertise") return client;
    await client.advertise();
    if (stage === "share") return client;
    await client.share(message("roster", i));
    if (stage === "mask") return client;
    await client.mask(message("delivery", i), halves(round.clients[i].vector));
    return client;
  }

  const refused = (stage, kind, words, change) => async () => {
    const client = await before(stage);
    const name = { share: "roster", mask: "delivery", unmask: "survivors" }[stage];
    const damaged = change(message(name, 0));
    const give = () =>
      stage === "mask" ? client.mask(damaged, halves(round.clients[0].vector)) : client[stage](damaged);
    await fails(kind, words, give);
    if (client.stage !== "abandoned") throw new Error("the client has not abandoned the round");
    await fails(Abandoned, "has abandoned", () => client[stage](message(name, 0)));
  };
  const at = (place, byte) => (bytes) => {
    const copy = bytes.slice();
    copy[place] ^= byte;
    return copy;
  };
  const maps = (alive, gone) => () => {
    const map = (ids) => {
      const found = new Uint8Array(2);
      for (const i of ids) found[i >> 3] |= 128 >> (i & 7);
      return found;
    };
    return join(message("survivors", 0).slice(0, 26), integer(9, 4), map(alive), map(gone));
  };

  return {
    "the terms and their hash": async () => {
      same(hex(encodeTerms(terms)), said.encoded, "terms");
      same(hex(await contextOf(terms)), said.context, "context");
    },

    "every key, commitment and mask": async () => {
      const mask = async (key) => {
        const vector = new Uint32Array(2 * terms.words);
        await addMasks(vector, [key], []);
        return decimals(vector);
      };
      for (const client of round.clients) {
        const [share, maskSecret, seed] = client.drawn.map(unhex);
        same(hex(await primitives.publicKey(share)), client.share_public, "share key");
        same(hex(await primitives.publicKey(maskSecret)), client.mask_public, "mask key");
        same(hex(await primitives.seedCommitment(seed, context, client.id)), client.seed_commitment, "commitment");
        same(hex(primitives.info("self", client.id)), client.self_info, "label");
        const own = await primitives.selfKey(seed, context, client.id);
        same(hex(own), client.self_key, "self key");
        same(await mask(own), client.self_mask, "self mask");
      }
      for (const pair of round.pairs) {
        const [one, other] = [round.clients[pair.from], round.clients[pair.to]];
        const secret = unhex(one.drawn[0]), theirs = unhex(other.share_public);
        same(hex(await primitives.agree(secret, theirs)), pair.share_secret, "share secret");
        same(hex(await primitives.shareKey(secret, theirs, context, pair.from, pair.to)), pair.share_key, "share key");
        if (!pair.mask_key) continue;
        const key = await primitives.maskKey(unhex(one.drawn[1]), unhex(other.mask_public), context, pair.from, pair.to);
        same(hex(key), pair.mask_key, "mask key");
        same(await mask(key), pair.mask, "mask");
      }
    },

    "every share of every client": () => {
      for (const client of round.clients) {
        const random = drawn(client.drawn.slice(3));
        const places = Object.keys(client.shares).map((id) => Number(id) + 1);
        for (const [part, which] of [["key", 1], ["seed", 2]]) {
          const shares = split(unhex(client.drawn[which]), places, round.graph.threshold, random);
          for (const place of places) same(hex(shares.get(place)), client.shares[place - 1][part], `${part} of ${client.id}`);
        }
      }
    },

    "every message of every client, byte for byte": async () => {
      for (const { id, vector } of round.clients) {
        const client = fresh(id);
        same(hex(await client.advertise()), round.messages.keys[id], `keys of ${id}`);
        same(hex(await client.share(message("roster", id))), round.messages.shares[id], `shares of ${id}`);
        const masked = hex(await client.mask(message("delivery", id), halves(vector)));
        if (round.messages.masked[id]) same(masked, round.messages.masked[id], `masked vector of ${id}`);
        if (round.messages.revealed[id]) {
          same(hex(await client.unmask(message("survivors", id))), round.messages.revealed[id], `answers of ${id}`);
          same(client.stage, "over", "stage");
        }
      }
    },

    "masks longer than a piece, and their removal": async () => {
      const words = 200_001; // 1.6 MB: a piece and a half
      const vector = new Uint32Array(2 * words).map((_, i) => (i * 2654435761) >>> 0);
      const copy = vector.slice();
      const keys = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
      await addMasks(copy, keys, []);
      const stream = new Uint8Array(8 * words);
      for (const key of keys) {
        const aes = await crypto.subtle.importKey("raw", key, "AES-CTR", false, ["encrypt"]);
        const whole = new Uint8Array(
          await crypto.subtle.encrypt({ name: "AES-CTR", counter: new Uint8Array(16), length: 64 }, aes, new Uint8Array(8 * words)),
        );
        const [a, b] = [new BigUint64Array(stream.buffer), new BigUint64Array(whole.buffer)];
        for (let i = 0; i < words; i++) a[i] += b[i];
      }
      const wanted = new BigUint64Array(vector.slice().buffer), mask = new BigUint64Array(stream.buffer);
      const got = new BigUint64Array(copy.buffer);
      for (let i = 0; i < words; i++) if (got[i] !== BigInt.asUintN(64, wanted[i] + mask[i])) throw new Error(`word ${i}`);
      await addMasks(copy, [], keys);
      if (!copy.every((half, i) => half === vector[i])) throw new Error("masks do not cancel");
    },

    "fixed point: words, digest, bounds": async () => {
      same(hex(await digestOf(fixed.parts)), fixed.schema, "digest");
      fixed.messages.forEach((one, i) => {
        const leaves = fixed.parts.map((part) => {
          const all = [one[part.name]].flat(Infinity);
          return part.name === "share" ? Float32Array.from(all) : all;
        });
        same(decimals(encode(fixed.parts, leaves)), fixed.words[i], `message ${i}`);
      });
      same([mostBits(8, 100), mostBits(1e-6, 100)], [53, 62], "most bits");
      const one = [{ name: "x", shape: [1], bound: 2, bits: 32, quanta: 0 }];
      for (const x of [2.1, -2.1, NaN, Infinity]) await fails(Refused, "beyond its bound", () => encode(one, [[x]]));
      await fails(Refused, "does not fit", () => checkParts([{ ...one[0], bits: 62 }], 8));
      await fails(Refused, "numbers", () => encode(one, [[1, 2]]));
    },

    "terms under which nobody is hidden": async () => {
      for (const less of [{ least: 2 }, { least: 10 }, { words: 0 }, { roundId: new Uint8Array(15) }])
        await fails(Refused, "", () => makeClient({ ...terms, ...less }, 0));
    },

    "a stage that is not its turn changes nothing": async () => {
      const client = await before("share");
      await fails(Refused, "its stage is 'share'", () => client.unmask(message("survivors", 0)));
      same(hex(await client.share(message("roster", 0))), round.messages.shares[0], "shares");
      await fails(Refused, "its stage is 'mask'", () => client.share(message("roster", 0)));
    },

    "two calls of one stage at once: one is refused": async () => {
      const client = await before("unmask");
      const both = await Promise.allSettled([1, 2].map(() => client.unmask(message("survivors", 0))));
      same(both.map((one) => one.status).sort(), ["fulfilled", "rejected"], "answers");
    },

    "never both shares of one client": refused("unmask", Abandoned, "both shares", maps([0, 1, 2, 3, 4, 5, 6, 7], [2])),
    "nobody is asked who is counted absent": refused("unmask", Abandoned, "absent", maps([1, 3, 4, 5, 6, 7], [0, 2])),
    "a sum of fewer than the least number": refused("unmask", Abandoned, "least number", maps([0, 1], [2, 3, 4, 5, 6, 7])),
    "survivors that are not those of the delivery": refused("unmask", Abandoned, "delivered", maps([0, 1, 3, 4, 5, 6], [2])),
    "fewer neighbours than the threshold": refused("unmask", Abandoned, "threshold", (bytes) => {
      const near = round.graph.neighbours[0];
      const alive = [0, ...near.slice(0, round.graph.threshold - 1)];
      return maps(alive, near.slice(round.graph.threshold - 1))(bytes);
    }),
    "survivors outside the group": refused("unmask", Refused, "not in the group", maps([0, 1, 2, 3, 4, 5, 6, 7, 12], [])),
    "another round's message": refused("share", Refused, "another round", at(7, 1)),
    "another version": refused("share", Refused, "version", at(4, 2)),
    "another kind": refused("share", Refused, "is not what this stage takes", at(5, 1)),
    "another client's message": refused("share", Refused, "carries the id", at(25, 1)),
    "a roster of too few": refused("share", Abandoned, "clients advertise keys", at(29, 8 ^ 2)),
    "a roster with a low threshold": refused("share", Abandoned, "threshold", at(37, round.graph.threshold ^ 1)),
    "a neighbour twice": refused("share", Refused, "twice or out of order", (bytes) => {
      const copy = bytes.slice();
      copy.set(copy.slice(38, 106), 106);
      return copy;
    }),
    "a key twice": refused("share", Abandoned, "public keys are the same", (bytes) => {
      const copy = bytes.slice();
      copy.set(copy.slice(42, 74), 110);
      return copy;
    }),
    "a key of small order": refused("share", Refused, "small order", (bytes) => {
      const copy = bytes.slice();
      copy.fill(0, 42, 74);
      return copy;
    }),
    "a forged share": refused("mask", Abandoned, "cannot be opened", at(30 + 4 + 64 + 5, 1)),
    "a share that is not the one vouched for": refused("mask", Abandoned, "vouched for", at(30 + 4, 1)),
    "a duplicated parcel": refused("mask", Refused, "twice or out of order", (bytes) => {
      const copy = bytes.slice();
      copy.set(copy.slice(30, 180), 180);
      return copy;
    }),
    "too few shares": refused("mask", Abandoned, "the threshold is", (bytes) =>
      join(bytes.slice(0, 26), integer(1, 4), bytes.slice(30, 30 + 150)),
    ),
    "a message that is cut short": refused("mask", Refused, "bytes of entries", (bytes) => bytes.slice(0, -1)),
  };
}
