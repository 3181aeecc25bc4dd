// A client of a secure sum: the state machine of tacit.privacy.secure.client, with the same bytes.
//
//     advertise   two new X25519 key pairs, one to seal shares and one for masks
//     share       a new seed; Shamir shares of the seed and of the private mask key for every neighbour, sealed
//     mask        vector + own mask ± a mask for every neighbour that sent shares
//     unmask      for each neighbour one share: of its seed if its vector arrived, of its mask key if not
//
// A stage is left before it begins, so none is taken twice, also by two calls at once. A message at the wrong stage is
// refused and changes nothing; one with wrong content ends the round here, and all secrets are forgotten.

import { equal, hex, join } from "../bytes.js";
import { Abandoned, Refused } from "./errors.js";
import { addMasks } from "./masks.js";
import {
  checkTerms, contextOf, decodeDelivery, decodeRoster, decodeSurvivors, encodeKeys, encodeMasked, encodeRevealed, encodeShares,
} from "./messages.js";
import {
  KEY, KEY_SHARE, SEED_SHARE, maskKey, publicKey, seal, seedCommitment, selfKey, shareDigest, shareKey, unseal,
} from "./primitives.js";
import { SHARE, split } from "./shamir.js";

export const STAGES = ["advertise", "share", "mask", "unmask"];
const OVER = "over", ABANDONED = "abandoned";
const ENOUGH = 31; // neighbours: as in tacit.privacy.secure.graph

/** @typedef {import("./messages.js").Terms} Terms */

/** Random bytes of the browser. @param {number} size */
const system = (size) => crypto.getRandomValues(new Uint8Array(size));

const nothing = () => ({
  sharePrivate: new Uint8Array(),
  sharePublic: new Uint8Array(),
  maskPrivate: new Uint8Array(),
  maskPublic: new Uint8Array(),
  seed: new Uint8Array(),
  threshold: 0,
  neighbours: /** @type {Map<number, import("./messages.js").Neighbour>} */ (new Map()),
  held: /** @type {Map<number, [Uint8Array, Uint8Array]>} */ (new Map()), // shares of a seed and of a mask key
});

/** How many neighbours a client insists on. @param {number} clients @param {number} least */
export const fewestNeighbours = (clients, least) => Math.min(least - 1, clients - 1, ENOUGH);

/**
 * One client in one round.
 * @param {Terms} terms @param {number} me @param {(size: number) => Uint8Array} random
 */
