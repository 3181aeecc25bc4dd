// The page *Take part*: consent, one's sentences, joining, and what was done. The node runs in worker.js.

import { epsilonOf } from "./epsilon.js";
import { join, member, tokenOf } from "./joining.js";
import * as store from "./store.js";

const FEWEST = 3; // sentences with which it makes sense to begin
/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

/** @type {Worker | null} */
let worker = null;
let paused = false;
/** The call that tells the server that this page is closed. @type {[string, RequestInit] | null} */
let farewell = null;
let token = tokenOf(location.href);
if (token) history.replaceState(null, "", location.pathname); // it is not for bookmarks

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
  byId("member").textContent = known
    ? `This browser has joined as ${known.name}. Its key was made here and cannot be copied.`
    : token
      ? "You are invited. Joining makes a key in this browser; only its public half is sent."
      : "To take part, open the link of an invitation.";
  byId("start").disabled = !known || worker !== null || own.length < FEWEST;
  byId("start").title = known && own.length < FEWEST ? `Keep at least ${FEWEST} sentences first` : "";
  byId("pause").disabled = worker === null;
  byId("pause").textContent = paused ? "Go on" : "Pause";
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
  const rounds = lines.filter((line) => line.task === "train" && line.ended === "answered");
  const last = rounds.at(-1);
  byId("rounds").textContent = String(rounds.length);
  const megabytes = (/** @type {number} */ bytes) => `${number.format(bytes / 1e6)} MB`;
  byId("bytes").textContent = traffic ? `${megabytes(traffic.up)} and ${megabytes(traffic.down)}` : "nothing";
  byId("norm").textContent = last ? `${number.format(last.norm ?? 0)}, at most ${number.format(last.clip ?? 0)}` : "–";
  const noises = rounds.map((line) => line.noise ?? 0);
  const delta = last?.delta ?? 0;
  const epsilon = epsilonOf(noises, delta);
  byId("epsilon").textContent = !last
    ? "0"
    : rounds.some((line) => line.mechanism === "matrix")
      ? "in the run's ledger: its noise cancels in part over rounds"
      : Number.isFinite(epsilon)
      ? `${number.format(epsilon)} at δ = ${delta}, if the server adds the noise it says`
      : "no limit: the run adds no noise";
  const said = (/** @type {any} */ one) => (one ? `perplexity ${number.format(one.perplexity)} after ${one.rounds} rounds` : "–");
  byId("before").textContent = said(models?.first);
  byId("after").textContent = said(models?.last);
  byId("journal").replaceChildren(
    ...lines.toReversed().map((line) => item(`${line.time.slice(0, 19).replace("T", " ")}  ${line.task}${line.round === null ? "" : `, round ${line.round + 1}`}: ${line.ended}`)),
  );
}

function begin() {
  if (worker) return;
  const policy = /** @type {any} */ (globalThis).trustedTypes?.createPolicy("tacit-part", {
    createScriptURL: (/** @type {string} */ url) => url, // called with the one below only
  });
  const url = new URL("worker.js", import.meta.url).href;
  worker = new Worker(policy ? policy.createScriptURL(url) : url, { type: "module" });
  worker.onmessage = ({ data }) => {
    if (data.problem) tell(data.problem);
    if ("farewell" in data) farewell = data.farewell;
    if (data.progress) {
      byId("progress").hidden = data.progress[0] === data.progress[1];
      byId("progress").value = data.progress[0] / data.progress[1];
    }
    if (data.state) {
      document.documentElement.dataset.state = data.state;
      byId("state").textContent = paused && data.state === "waiting" ? "Paused: this browser joins no new round" : data.words;
      if (data.state !== "working") byId("progress").hidden = true;
    }
    if (data.changed || data.state === "stopped" || data.state === "refused") showAll();
  };
  worker.onerror = () => tell("The part of this page that trains could not be loaded. Reload the page.");
  worker.postMessage({ start: true, pause: paused });
}

/** Leave for good: the key is destroyed. */
async function leave() {
  worker?.postMessage({ stop: true });
  const old = worker;
  worker = null;
  if (old) {
    await new Promise((resolve) => {
      const late = setTimeout(resolve, 3000);
      old.addEventListener("message", ({ data }) => {
        if (data.state === "stopped" || data.state === "refused") (clearTimeout(late), setTimeout(resolve, 300));
      });
    });
    old.terminate();
  }
  await store.forgetNode();
  await store.note({ time: new Date().toISOString(), task: "leave", round: null, ended: "left for good; the key is destroyed" });
  byId("state").textContent = "Stopped for good. What was added to the model before cannot be taken out again.";
  document.documentElement.dataset.state = "left";
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
byId("export").addEventListener("click", () =>
  attempt(async () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(await store.sentences(), null, 1)], { type: "application/json" }));
    link.download = "tacit-sentences.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }),
);
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
    worker?.postMessage({ pause: paused });
    byId("state").textContent = paused ? "Paused: this browser joins no new round" : "Waiting for a round";
  }),
);
byId("stop").addEventListener("click", () => attempt(leave));
addEventListener("pagehide", () => farewell && fetch(farewell[0], { ...farewell[1], keepalive: true }).catch(() => {}));
addEventListener("pageshow", ({ persisted }) => persisted && location.reload()); // it has said that it is gone
addEventListener("focus", showAll); // another tab may have changed something
await showAll();
document.documentElement.dataset.ready = "";
