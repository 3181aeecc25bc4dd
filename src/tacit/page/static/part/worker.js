// The Worker of the page *Take part*: it takes part in the federation, so that the page stays quick.
//
//     in    {start}, {pause: boolean}, {stop}
//     out   {state, words}, {progress: [step, steps]}, {changed: true}, {problem}, {farewell}, {ended: true}
//
// One tab of a browser takes part at a time: the others wait for the lock and go on when it is free.

import { answering } from "./answering.js";
import { NOTHING, spend } from "./epsilon.js";
import { fleet } from "./fleet.js";
import { member } from "./joining.js";
import { takePart } from "./node.js";
import { STAGES } from "./secure/client.js";
import * as store from "./store.js";
import { browserTrainer } from "./training.js";

const LOCK = "tacit node";
const policy = /** @type {any} */ (globalThis).trustedTypes?.createPolicy("tacit-part", {
  createScriptURL: (/** @type {string} */ url) => url, // called with the one below only
});
const TRAINER = new URL("../train/worker.js", import.meta.url).href;
const spawn = () => new Worker(policy ? policy.createScriptURL(TRAINER) : TRAINER, { type: "module" });

let paused = false;
/** @type {AbortController | null} */
let running = null;

/** @param {any} message */
const say = (message) => self.postMessage(message);

/** @param {import("./node.js").State} state @param {string} words */
const show = (state, words) => say({ state, words });

async function start() {
  if (running) return;
  const own = (running = new AbortController());
  try {
    await navigator.locks.request(LOCK, { ifAvailable: true }, async (lock) => {
      if (lock) return work(own.signal);
      show("waiting", "Another tab of this browser is taking part; this one waits until it is closed");
      await navigator.locks.request(LOCK, { signal: own.signal }, () => work(own.signal));
    });
  } catch (error) {
    if (!own.signal.aborted) show("stopped", /** @type {Error} */ (error).message);
  } finally {
    if (running === own) running = null;
    say({ ended: true });
  }
}

/** @param {AbortSignal} signal */
async function work(signal) {
  const known = await member();
  if (!known) return show("stopped", "This browser has not joined; open the link of an invitation");
  const traffic = { up: 0, down: 0, ...(await store.get("traffic")) };
  const complain = (/** @type {any} */ error) => say({ problem: error.message }); // the round goes on
  /** @type {Record<string, any>} */
  let told = {};
  /** A line of the journal, with what the last sum was. */
  const note = async (/** @type {any} */ line) => {
    const { work, norm, clip, noise, delta, clients, mechanism } = told;
    const more = line.ended === "answered" ? { norm, clip, noise, delta, clients, mechanism } : {};
    const task = STAGES.includes(line.task) ? work : line.task; // a later stage is part of the work of the first
    try {
      await store.note({ time: new Date().toISOString(), ...line, task: task ?? line.task, ...more });
      await store.put("traffic", traffic);
    } catch (error) {
      complain(error); // only its line is missing
    }
    say({ changed: true });
  };
  const measured = async (/** @type {any} */ found) => {
    try {
      const before = await store.get("models");
      const rounds = found.work === "train" ? found.round : (before?.last.rounds ?? 0) + (before?.last.work === "train" ? 1 : 0);
      const now = { ...found, rounds }; // how many rounds the model has been through
      await store.put("models", { first: before?.first ?? now, last: now });
    } catch (error) {
      complain(error);
    }
    say({ changed: true });
  };
  const trainer = browserTrainer(store.sentences, {
    progress: (step, steps) => say({ progress: [step, steps] }),
    measured,
    signal,
    spawn,
  });
  const calls = fleet(known.identity, ({ up, down }) => ((traffic.up += up), (traffic.down += down)));
  const leaves = async (/** @type {import("./answering.js").Told} */ sum) => {
    if (sum.work !== "train") return;
    try {
      await store.put("spent", spend((await store.get("spent")) ?? NOTHING, sum));
    } catch (error) {
      complain(error);
    }
  };
  const answers = answering(trainer, (now) => (told = now), leaves);
  const remember = (/** @type {any} */ task) => (task ? store.put("task", task) : store.remove("task"));
  const remembered = () => store.get("task");
  const farewell = (/** @type {any} */ call) => say({ farewell: call });
  await takePart({ calls, answers, show, note, signal, remember, remembered, farewell, paused: () => paused });
  await store.put("traffic", traffic).catch(() => {});
}

self.onmessage = ({ data }) => {
  if ("pause" in data) paused = data.pause;
  if (data.start) start();
  if (data.stop) running?.abort();
};