export function makeClient(terms, me, random = system) {
  checkTerms(terms);
  if (!(0 <= me && me < terms.clients)) throw new Refused(`client ${me} is not one of the ${terms.clients} of this round`);
  const context = contextOf(terms);
  let stage = STAGES[0];
  let secrets = nothing();

  /** @param {boolean} holds @param {string} reason */
  function require(holds, reason) {
    if (!holds) throw new Abandoned(`secure sum: client ${me} abandons the round: ${reason}`);
  }

  /** @param {string} wanted @param {() => Promise<Uint8Array>} work */
  async function taking(wanted, work) {
    if (stage === ABANDONED) throw new Abandoned(`secure sum: client ${me} has abandoned this round`);
    if (stage !== wanted) throw new Refused(`secure sum: client ${me} is asked to ${wanted}; its stage is '${stage}'`);
    stage = [...STAGES, OVER][STAGES.indexOf(wanted) + 1];
    try {
      return await work();
    } catch (error) {
      forget();
      throw error;
    }
  }

  function forget() {
    stage = ABANDONED;
    secrets = nothing();
  }

  /** Refuse a graph that would not hide this client, or keys that cannot be right. @param {import("./messages.js").Roster} roster */
  function checkRoster(roster) {
    const { clients, degree, threshold } = roster;
    require(
      terms.least <= clients && clients <= terms.clients,
      `${clients} clients advertise keys, this round takes ${terms.least} to ${terms.clients}`,
    );
    const fewest = fewestNeighbours(clients, terms.least);
    require(
      fewest <= degree && degree < clients,
      `it has ${degree} neighbours among ${clients} clients, ${fewest} is the least number`,
    );
    require(
      degree < 2 * threshold && 2 * threshold <= 2 * degree,
      `the threshold ${threshold} must be more than half of ${degree} neighbours`,
    );
    const keys = roster.neighbours.flatMap((one) => [one.shareKey, one.maskKey]);
    const every = [...keys, secrets.sharePublic, secrets.maskPublic].map(hex);
    require(new Set(every).size === every.length, "two of the public keys are the same");
  }

  /** @param {import("./messages.js").Neighbour} to @param {Uint8Array} seed @param {Uint8Array} key */
  async function parcelFor(to, seed, key) {
    const known = await context;
    const sealing = await shareKey(secrets.sharePrivate, to.shareKey, known, me, to.id);
    return {
      id: to.id,
      seedDigest: await shareDigest(seed, known, SEED_SHARE, me, to.id),
      keyDigest: await shareDigest(key, known, KEY_SHARE, me, to.id),
      sealed: await seal(sealing, join(seed, key), join(secrets.maskPublic, to.maskKey)),
    };
  }

  /** The shares that a neighbour sent, if they are what it vouched for. @param {import("./messages.js").Parcel} parcel
   * @returns {Promise<[Uint8Array, Uint8Array]>} */
  async function opened(parcel) {
    const sender = secrets.neighbours.get(parcel.id);
    if (!sender) throw new Abandoned(`secure sum: client ${me} abandons the round: client ${parcel.id} is no neighbour and sends shares`);
    const known = await context;
    const key = await shareKey(secrets.sharePrivate, sender.shareKey, known, sender.id, me);
    const plain = await unseal(key, parcel.sealed, join(sender.maskKey, secrets.maskPublic));
    if (!plain)
      throw new Abandoned(
        `secure sum: client ${me} abandons the round: the shares of client ${sender.id} cannot be opened; ` +
          "they are forged or damaged, or the two know different keys",
      );
    const seed = plain.slice(0, SHARE), share = plain.slice(SHARE);
    require(
      equal(await shareDigest(seed, known, SEED_SHARE, sender.id, me), parcel.seedDigest) &&
        equal(await shareDigest(share, known, KEY_SHARE, sender.id, me), parcel.keyDigest),
      `the shares of client ${sender.id} are not those that it vouched for`,
    );
    return [seed, share];
  }

  /** @param {number} other */
  async function maskKeyOf(other) {
    const neighbour = /** @type {import("./messages.js").Neighbour} */ (secrets.neighbours.get(other));
    return maskKey(secrets.maskPrivate, neighbour.maskKey, await context, me, other);
  }

  return {
    /** What the client does next: a stage, or "over" or "abandoned". */
    get stage() {
      return stage;
    },

    /** Forget everything: this client answers nothing more. */
    forget,

    /** The client's public keys (message 1). */
    advertise: () =>
      taking("advertise", async () => {
        secrets.sharePrivate = random(KEY);
        secrets.maskPrivate = random(KEY);
        secrets.maskPublic = await publicKey(secrets.maskPrivate);
        secrets.sharePublic = await publicKey(secrets.sharePrivate);
        return encodeKeys(terms, me, secrets.sharePublic, secrets.maskPublic);
      }),

    /** Take the neighbours' keys (message 2) and return sealed shares for them (message 3). @param {Uint8Array} message */
    share: (message) =>
      taking("share", async () => {
        const roster = decodeRoster(terms, me, message);
        checkRoster(roster);
        secrets.neighbours = new Map(roster.neighbours.map((one) => [one.id, one]));
        secrets.threshold = roster.threshold;
        secrets.seed = random(KEY);
        const places = roster.neighbours.map((one) => one.id + 1);
        const keys = split(secrets.maskPrivate, places, roster.threshold, random);
        const seeds = split(secrets.seed, places, roster.threshold, random);
        const parcels = [];
        for (const one of roster.neighbours) {
          const [seed, key] = [seeds.get(one.id + 1), keys.get(one.id + 1)];
          parcels.push(await parcelFor(one, /** @type {Uint8Array} */ (seed), /** @type {Uint8Array} */ (key)));
        }
        const commitment = await seedCommitment(secrets.seed, await context, me);
        return encodeShares(terms, me, commitment, parcels);
      }),

    /** Take the neighbours' shares (message 4) and return the masked vector (message 5). `vector` has the lower half of
     * each word first; it is overwritten. @param {Uint8Array} message @param {Uint32Array} vector */
    mask: (message, vector) =>
      taking("mask", async () => {
        for (const parcel of decodeDelivery(terms, me, message)) secrets.held.set(parcel.id, await opened(parcel));
        const { held, threshold } = secrets;
        require(held.size >= threshold, `only ${held.size} neighbours sent shares, the threshold is ${threshold}`);
        require(
          vector.length === 2 * terms.words,
          `the vector has ${vector.length / 2} words; this round sums ${terms.words}`,
        );
        const plus = [await selfKey(secrets.seed, await context, me)];
        const minus = [];
        for (const other of held.keys()) (me < other ? plus : minus).push(await maskKeyOf(other));
        await addMasks(vector, plus, minus);
        secrets.maskPrivate = secrets.seed = new Uint8Array(); // never needed again
        return encodeMasked(terms, me, vector);
      }),

    /** Take the set of survivors (message 6) and return one share for each neighbour (message 7), once. @param {Uint8Array} message */
    unmask: (message) =>
      taking("unmask", async () => {
        const { held, neighbours, threshold } = secrets;
        const [alive, dropped] = decodeSurvivors(terms, me, message);
        const named = [...neighbours.keys()].filter((id) => alive.has(id) || dropped.has(id));
        require(![...alive].some((id) => dropped.has(id)), "the server asks for both shares of a client");
        require(alive.has(me), "the server counts this client as absent and still asks it");
        require(alive.size >= terms.least, `the sum would be of ${alive.size} clients, ${terms.least} is the least number`);
        require(
          named.length === held.size && named.every((id) => held.has(id)),
          "the survivors are not those whose shares it delivered",
        );
        const surviving = [...held.keys()].filter((id) => alive.has(id)).length;
        require(surviving >= threshold, "fewer neighbours than the threshold survive");
        const answers = [...held]
          .sort(([a], [b]) => a - b)
          .map(([id, [seed, key]]) =>
            alive.has(id) ? { id, kind: SEED_SHARE, share: seed } : { id, kind: KEY_SHARE, share: key },
          );
        secrets = nothing();
        return encodeRevealed(terms, me, answers);
      }),
  };
}
