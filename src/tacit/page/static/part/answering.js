// What a tab answers: the four tasks of a secure sum, as tacit.network.tasks.secure does, and nothing else.
//
//     advertise   what the work needs, and the terms of the sum  →  public keys
//     share       the neighbours' keys                           →  sealed shares for them
//     mask        the neighbours' shares                         →  the masked vector
//     unmask      who survived                                   →  one share for each neighbour
//
// Every other kind of task would be answered in the clear, so it is refused. Training comes first; its result stays in
// memory as a vector of integers and leaves it under masks only. A tab is in one sum at a time.

import { double, hex, integer, join, sha256, unhex, utf8 } from "./bytes.js";
import { understood } from "./config.js";
import { changes, clipped } from "./clip.js";
import { Refusal } from "./refusal.js";
import { checkParts, digestOf, encode, mostBits, wordsOf } from "./secure/codec.js";
import { makeClient, STAGES } from "./secure/client.js";
import { readWords } from "./text.js";

const VERSION = 1; // of the messages between server and clients
const LONGEST = 24 * 3600; // seconds that a sum is remembered, whatever the server says
const FEWEST = 3;
const COMMON = ["config", "lr", "population", "round", "rounds", "seed", "work"]; // facts that all clients of a sum are told alike
const TASK = {
  version: "int", kind: "str", round: "int", number: "int", population: "int", rounds: "int", seed: "int", config: "str", secret: "str",
};
const FIRST = { lr: "float", work: "str", sum: "str", group: "int", place: "int", schema: "str", seconds: "float" };
/** @type {Record<string, Record<string, string>>} */
const KINDS = { advertise: FIRST, share: { sum: "str" }, mask: { sum: "str" }, unmask: { sum: "str" } };
const MOST_SCORED = 2 ** 30; // of each sum of scores of one client
const LARGEST = 2 ** 22; // of a number of the model

/** @typedef {import("./records.js").Parcel} Parcel */
/** @typedef {{name: string, shape: number[], values: Float32Array}} Leaf */
/** An array of moments that travel. @typedef {import("../train/optimiser.js").Travels} Travels */
/**
 * What training needs: the tables of the configuration, the words, the model, and the task's numbers.
 * @typedef {{config: import("./config.js").Config, words: string[], model: Leaf[], carried: Float32Array[], work: string,
 * round: number, number: number, seed: number, lr: number}} Work
 */
/**
 * How a tab trains. `leaves` gives names and shapes of the model's parameters in the order of Python's tree, and throws
 * for a model that cannot be trained here; `travels` says which moments travel; `train` gives w − w_t, in the same order,
 * the client's weight and the moments after training; `measure` gives the sums of scores over the held-out text, by
 * Python's names.
 * @typedef {object} Trainer
 * @property {(config: import("./config.js").Config, vocabulary: number) => {name: string, shape: number[]}[]} leaves
 * @property {(config: import("./config.js").Config, vocabulary: number) => Travels[]} travels
 * @property {(work: Work) => Promise<{update: Float32Array[], weight: number, carried: Float32Array[]}>} train
 * @property {(work: Work) => Promise<Record<string, number>>} measure
 */
/** What a person may know of a sum. @typedef {{work: string, round: number, rounds: number, clip: number, norm: number,
 * noise: number, mechanism: string, delta: number, group: number, least: number, clients?: number}} Told */

