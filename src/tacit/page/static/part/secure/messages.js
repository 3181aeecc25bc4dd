// The bytes between clients and the server of a secure sum: a client's half of tacit.privacy.secure.messages.
//
//     header      magic "TSUM" · version, 1 byte: 1 · type, 1 byte · round id, 16 bytes · client, 4 bytes
//
//     1 Keys       →  share key 32 · mask key 32
//     2 Roster     ←  clients 4 · degree 4 · threshold 4 · then for each neighbour: id 4 · share key 32 · mask key 32
//     3 Shares     →  seed commitment 32 · count 4 · then for each neighbour: id 4 · digests 32 · 32 · sealed shares 82
//     4 Delivery   ←  count 4 · then for each neighbour that sent shares: as in 3, id is the sender
//     5 Masked     →  words 8 · then each word 8, little-endian
//     6 Survivors  ←  clients 4 · bit map of those whose vector arrived · bit map of those who sent shares and no vector
//     7 Revealed   →  count 4 · then for each neighbour that sent shares: id 4 · kind 1 · share 33

import { equal, integer, integerOf, join, sha256, utf8 } from "../bytes.js";
import { Refused } from "./errors.js";
import { DIGEST, KEY, TAG } from "./primitives.js";
import { SHARE } from "./shamir.js";

const MAGIC = utf8("TSUM");
const VERSION = 1;
export const ROUND = 16; // bytes of a round's id
const HEADER = 4 + 1 + 1 + ROUND + 4;
const SEALED = 2 * SHARE + TAG;
const FEWEST = 3; // of two, each would learn the other's vector from the sum
const KEYS = 1, ROSTER = 2, SHARES = 3, DELIVERY = 4, MASKED = 5, SURVIVORS = 6, REVEALED = 7;
const NAMES = ["terms", "keys", "roster", "shares", "delivery", "masked vector", "survivors", "revealed shares"];

/** @typedef {{roundId: Uint8Array, clients: number, words: number, least: number, schema: Uint8Array}} Terms */
/** @typedef {{id: number, shareKey: Uint8Array, maskKey: Uint8Array}} Neighbour */
/** @typedef {{clients: number, degree: number, threshold: number, neighbours: Neighbour[]}} Roster */
/** @typedef {{id: number, seedDigest: Uint8Array, keyDigest: Uint8Array, sealed: Uint8Array}} Parcel */
/** @typedef {{id: number, kind: number, share: Uint8Array}} Answer */

/** Refuse terms under which no round can be held. @param {Terms} terms */
export function checkTerms(terms) {
  if (terms.roundId.length !== ROUND || terms.schema.length !== DIGEST)
    throw new Refused(`a round's id has ${ROUND} bytes and its schema's hash ${DIGEST}`);
  if (!(FEWEST <= terms.least && terms.least <= terms.clients && terms.clients < 2 ** 32))
    throw new Refused(`a secure sum of ${terms.clients} clients cannot have ${terms.least} as its least number`);
  if (!(1 <= terms.words && terms.words < 2 ** 40))
    throw new Refused(`a vector of ${terms.words} words cannot be summed`);
}

/** The terms as bytes. @param {Terms} t */
export const encodeTerms = (t) =>
  join(MAGIC, [VERSION, 0], t.roundId, integer(t.clients, 4), integer(t.words, 8), integer(t.least, 4), t.schema);

/** The hash that every key of the round depends on. @param {Terms} terms */
export const contextOf = (terms) => sha256(encodeTerms(terms));

/** @param {Terms} terms @param {number} kind @param {number} client */
const header = (terms, kind, client) => join(MAGIC, [VERSION, kind], terms.roundId, integer(client, 4));

/** Message 1. @param {Terms} terms @param {number} me @param {Uint8Array} shareKey @param {Uint8Array} maskKey */
export const encodeKeys = (terms, me, shareKey, maskKey) => join(header(terms, KEYS, me), shareKey, maskKey);

/** Message 2. @param {Terms} terms @param {number} me @param {Uint8Array} message @returns {Roster} */
export function decodeRoster(terms, me, message) {
  const body = bodyOf(terms, ROSTER, me, message);
  require(body.length >= 12, ROSTER, me, "is cut short");
  const [clients, degree, threshold] = [0, 4, 8].map((at) => integerOf(body.subarray(at, at + 4)));
  const rows = rowsOf(terms, ROSTER, me, 4 + 2 * KEY, degree, body.subarray(12));
  const neighbours = rows.map(([id, row]) => ({ id, shareKey: row.slice(0, KEY), maskKey: row.slice(KEY) }));
  return { clients, degree, threshold, neighbours };
}

