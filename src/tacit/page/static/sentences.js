// A person's own sentences, in this browser: kept only with consent, and read by the page *Take part* (part/), which
// can show, export and erase them, and by the keyboard to tune a model (own.js). At most 400; then the oldest goes.
//
// They are in IndexedDB, beside what that page keeps (part/store.js); the consent is in local storage. Every function
// throws a StoreError in words if the browser denies storage or has no room.

import { download } from "./download.js";
import { recall, store } from "./store.js";

const OWN = "tacit.own"; // "kept" if there is a model of one's own, or nothing
const CONSENT = "tacit.sentences"; // "given", or "withdrawn"
const NAME = "tacit-part";
const FORMAT = 1;
export const MOST = 400; // sentences
const LONGEST = 1000; // characters of a sentence

/** The browser keeps nothing, or nothing more. */
export class StoreError extends Error {}

/** @param {any} error */
function inWords(error) {
  if (error?.name === "QuotaExceededError")
    return new StoreError("This browser has no room left for this site. Nothing was lost; erase something and try again.");
  return new StoreError("This browser does not let the page keep anything (a private window, or blocked site data).");
}

/** @returns {Promise<IDBDatabase>} */
function opened() {
  return new Promise((resolve, reject) => {
    let request;
    try {
      request = indexedDB.open(NAME, FORMAT);
    } catch (error) {
      return reject(inWords(error));
    }
    request.onupgradeneeded = () => {
      request.result.createObjectStore("kept");
      request.result.createObjectStore("sentences", { autoIncrement: true });
      request.result.createObjectStore("journal", { autoIncrement: true });
    };
    request.onerror = () => reject(inWords(request.error));
    request.onblocked = () => reject(new StoreError("Another tab of this site is out of date. Close it and reload."));
    request.onsuccess = () => {
      const database = request.result;
      database.onversionchange = () => database.close();
      resolve(database);
    };
  });
}

/** @type {Promise<IDBDatabase> | null} */
let database = null;

/**
 * Runs requests in one transaction, and waits until what they wrote is on disk.
 * @template T @param {string} name @param {IDBTransactionMode} mode @param {(store: IDBObjectStore) => IDBRequest<T> | null} work
 * @returns {Promise<T>}
 */
export async function transaction(name, mode, work) {
  database ??= opened();
  try {
    const transaction = (await database).transaction(name, mode);
    const request = work(transaction.objectStore(name));
    await new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onerror = transaction.onabort = () => reject(transaction.error);
    });
    return /** @type {T} */ (request?.result);
  } catch (error) {
    database = null; // the next call tries again
    throw error instanceof StoreError ? error : inWords(error);
  }
}

/** Whether the person has agreed that sentences are kept here. */
export const consented = () => recall(CONSENT) === "given";

/** @param {boolean} agreed */
export function agree(agreed) {
  if (!store(CONSENT, agreed ? "given" : "withdrawn")) throw inWords(null);
}

/** Whether there may be sentences: the person has agreed at some time. */
export const mayHold = () => recall(CONSENT) !== null;

/** Keep a sentence, if the person has agreed; beyond the most, the oldest goes. Returns whether it was kept. @param {string} text */
export async function keepSentence(text) {
  const sentence = text.trim().slice(0, LONGEST);
  if (!sentence || !consented()) return false;
  await add("sentences", sentence, MOST);
  return true;
}

/** Keep the line that Enter has just ended; a browser that keeps nothing is no matter for the keyboard.
 * @param {string} before the text before the caret, the line end last */
export const keepLine = (before) => keepSentence(before.slice(0, -1).split("\n").at(-1) ?? "").catch(() => false);

/** Add a line, and drop the oldest beyond the most, all or nothing. @param {string} name @param {any} line @param {number} most */
export function add(name, line, most) {
  return transaction(name, "readwrite", (store) => {
    store.add(line);
    const count = store.count();
    count.onsuccess = () => {
      let over = count.result - most;
      if (over <= 0) return;
      const cursor = store.openCursor();
      cursor.onsuccess = () => {
        if (!cursor.result || over-- <= 0) return;
        cursor.result.delete();
        cursor.result.continue();
      };
    };
    return null;
  });
}

/** @returns {Promise<string[]>} the oldest first */
export const sentences = () => transaction("sentences", "readonly", (store) => store.getAll());

/** Save them as a file, the oldest first. */
export const exportSentences = async () => download("tacit-sentences.json", JSON.stringify(await sentences(), null, 1));

/** @returns {Promise<any>} */
export const eraseSentences = () => transaction("sentences", "readwrite", (store) => store.clear());

/** The model that was tuned here, if any (own.js). @returns {Promise<any>} */
export const keptOwn = () => transaction("kept", "readonly", (kept) => kept.get("own")).then((found) => found ?? null);
/** Whether there may be one: without it the browser's store is not opened for it. */
keptOwn.likely = () => recall(OWN) === "kept";

/** @param {any} own */
export async function keepOwn(own) {
  await transaction("kept", "readwrite", (kept) => kept.put(own, "own"));
  store(OWN, "kept");
}

/** Forget the model that was tuned here; the lines stay. */
export async function forgetOwn() {
  await transaction("kept", "readwrite", (kept) => kept.delete("own"));
  store(OWN, null);
}
