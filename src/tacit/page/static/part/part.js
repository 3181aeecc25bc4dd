// The page *Take part*: consent, a person's sentences, joining, and what was done. The node runs in worker.js.
//
// A person may have several tabs of it, of which one takes part: pausing and stopping hold for all of them.

import { epsilonOf, NOTHING } from "./epsilon.js";
import { join, member, tokenOf } from "./joining.js";
import * as store from "./store.js";

const FEWEST = 3; // sentences with which it makes sense to begin
/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);
const WORKER = new URL("worker.js", import.meta.url).href;
const others = new BroadcastChannel("tacit part"); // the other tabs of this browser
const number = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

/** @type {Worker | null} */
let worker = null;
/** For the address of the Worker and nothing else; made once. @type {any} */
let policy;
let paused = false;
/** What the node said last. */
let heard = { state: "", words: "Not taking part" };
/** The call that tells the server that this page is closed. @type {[string, RequestInit] | null} */
let farewell = null;
let token = "";

/** Takes the token out of the address: it is not for bookmarks. */
function readToken() {
  token = tokenOf(location.href) || token;
  if (location.hash) history.replaceState(null, "", location.pathname);
}

/** @param {string} words */
function tell(words) {
  byId("problem").textContent = words;
  byId("problem").hidden = !words;
}

/** Run something that a button asked for; what goes wrong is said in words. @param {() => Promise<any>} work */
async function attempt(work) {
  try {
    tell("");
    await work();
  } catch (error) {
    tell(/** @type {Error} */ (error).message);
  }
  await showAll();
}

async function showAll() {
  try {
    await showOwn();
    await showDone();
  } catch (error) {
    tell(/** @type {Error} */ (error).message);
  }
}

async function showOwn() {
  const agreed = store.consented();
  const own = await store.sentences();
  const known = await member();
  byId("consent").checked = agreed;
  byId("line").disabled = byId("keep").disabled = !agreed;
  byId("count").textContent = String(own.length);
  byId("erase").disabled = byId("export").disabled = !own.length;
  const listed = byId("look").open ? own.toReversed() : [];
  byId("sentences").replaceChildren(...listed.map((text) => item(text)));
  byId("join").hidden = !token || known !== null;
  const anew = token ? " To use the new invitation, stop for good first." : "";
  byId("member").textContent = known
    ? `This browser has joined as ${known.name}. Its key was made here and cannot be copied.${anew}`
    : token
      ? "You are invited. Joining makes a key in this browser; only its public half is sent."
      : "To take part, open the link of an invitation.";
  const ready = agreed && own.length >= FEWEST;
  byId("start").disabled = !known || worker !== null || !ready;
  byId("start").title = known && !ready ? `Agree above, and keep at least ${FEWEST} sentences first` : "";
  byId("pause").disabled = worker === null;
  byId("pause").textContent = paused ? "Go on" : "Pause";
  settle();
  byId("stop").disabled = !known;
}

/** @param {string} text */
function item(text) {
  const made = document.createElement("li");
  made.textContent = text;
  return made;
}

async function showDone() {
  const lines = await store.journal();
  const [traffic, models] = [await store.get("traffic"), await store.get("models")];
  /** @type {import("./epsilon.js").Spent} */
  const spent = (await store.get("spent")) ?? NOTHING;
  const last = lines.findLast((line) => line.task === "train" && line.ended === "answered");
  byId("rounds").textContent = String(spent.rounds);
  const megabytes = (/** @type {number} */ bytes) => `${number.format(bytes / 1e6)} MB`;
  byId("bytes").textContent = traffic ? `${megabytes(traffic.up)} and ${megabytes(traffic.down)}` : "nothing";
  byId("norm").textContent = last ? `${number.format(last.norm ?? 0)}, at most ${number.format(last.clip ?? 0)}` : "–";
  byId("epsilon").textContent = epsilonInWords(spent);
  const said = (/** @type {any} */ one) => (one ? `perplexity ${number.format(one.perplexity)} after ${one.rounds} rounds` : "–");
  byId("before").textContent = said(models?.first);
  byId("after").textContent = said(models?.last);
  byId("journal").replaceChildren(
    ...lines.toReversed().map((line) => item(`${line.time.slice(0, 19).replace("T", " ")}  ${line.task}${line.round === null || line.task !== "train" ? "" : `, round ${line.round + 1}`}: ${line.ended}`)),
  );
}

