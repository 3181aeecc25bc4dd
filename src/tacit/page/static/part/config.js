// The configuration of a task: TOML as tacit.base.settings.dump writes it, read as data, and what a tab does of it.
//
// A tab refuses what it does not know, and every run without secure sums: it has no other way to answer.

import { Refusal } from "./refusal.js";

/** @typedef {Record<string, Record<string, string | number | boolean>>} Config */

const LEAST = 5; // clients of a sum: fewer hide nobody (privacy.least)

/** Keys that change what a client does, and what a tab can follow. @type {Record<string, (value: any) => boolean>} */
const FOLLOWED = {
  "training.mode": (v) => v === "federated",
  "text.pieces": (v) => v === 0,
  "text.protocol": (v) => v === "plain",
  "text.locale": (v) => typeof v === "string",
  "text.case": (v) => v === "lower" || v === "keep",
  "sampling.scheme": (v) => v === "uniform",
  "sampling.dropout": (v) => v === 0,
  "availability.model": (v) => v === "always",
  "attack.kind": (v) => v === "none",
  "buffer.size": (v) => v === 0,
  "client.batching": (v) => v === "sentences",
  "client.stragglers": (v) => v === 0,
  "client.carry": (v) => ["none", "m", "v", "m,v"].includes(v),
  "client.code": (v) => v === "",
  "aggregation.rule": (v) => v === "mean",
  "aggregation.noise": (v) => v === 0,
  "aggregation.max_norm": (v) => v === 0,
  "aggregation.code": (v) => v === "",
  "compression.form": (v) => v === "none",
  "privacy.mechanism": (v) => ["clipped", "gaussian", "matrix"].includes(v),
  "privacy.weight": (v) => v === "uniform" || v === "bounded",
  "privacy.least": (v) => v >= LEAST,
};

/** The tables of a text as `dump` writes it; refuses everything else. @param {string} text @returns {Config} */
export function readToml(text) {
  /** @type {Config} */
  const tables = Object.assign(Object.create(null), { "": Object.create(null) });
  let table = tables[""];
  for (const line of text.split("\n")) {
    const head = /^\[([a-z_0-9]+)\]$/.exec(line);
    const pair = /^([A-Za-z_0-9]+) = (.+)$/.exec(line);
    if (head && !(head[1] in tables)) table = tables[head[1]] = Object.create(null);
    else if (pair && !(pair[1] in table)) table[pair[1]] = value(pair[2]);
    else if (line) throw new Refusal("config", "it is not the TOML of a configuration");
  }
  return tables;
}

/** @param {string} text */
function value(text) {
  if (text === "true" || text === "false") return text === "true";
  if (/^"(?:[^"\\]|\\\\|\\"|\\U[0-9a-f]{8})*"$/.test(text))
    return text.slice(1, -1).replace(/\\(?:U(.{8})|(.))/g, (_, code, one) => (code ? String.fromCodePoint(parseInt(code, 16)) : one));
  if (/^[+-]?(\d+(\.\d+)?(e[+-]?\d+)?|inf|nan)$/.test(text)) return Number(text.replace("inf", "Infinity"));
  throw new Refusal("config", "it has a value that no configuration has");
}

/** The configuration of a task, if a tab can follow all of it. @param {string} text @returns {Config} */
export function understood(text) {
  const config = readToml(text);
  if (config.privacy?.secure !== true)
    throw new Refusal("config", "this run adds without masks, and a tab answers under masks only");
  for (const [key, follows] of Object.entries(FOLLOWED)) {
    const [table, name] = key.split(".");
    if (!(name in (config[table] ?? {}))) throw new Refusal("config", `it has no ${key}`);
    if (!follows(config[table][name])) throw new Refusal("config", `a tab cannot follow ${key} = ${config[table][name]}`);
  }
  for (const [name, wanted] of Object.entries(config.conditions ?? {}))
    if (wanted !== "") throw new Refusal("conditions", `the run asks for the ${name} ${wanted}`);
  return config;
}