/** The facts of a task; refuses what a tab does not know. @param {import("./records.js").Facts} facts @returns {Record<string, any>} */
export function checkedFacts(facts) {
  for (const name of Object.keys(TASK)) if (!(name in facts)) throw new Refusal("schema", `a task has the facts ${Object.keys(TASK).join(", ")}`);
  if (facts.version.value !== VERSION || facts.version.type !== "int")
    throw new Refusal("version", `messages of version ${facts.version.value}, this page speaks ${VERSION}`);
  const kind = facts.kind.type === "str" ? facts.kind.value : "";
  if (!Object.hasOwn(KINDS, kind)) throw new Refusal("kind", `a tab answers ${STAGES.join(", ")}: under masks only`);
  const wanted = /** @type {Record<string, string>} */ ({ ...TASK, ...KINDS[kind] });
  if (Object.keys(facts).sort().join() !== Object.keys(wanted).sort().join())
    throw new Refusal("schema", `a task has the facts ${Object.keys(wanted).join(", ")}`);
  /** @type {Record<string, any>} */
  const values = {};
  for (const [name, type] of Object.entries(wanted)) {
    if (facts[name].type !== type) throw new Refusal("schema", `${name} is ${facts[name].type}, expected ${type}`);
    values[name] = facts[name].value;
  }
  const { round, rounds, number, population } = values;
  if (!(0 <= round && round < rounds && 0 <= number && number < population && population < 2 ** 31))
    throw new Refusal("schema", "its round or number is out of range");
  return values;
}

/** The hash of a layout and of all in a task that its clients have in common, as tacit.network.tasks.secure.bound: clients
 * that were given different models get different keys. @param {Uint8Array} layout @param {Record<string, any>} facts
 * @param {Parcel["arrays"]} arrays */
async function bound(layout, facts, arrays) {
  const parts = COMMON.map((name) => (name === "lr" ? double(facts.lr) : utf8(String(facts[name]))));
  for (const name of [...arrays.keys()].sort()) {
    const { kind, shape, values } = /** @type {import("./npy.js").Numbers} */ (arrays.get(name));
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    parts.push(utf8(name), utf8(kind), utf8(shape.join()), await sha256(bytes));
  }
  return sha256(join(utf8("tacit masked task 1"), layout, ...parts.flatMap((part) => [integer(part.length, 4), part])));
}

/** The facts that an answer repeats of its task. @param {Record<string, any>} task @returns {import("./records.js").Facts} */
export const answerFacts = (task) => ({
  version: { type: "int", value: task.version },
  kind: { type: "str", value: task.kind },
  round: { type: "int", value: task.round },
  secret: { type: "str", value: task.secret },
});

/**
 * The function that answers tasks with this person's text; it throws what it refuses.
 * @param {Trainer} trainer @param {(told: Told) => void} tell called when a sum begins, and when it ends
 * @param {(told: Told) => Promise<any>} leaves called before a masked vector leaves this tab
 */
