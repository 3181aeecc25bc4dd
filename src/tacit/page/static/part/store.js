// What this browser keeps, in IndexedDB: shared by both pages of one origin, and gone with "erase site data".
//
//     kept       consent, the key of this browser, its name, the sum of bytes, where a model stood
//     sentences  the person's own, the oldest first, at most 400; only with consent
//     journal    what this browser took part in
//
// Every function throws a StoreError in words if the browser denies storage or has no room.

const NAME = "tacit-part";
const FORMAT = 1;
export const MOST = 400; // sentences
const MOST_LINES = 500; // of the journal
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
async function transaction(name, mode, work) {
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

/** @param {string} key @returns {Promise<any>} */
export const get = (key) => transaction("kept", "readonly", (kept) => kept.get(key));

/** @param {string} key @param {any} value */
export const put = (key, value) => transaction("kept", "readwrite", (kept) => kept.put(value, key));

/** @param {string} key */
export const remove = (key) => transaction("kept", "readwrite", (kept) => kept.delete(key));

/** Whether the person has agreed that sentences are kept here. */
export const consented = async () => (await get("consent")) === true;

/** @param {boolean} agreed @returns {Promise<any>} */
export const agree = (agreed) => (agreed ? put("consent", true) : remove("consent"));

/** Keep a sentence, if the person has agreed; beyond the most, the oldest goes. Returns whether it was kept. @param {string} text */
export async function keepSentence(text) {
  const sentence = text.trim().slice(0, LONGEST);
  if (!sentence || !(await consented())) return false;
  await add("sentences", sentence, MOST);
  return true;
}

/** Add a line, and drop the oldest beyond the most, all or nothing. @param {string} name @param {any} line @param {number} most */
function add(name, line, most) {
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

/** @returns {Promise<number>} */
export const countSentences = () => transaction("sentences", "readonly", (store) => store.count());

/** @returns {Promise<any>} */
export const eraseSentences = () => transaction("sentences", "readwrite", (store) => store.clear());

/** A line about something that ended. @typedef {{time: string, task: string, round: number | null, ended: string,
 * mechanism?: string, norm?: number, clip?: number, noise?: number, delta?: number, clients?: number, up?: number, down?: number}} Line */

/** @param {Line} line @returns {Promise<any>} */
export const note = (line) => add("journal", line, MOST_LINES);

/** @returns {Promise<Line[]>} the oldest first */
export const journal = () => transaction("journal", "readonly", (store) => store.getAll());

/** Erase everything but the sentences: the key is gone for good. */
export async function forgetNode() {
  for (const key of ["identity", "name", "task", "traffic", "models"]) await remove(key);
}
