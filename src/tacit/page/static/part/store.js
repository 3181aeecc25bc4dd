// What this browser keeps for the page *Take part*, beside the sentences (../sentences.js).
//
//     kept       the key of this browser, its name, the sum of bytes, what was spent, the task under way, what models
//                were worth
//     journal    what this browser took part in

import { add, transaction } from "../sentences.js";

export { agree, consented, eraseSentences, exportSentences, keepSentence, sentences, StoreError } from "../sentences.js";

const MOST_LINES = 500; // of the journal

/** @param {string} key @returns {Promise<any>} */
export const get = (key) => transaction("kept", "readonly", (kept) => kept.get(key));

/** @param {string} key @param {any} value */
export const put = (key, value) => transaction("kept", "readwrite", (kept) => kept.put(value, key));

/** @param {string} key */
export const remove = (key) => transaction("kept", "readwrite", (kept) => kept.delete(key));

/** A line about something that ended. @typedef {{time: string, task: string, round: number | null, ended: string,
 * mechanism?: string, norm?: number, clip?: number, noise?: number, delta?: number, clients?: number, up?: number, down?: number}} Line */

/** @param {Line} line @returns {Promise<any>} */
export const note = (line) => add("journal", line, MOST_LINES);

/** @returns {Promise<Line[]>} the oldest first */
export const journal = () => transaction("journal", "readonly", (store) => store.getAll());

/** Erase the key, for good, and what belongs to it. Sentences, journal and what was spent stay. */
export async function forgetNode() {
  for (const key of ["identity", "name", "task", "traffic", "models"]) await remove(key);
}