export function answering(trainer, tell = () => {}, leaves = async () => {}) {
  /** @type {{id: string, sum: null | {client: ReturnType<typeof makeClient>, vector: Uint32Array, round: number, told: Told}}} */
  const seat = { id: "", sum: null };
  let timer = /** @type {any} */ (0);

  function forget() {
    seat.sum?.client.forget();
    seat.sum = null;
    clearTimeout(timer);
  }

  /** @param {Record<string, any>} facts @param {Parcel} task */
  async function advertise(facts, task) {
    const config = understood(facts.config);
    if (facts.work !== "train" && facts.work !== "evaluate") throw new Refusal("kind", `a tab does not ${facts.work}`);
    const { sum, group, place, seconds } = facts;
    if (!/^[0-9a-f]{32}$/.test(sum)) throw new Refusal("schema", "the id of a sum is 16 bytes in hexadecimal digits");
    if (!(FEWEST <= group && group <= facts.population && 0 <= place && place < group))
      throw new Refusal("schema", "its group or place is out of range");
    if (!(Number.isFinite(seconds) && seconds > 0)) throw new Refusal("schema", "the time of a sum is a positive number");
    if (sum === seat.id) throw new Refusal("replay", "this tab has been in this sum");
    forget();
    seat.id = sum;
    const { parts, values, told } = await made(facts, config, task);
    const schema = await bound(await digestOf(parts), facts, task.arrays);
    if (hex(schema) !== facts.schema) throw new Refusal("schema", "this tab reads the task, or lays its message out, otherwise");
    checkParts(parts, group);
    const least = /** @type {number} */ (config.privacy.least);
    const client = makeClient({ roundId: unhex(sum), clients: group, words: wordsOf(parts), least, schema }, place);
    const said = await client.advertise();
    if (seat.id !== sum) throw new Refusal("replay", "a newer sum has begun");
    seat.sum = { client, vector: encode(parts, values), round: facts.round, told };
    timer = setTimeout(forget, 1000 * Math.min(seconds, LONGEST));
    tell(told);
    return said;
  }

  /** The work of a sum, as a message and its layout. @param {Record<string, any>} facts
   * @param {import("./config.js").Config} config @param {Parcel} task */
  async function made(facts, config, task) {
    const { privacy } = config;
    const arrays = new Map(task.arrays);
    const listed = arrays.get("words");
    if (listed?.kind !== "|u1" || listed.shape.length !== 1) throw new Refusal("schema", "a task has its words as bytes");
    arrays.delete("words");
    const words = readWords(/** @type {Uint8Array} */ (listed.values));
    const trains = facts.work === "train";
    const wanted = shapes(() => trainer.leaves(config, words.length));
    const moments = trains ? shapes(() => trainer.travels(config, words.length)) : [];
    const { model, carried } = modelOf(arrays, wanted, moments, trains);
    const work = { config, words, model, carried, work: facts.work, round: facts.round, number: facts.number, seed: /** @type {number} */ (config[""].seed), lr: facts.lr };
    const isHidden = privacy.mechanism !== "clipped" && privacy.noise_source === "system"; // repeatable noise hides nothing
    const told = {
      work: facts.work, round: facts.round, rounds: facts.rounds, clip: 0, norm: 0, noise: isHidden ? Number(privacy.noise) : 0,
      mechanism: String(privacy.mechanism), delta: Number(privacy.delta), group: facts.group, least: Number(privacy.least),
    };
    const part = (/** @type {string} */ name, /** @type {number[]} */ shape, /** @type {number} */ bound) => ({
      name, shape, bound, bits: mostBits(bound, facts.group), quanta: 0,
    });
    const scores = await trainer.measure(work);
    if (facts.work === "evaluate") {
      const names = Object.keys(scores).sort();
      return { parts: names.map((name) => part(`scores/${name}`, [1], MOST_SCORED)), values: names.map((name) => [scores[name]]), told };
    }
    const clip = arrays.get("clip")?.values[0] ?? 0;
    if (!(clip > 0)) throw new Refusal("schema", "a private round has a clip above 0");
    const trained = await trainer.train(work);
    const weight = privacy.weight === "bounded" ? Math.min(1, Math.max(0, trained.weight / Number(privacy.max_weight))) : 1;
    const { update, norm, finite } = clipped(trained.update, clip, weight);
    told.clip = clip;
    told.norm = norm;
    const kinds = moments.map(({ kind }) => kind);
    const limits = { moments_clip: Number(privacy.moments_clip), second_clip: Number(privacy.second_clip), moments_steps: Number(privacy.moments_steps) };
    const more = changes(kinds, carried, trained.carried, limits, weight, finite);
    const some = (/** @type {string} */ name, /** @type {string} */ kind, /** @type {number} */ bound) =>
      moments.filter((one) => one.kind === kind).map(({ shape }, i) => part(`${name}.${i}`, shape, bound));
    const counted = kinds.filter((kind) => kind === "count").length;
    const unclipped = privacy.adaptive ? [[finite ? (norm <= clip ? 0.5 : -0.5) : 0]] : [];
    return {
      parts: [
        ...wanted.map(({ name, shape }) => part(`rule.${name.replaceAll("/", ".")}`, shape, clip)),
        ...some("moments", "m", limits.moments_clip),
        ...some("seconds", "v", limits.second_clip),
        ...some("counts", "count", limits.moments_steps * counted ** 0.5),
        ...unclipped.map(() => part("unclipped", [], 0.5)),
      ],
      values: [...update, ...more.moments, ...more.seconds, ...more.counts, ...unclipped],
      told,
    };
  }

  /** What a trainer says of a model that it can train. @template T @param {() => T} work @returns {T} */
  function shapes(work) {
    try {
      return work();
    } catch (error) {
      throw new Refusal("config", /** @type {Error} */ (error).message);
    }
  }

  /** @param {string} stage @param {Record<string, any>} facts @param {Parcel} task */
  async function later(stage, facts, task) {
    if (facts.sum !== seat.id) throw new Refusal("stale", "this tab is not in this sum");
    const held = seat.sum;
    if (!held) throw new Refusal("replay", "this sum is over for this tab");
    if (facts.round !== held.round) throw new Refusal("stale", "its round is not that of the sum");
    const message = messageOf(task);
    try {
      if (stage === "share") return await held.client.share(message);
      if (stage === "mask") {
        const { vector } = held;
        held.vector = new Uint32Array();
        const said = await held.client.mask(message, vector);
        await leaves(held.told); // from here on it can be in the sum, whatever happens to this tab
        return said;
      }
      const said = await held.client.unmask(message);
      held.told.clients = survivors(message, held.told.group);
      tell(held.told);
      return said;
    } finally {
      if (!STAGES.includes(held.client.stage) && seat.sum === held) forget(); // it is over, or abandoned
    }
  }

  return {
    /** Forget the sum that this tab is in. */
    forget,

    /** @param {Parcel} task @returns {Promise<{message: Uint8Array, facts: import("./records.js").Facts}>} */
    async answer(task) {
      const facts = checkedFacts(task.facts);
      const message = facts.kind === STAGES[0] ? await advertise(facts, task) : await later(facts.kind, facts, task);
      return { message, facts: answerFacts(facts) };
    },
  };
}