/** Message 3. @param {Terms} terms @param {number} me @param {Uint8Array} commitment @param {Parcel[]} parcels */
export const encodeShares = (terms, me, commitment, parcels) =>
  join(
    header(terms, SHARES, me),
    commitment,
    integer(parcels.length, 4),
    ...parcels.flatMap((p) => [integer(p.id, 4), p.seedDigest, p.keyDigest, p.sealed]),
  );

/** Message 4. @param {Terms} terms @param {number} me @param {Uint8Array} message @returns {Parcel[]} */
export function decodeDelivery(terms, me, message) {
  const body = bodyOf(terms, DELIVERY, me, message);
  require(body.length >= 4, DELIVERY, me, "is cut short");
  const size = 4 + 2 * DIGEST + SEALED;
  return rowsOf(terms, DELIVERY, me, size, integerOf(body.subarray(0, 4)), body.subarray(4)).map(([id, row]) => ({
    id,
    seedDigest: row.slice(0, DIGEST),
    keyDigest: row.slice(DIGEST, 2 * DIGEST),
    sealed: row.slice(2 * DIGEST),
  }));
}

/** Message 5; `vector` has the lower half of each word first. @param {Terms} terms @param {number} me @param {Uint32Array} vector */
export const encodeMasked = (terms, me, vector) =>
  join(header(terms, MASKED, me), integer(vector.length / 2, 8), new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength));

/** Message 6: who survived, and who dropped after sending shares. @param {Terms} terms @param {number} me
 * @param {Uint8Array} message @returns {[Set<number>, Set<number>]} */
export function decodeSurvivors(terms, me, message) {
  const body = bodyOf(terms, SURVIVORS, me, message);
  const size = Math.ceil(terms.clients / 8);
  require(body.length === 4 + 2 * size, SURVIVORS, me, `has ${body.length} bytes instead of ${4 + 2 * size}`);
  const clients = integerOf(body.subarray(0, 4));
  require(clients === terms.clients, SURVIVORS, me, `is of ${clients} clients instead of ${terms.clients}`);
  const [alive, dropped] = [body.subarray(4, 4 + size), body.subarray(4 + size)].map((map) => {
    const ids = new Set(/** @type {number[]} */ ([]));
    for (let i = 0; i < 8 * size; i++) if (map[i >> 3] & (128 >> (i & 7))) ids.add(i);
    const outside = Math.max(0, ...ids);
    require(outside < terms.clients, SURVIVORS, me, `names client ${outside}, who is not in the group`);
    return ids;
  });
  return [alive, dropped];
}

/** Message 7. @param {Terms} terms @param {number} me @param {Answer[]} answers */
export const encodeRevealed = (terms, me, answers) =>
  join(
    header(terms, REVEALED, me),
    integer(answers.length, 4),
    ...answers.flatMap((a) => [integer(a.id, 4), [a.kind], a.share]),
  );

/** What follows a header that is right: version, type, round and client.
 * @param {Terms} terms @param {number} kind @param {number} client @param {Uint8Array} message */
function bodyOf(terms, kind, client, message) {
  require(message.length >= HEADER, kind, client, "is cut short");
  require(equal(message.subarray(0, 4), MAGIC), kind, client, "is no message of a secure sum");
  require(message[4] === VERSION, kind, client, `has version ${message[4]}; this page reads ${VERSION}`);
  const name = NAMES[message[5]] ?? `type ${message[5]}`;
  require(message[5] === kind, kind, client, `is not what this stage takes: it is of the kind '${name}'`);
  require(equal(message.subarray(6, 6 + ROUND), terms.roundId), kind, client, "belongs to another round");
  const who = integerOf(message.subarray(6 + ROUND, HEADER));
  require(who === client, kind, client, `carries the id of client ${who}`);
  return message.subarray(HEADER);
}

/** Rows that begin with the id of another client of the group, in ascending order.
 * @param {Terms} terms @param {number} kind @param {number} client @param {number} size @param {number} count
 * @param {Uint8Array} body @returns {[number, Uint8Array][]} */
function rowsOf(terms, kind, client, size, count, body) {
  require(body.length === count * size, kind, client, `has ${body.length} bytes of entries instead of ${count * size}`);
  /** @type {[number, Uint8Array][]} */
  const rows = [];
  let before = -1;
  for (let at = 0; at < body.length; at += size) {
    const id = integerOf(body.subarray(at, at + 4));
    require(id < terms.clients, kind, client, `names client ${id}, who is not in the group`);
    require(id !== client, kind, client, "names the client itself");
    require(id > before, kind, client, `names client ${id} twice or out of order`);
    rows.push([id, body.subarray(at + 4, at + size)]);
    before = id;
  }
  return rows;
}

/** @param {boolean} holds @param {number} kind @param {number} client @param {string} what */
function require(holds, kind, client, what) {
  if (!holds) throw new Refused(`secure sum: the ${NAMES[kind]} for client ${client} ${what}; it is not taken`);
}