/** @param {import("./epsilon.js").Spent} spent */
function epsilonInWords(spent) {
  if (!spent.rounds) return "0";
  if (spent.matrix) return "in the run's ledger: the noise cancels in part over rounds";
  const epsilon = epsilonOf(spent);
  if (!Number.isFinite(epsilon)) return "no limit: a run added no noise";
  return `${number.format(epsilon)} at δ = ${spent.delta}, if the server adds the noise that it says`;
}

/** Tell the node whether new rounds are refused, and the person what the node does. */
function settle() {
  const why = store.consented() ? (paused ? "Paused" : "") : "Without your consent above";
  worker?.postMessage({ pause: why !== "" });
  const words = why && heard.state === "waiting" ? `${why}: this browser joins no new round` : heard.words;
  if (byId("state").textContent !== words) byId("state").textContent = words;
  document.documentElement.dataset.state = heard.state;
}

function begin() {
  if (worker) return;
  policy ??= /** @type {any} */ (globalThis).trustedTypes?.createPolicy("tacit-part", { createScriptURL: () => WORKER });
  worker = new Worker(policy ? policy.createScriptURL("") : WORKER, { type: "module" });
  worker.onmessage = ({ data }) => {
    if (data.problem) tell(data.problem);
    if ("farewell" in data) farewell = data.farewell;
    if (data.progress) {
      byId("progress").hidden = data.progress[0] === data.progress[1];
      byId("progress").value = data.progress[0] / data.progress[1];
    }
    if (data.state) {
      heard = data;
      if (data.state !== "working") byId("progress").hidden = true;
      settle();
    }
    if (data.ended) end();
    if (data.changed || data.ended) showAll();
  };
  worker.onerror = () => tell("The part of this page that trains could not be loaded. Reload the page.");
  settle();
  worker.postMessage({ start: true });
}

function end() {
  worker?.terminate();
  worker = farewell = null;
}

/** Stop the node of this tab, and wait until it has told the server. */
async function stopNode() {
  const running = worker;
  if (!running) return;
  await new Promise((resolve) => {
    setTimeout(resolve, 3000);
    running.addEventListener("message", ({ data }) => data.ended && resolve(null));
    running.postMessage({ stop: true });
  });
  end();
}

/** Leave for good: the key is destroyed. */
async function leave() {
  others.postMessage({ left: true });
  await stopNode();
  await store.forgetNode();
  await store.note({ time: new Date().toISOString(), task: "leave", round: null, ended: "left for good; the key is destroyed" });
  heard = { state: "left", words: "Stopped for good. What was added to the model before cannot be taken out again." };
}

byId("consent").addEventListener("change", () => attempt(async () => store.agree(byId("consent").checked)));
byId("look").addEventListener("toggle", showAll);
const keep = () =>
  attempt(async () => {
    if (await store.keepSentence(byId("line").value)) byId("line").value = "";
    byId("line").focus();
  });
byId("keep").addEventListener("click", keep);
byId("line").addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => event.key === "Enter" && keep());
byId("erase").addEventListener("click", () => attempt(store.eraseSentences));
byId("export").addEventListener("click", () => attempt(store.exportSentences));
byId("join").addEventListener("click", () =>
  attempt(async () => {
    await join(token);
    token = "";
  }),
);
byId("start").addEventListener("click", () => attempt(async () => begin()));
byId("pause").addEventListener("click", () =>
  attempt(async () => {
    paused = !paused;
    others.postMessage({ pause: paused });
  }),
);
byId("stop").addEventListener("click", () => attempt(leave));
addEventListener("pagehide", () => farewell && fetch(farewell[0], { ...farewell[1], keepalive: true }).catch(() => {}));
addEventListener("pageshow", ({ persisted }) => persisted && location.reload()); // it has said that it is gone
addEventListener("focus", showAll); // another tab may have changed something
addEventListener("hashchange", () => (readToken(), showAll())); // a link that is opened in this tab
others.onmessage = async ({ data }) => {
  if (data.left) await stopNode();
  else paused = data.pause;
  await showAll();
};
readToken();
await showAll();
document.documentElement.dataset.ready = "";