/** The message of the protocol that a parcel holds; refuses other arrays. @param {Parcel} task */
function messageOf(task) {
  const message = task.arrays.size === 1 ? task.arrays.get("message") : undefined;
  if (message?.kind !== "|u1" || message.shape.length !== 1)
    throw new Refusal("schema", "a message of a secure sum is one array of bytes");
  return /** @type {Uint8Array} */ (message.values);
}

/** How many clients the opened sum has. @param {Uint8Array} message @param {number} group */
function survivors(message, group) {
  let count = 0;
  for (const byte of message.subarray(30, 30 + Math.ceil(group / 8))) for (let b = byte; b; b &= b - 1) count++;
  return count;
}

/** The parameters and moments of a task, if they are exactly those of its model.
 * @param {Map<string, import("./npy.js").Numbers>} arrays @param {{name: string, shape: number[]}[]} wanted
 * @param {Travels[]} moments @param {boolean} withClip
 * @returns {{model: Leaf[], carried: Float32Array[]}} */
function modelOf(arrays, wanted, moments, withClip) {
  const names = new Set([...wanted.map(({ name }) => `params/${name}`), ...moments.map((_, i) => `carried/${i}`), ...(withClip ? ["clip"] : [])]);
  const extra = [...arrays.keys()].filter((name) => !names.has(name)).length;
  const missing = [...names].filter((name) => !arrays.has(name)).length;
  if (extra || missing) throw new Refusal("schema", `${missing} arrays missing, ${extra} too many`);
  const check = (/** @type {string} */ name, /** @type {number[]} */ shape) => {
    const found = /** @type {import("./npy.js").Numbers} */ (arrays.get(name));
    if (found.kind !== "<f4") throw new Refusal("schema", `${name} is not of float32`);
    if (found.shape.join() !== shape.join()) throw new Refusal("schema", `${name} has another shape`);
    for (const x of found.values) if (!(Math.abs(x) <= LARGEST)) throw new Refusal("schema", `${name} holds a number that is too large or none`);
    return /** @type {Float32Array} */ (found.values);
  };
  if (withClip) check("clip", []);
  return {
    model: wanted.map(({ name, shape }) => ({ name, shape, values: check(`params/${name}`, shape) })),
    carried: moments.map(({ shape }, i) => check(`carried/${i}`, shape)),
  };
}
