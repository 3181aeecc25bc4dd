// A node of the federation: it takes tasks from the server and answers them, one after another, until it is told to stop.
//
// A server that is away is tried again, ever more slowly, up to half a minute apart. A task that is refused is answered
// with its reason in a word, so that the round goes on at once.

import { hex, sha256 } from "./bytes.js";
import { BEAT, CallError } from "./fleet.js";
import { Refusal } from "./refusal.js";
import { readMetadata, readParcel, writeReply } from "./records.js";
import { Abandoned, Refused } from "./secure/errors.js";

const POLL = 1; // seconds between looks for a task
const SLOWEST = 30; // seconds between tries while the server is away
const PATIENCE = 180; // seconds that a new key may take to be registered

/** @typedef {"connecting" | "waiting" | "working" | "away" | "refused" | "stopped"} State */
/**
 * @typedef {object} Node
 * @property {ReturnType<typeof import("./fleet.js").fleet>} calls
 * @property {ReturnType<typeof import("./answering.js").answering>} answers
 * @property {(state: State, words: string) => void} show
 * @property {(line: {task: string, round: number | null, ended: string}) => Promise<any>} note
 * @property {AbortSignal} signal ends the node
 * @property {() => boolean} paused whether new sums are refused
 * @property {(task: import("./records.js").Metadata | null) => Promise<any>} remember the task under way; null: none
 * @property {() => Promise<import("./records.js").Metadata | undefined>} remembered the one that a reload cut off
 * @property {(call: [string, RequestInit] | null) => void} farewell what to send if the page is closed; null: nothing
 */

/** @param {number} seconds @param {AbortSignal} signal */
const sleep = (seconds, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve(null)), { once: true });
  });

/** Take part until the signal. Returns when it is over; throws nothing. @param {Node} node */
export async function takePart(node) {
  const { calls, show, signal } = node;
  let wait = POLL;
  let id = 0n;
  let beating = /** @type {any} */ (0);
  const since = Date.now();
  try {
    while (!signal.aborted) {
      try {
        if (!id) {
          show("connecting", "Connecting to the server");
          id = await calls.activate();
          const own = id;
          await giveUp(node, id);
          const beat = async () => {
            node.farewell(await calls.farewell(own));
            await calls.beat(own);
          };
          await beat();
          beating = setInterval(() => beat().catch(() => {}), 1000 * BEAT);
          show("waiting", "Connected; waiting for a round");
        }
        const busy = await step(node, id);
        if (wait > POLL) show("waiting", "Connected again; waiting for a round");
        wait = POLL;
        if (!busy) await sleep(POLL, signal);
      } catch (error) {
        if (!(error instanceof CallError)) throw error;
        const isKey = [401, 403, 412].includes(error.status);
        if (isKey && (id || Date.now() - since > 1000 * PATIENCE)) {
          show("refused", "The server does not know this browser's key: it was removed, or never registered. To take part again, ask for another invitation, stop for good, and open its link.");
          return;
        }
        if (isKey) show("connecting", "Waiting until the server has registered this browser");
        else show("away", "The server cannot be reached. Nothing is lost; this page tries again.");
        await sleep(wait, signal);
        if (!isKey) wait = Math.min(SLOWEST, 2 * wait);
      }
    }
    show("stopped", "Stopped");
  } catch (error) {
    show("stopped", `This page made a mistake and stopped: ${/** @type {Error} */ (error).message}. Reload it.`);
  } finally {
    clearInterval(beating);
    node.farewell(null);
    node.answers.forget();
    if (id) await calls.deactivate(id).catch(() => {});
  }
}

/** Tells the server that a task which a reload cut off will not be answered, so that the round goes on at once.
 * @param {Node} node @param {bigint} id */
async function giveUp({ calls, remember, remembered }, id) {
  const task = await remembered();
  if (!task) return;
  await remember(null);
  const now = calls.now();
  if (task.to !== id || task.created + task.ttl <= now) return;
  try {
    await calls.push(id, task.run, await writeReply(task, { error: "refused" }, now), 0);
  } catch (error) {
    if (!(error instanceof CallError && error.status)) throw error; // its run may be over
  }
}

/** Answers the next task; returns whether there was one. @param {Node} node @param {bigint} id */
async function step(node, id) {
  const { calls, show, signal } = node;
  const pulled = await calls.pull(id);
  if (!pulled) return false;
  const to = readMetadata(pulled.message);
  await node.remember(to).catch(() => {}); // without storage the round waits for its deadline if this page is closed
  const began = Date.now();
  show("working", "Reading a task");
  let said;
  const line = { task: "?", round: /** @type {number | null} */ (null), ended: "answered" };
  try {
    const task = await fetchTask(node, id, to, pulled.objects);
    line.task = String((task.facts.work ?? task.facts.kind)?.value ?? "?");
    line.round = task.facts.round?.type === "int" ? task.facts.round.value : null;
    if (node.paused() && task.facts.kind?.value === "advertise") throw new Refusal("conditions", "this person has paused");
    show("working", words(task.facts));
    said = await node.answers.answer(task);
  } catch (error) {
    if (error instanceof CallError) throw error;
    const known = error instanceof Refusal;
    if (!known && !(error instanceof Refused || error instanceof Abandoned)) line.ended = `failed: ${/** @type {Error} */ (error).message}`;
    else line.ended = `refused: ${/** @type {Error} */ (error).message}`;
    const reason = known ? error.reason : "refused";
    said = { error: ["stale", "replay"].includes(reason) ? "refused" : reason };
  }
  if (signal.aborted) return true;
  const kind = "facts" in said ? said.facts.kind.value : "";
  const reply = await writeReply(to, said, calls.now());
  try {
    await calls.push(id, to.run, reply, (Date.now() - began) / 1000);
  } catch (error) {
    if (!(error instanceof CallError && error.status)) throw error;
    line.ended = "too late: the server takes this answer no more";
  }
  await node.remember(null).catch(() => {});
  if (line.ended !== "answered" || kind === "unmask") await node.note(line); // a sum is one line
  show("waiting", kind && kind !== "unmask" ? "Masks agreed on with others; waiting for them" : "Connected; waiting for a round");
  return true;
}

/** @param {import("./records.js").Facts} facts */
function words(facts) {
  const kind = facts.kind?.value;
  if (kind === "advertise") return facts.work?.value === "evaluate" ? "Measuring the model on your sentences" : "Training on your sentences";
  return { share: "Agreeing on masks with others", mask: "Masking what this page sends", unmask: "Helping to open the sum" }[kind] ?? "Reading a task";
}

/** @param {Node} node @param {bigint} id @param {import("./records.js").Metadata} to @param {string[]} names */
async function fetchTask(node, id, to, names) {
  /** @type {Map<string, Uint8Array>} */
  const contents = new Map();
  for (const name of names) {
    let content = null;
    while (!(content = await node.calls.object(id, to.run, name))) {
      if (node.signal.aborted || node.calls.now() > to.created + to.ttl) throw new Refusal("schema", "a part of it never came");
      await sleep(0.2, node.signal);
    }
    if (hex(await sha256(content)) !== name) throw new Refusal("schema", "an object is not the one of its name");
    contents.set(name, content);
  }
  await node.calls.confirm(id, to.run, to.message);
  return readParcel(to.message, contents);
}
