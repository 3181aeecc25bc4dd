// The page of a federation: asks this machine's own server every second how the federation stands, and draws that.

import { plot } from "./plot.js";

const EVERY = 1000; // ms
const LAST = 10; // rounds in the table
const COLUMNS = [
  ["round", "round", 0],
  ["clients", "clients", 0],
  ["refused", "refused", 0],
  ["loss", "loss", 3],
  ["perplexity", "valid_perplexity", 1],
  ["up", "bytes_up", "bytes"],
  ["down", "bytes_down", "bytes"],
];

const at = (id) => document.getElementById(id);

/** Make an element with text. @param {string} name @param {string} text @param {string} [kind] */
function made(name, text, kind) {
  const element = document.createElement(name);
  element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

/** Set a text only where it changes, so that a screen reader is not told the same again. */
function say(id, text) {
  if (at(id).textContent !== text) at(id).textContent = text;
}

/** Write a number of bytes. @param {number} count */
function bytes(count) {
  for (const [size, unit] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
    if (count >= size) return `${(count / size).toFixed(2)} ${unit}`;
  }
  return `${count} B`;
}

function figure(value, form) {
  if (typeof value !== "number") return "";
  return form === "bytes" ? bytes(value) : value.toFixed(form);
}

function tiles(said) {
  const now = said.now ?? {};
  const count = (value) => (value === undefined ? "–" : String(value));
  const shown = [
    ["invited", count(said.invited)],
    ["connected", count(now.connected)],
    ["asked", count(now.asked)],
    ["answered", count(now.accepted)],
    ["goal", count(now.goal)],
    ["sent to clients", now.bytes_down === undefined ? "–" : bytes(now.bytes_down)],
    ["from clients", now.bytes_up === undefined ? "–" : bytes(now.bytes_up)],
  ];
  const spent = said.epsilon ?? null;
  shown.push(["ε spent", spent === null ? `none: ${said.epsilon_reason ?? "no run"}` : spent.toPrecision(3)]);
  at("tiles").replaceChildren(
    ...shown.map(([name, value]) => {
      const group = document.createElement("div");
      group.append(made("dt", name), made("dd", value, value.length > 12 ? "words" : ""));
      return group;
    }),
  );
}

function present(said) {
  const { run, now } = said;
  say("where", `${said.served ? "served on" : "not served; clients connect to"} ${said.address}`);
  say("run", run ? `${run.name}: ${run.state}, ${run.made} of ${run.rounds} rounds` : "no run yet");
  at("run").classList.toggle("bad", Boolean(run) && !["running", "done"].includes(run.state));
  const working = Boolean(now) && run.state === "running";
  say("round", working ? `Round ${now.round} of ${now.rounds}: ${now.task}` : run ? `${run.made} rounds made` : "No round yet");
  const seconds = working ? Math.max(0, Math.round(now.ends - said.time)) : 0;
  at("left").textContent = working
    ? `deadline in ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`
    : (run?.why ?? "");
  const goal = /** @type {HTMLProgressElement} */ (at("goal"));
  goal.max = Math.max(1, working ? now.goal : (run?.rounds ?? 1));
  goal.value = working ? now.accepted : (run?.made ?? 0);
  say("answers", working ? `${now.accepted} of ${now.goal} answers; ${now.asked} clients were asked` : "");
}

function rounds(said) {
  const head = document.createElement("thead");
  const titles = document.createElement("tr");
  for (const [title] of COLUMNS) {
    const cell = made("th", title);
    cell.scope = "col";
    titles.append(cell);
  }
  head.append(titles);
  const body = document.createElement("tbody");
  for (const record of said.rounds.slice(-LAST).reverse()) {
    const line = document.createElement("tr");
    line.append(...COLUMNS.map(([, key, form]) => made("td", figure(record[key] ?? (key === "refused" ? 0 : null), form))));
    body.append(line);
  }
  at("rounds").replaceChildren(head, body);
}

function plots(said) {
  const points = (key, scale = 1) =>
    said.rounds.filter((r) => typeof r[key] === "number").map((r) => [r.round, r[key] / scale]);
  at("plots").replaceChildren(
    plot("Loss of training", [["loss", points("loss")]], 3),
    plot("Perplexity on clients' held-out text", [["perplexity", points("valid_perplexity")]], 1),
    plot("Clients in the round", [["clients", points("clients")]], 0),
    plot("Megabytes of training", [["down", points("bytes_down", 1e6)], ["up", points("bytes_up", 1e6)]], 2),
  );
}

function refused(said) {
  const counts = Object.entries(said.now?.refused ?? {}).sort();
  say("refused", counts.length ? counts.map(([why, count]) => `${why}: ${count}`).join(", ") : "none");
}

let drawn = "";

function draw(said) {
  present(said);
  tiles(said);
  refused(said);
  const made = JSON.stringify(said.rounds);
  if (made !== drawn) {
    rounds(said);
    plots(said);
    drawn = made;
  }
}

async function look() {
  const alert = at("alert");
  try {
    const said = await (await fetch("state.json", { cache: "no-store" })).json();
    if (said.error) throw new Error(said.error);
    draw(said);
    alert.hidden = true;
    document.documentElement.dataset.ready = "";
  } catch (error) {
    const why = error instanceof TypeError ? "tacit federation watch has ended; what is shown is old" : String(error.message);
    if (alert.textContent !== why) alert.textContent = why;
    alert.hidden = false;
  }
  setTimeout(look, EVERY); // never two at once
}

look();
