// The personal cache in the page: storing, showing, exporting, erasing it, and switching it off.

import { fromJson, makeCache, toJson, without } from "./cache.js";
import { download } from "./download.js";
import { byId, showContents, showMemory } from "./panel.js";
import { recall, store } from "./store.js";

const KEY = "tacit.words";
const SWITCH = "tacit.learn"; // "off", or nothing
const LATER = 400; // milliseconds without a key until it is stored

/**
 * @param {() => void} replaced called when the cache is replaced: by an empty one, or by another tab's
 * @param {() => void} switched called when it is switched on or off
 */
export function makePersonalCache(replaced, switched) {
  const learning = /** @type {HTMLInputElement} */ (byId("learn"));
  const inside = /** @type {HTMLDetailsElement} */ (byId("inside"));
  learning.checked = recall(SWITCH) !== "off"; // the choice is kept
  let cache = fromJson(recall(KEY));
  let stored = true; // whether the browser keeps it
  let waiting = 0;
  let seen = cache.next; // its size when it was last stored, or is about to be

  function keepNow() {
    clearTimeout(waiting);
    waiting = 0;
    stored = store(KEY, cache.entries.length ? toJson(cache) : null);
  }

  /** Take over what another tab stored, or its erasure: an old copy must not come back. */
  function adopt(/** @type {string | null} */ json) {
    clearTimeout(waiting);
    waiting = 0;
    cache = fromJson(json);
    seen = cache.next;
    replaced();
  }

  /** @param {string} word */
  function forget(word) {
    cache = without(cache, word);
    seen = cache.next;
    keepNow();
    replaced();
    byId("said").textContent = `${word} is forgotten`;
    inside.querySelector("summary")?.focus(); // the button is gone
  }

  inside.addEventListener("toggle", () => showContents(cache, forget));
  byId("export").addEventListener("click", () => download("tacit-words.json", toJson(cache)));
  const sure = /** @type {HTMLDialogElement} */ (byId("sure"));
  byId("erase").addEventListener("click", () => {
    const n = cache.entries.length;
    if (!n) return void (byId("said").textContent = "There is nothing to erase");
    byId("sure-what").textContent = n === 1 ? "Erase the one word? This cannot be undone." : `Erase all ${n.toLocaleString("en")} words? This cannot be undone.`;
    sure.showModal();
  });
  byId("sure-no").addEventListener("click", () => sure.close());
  byId("sure-yes").addEventListener("click", () => {
    sure.close();
    cache = makeCache();
    keepNow();
    replaced();
    byId("said").textContent = "Your words are erased";
  });
  addEventListener("pagehide", () => {
    if (waiting) keepNow();
  });
  learning.addEventListener("change", () => {
    store(SWITCH, learning.checked ? null : "off");
    switched();
  });
  addEventListener("storage", ({ key, newValue }) => {
    if (key === KEY || key === null) adopt(newValue); // no key: all was cleared
    if (key === SWITCH) {
      learning.checked = newValue !== "off";
      switched();
    }
  });

  return {
    learning: () => learning.checked,
    /** The cache, whether or not it is in use. */
    all: () => cache,
    /** The cache if it is in use. */
    used: () => (learning.checked ? cache : null),
    /** Replace the cache; it is stored when there is time. @param {import("./cache.js").Cache} next */
    become(next) {
      if (next !== cache || next.next !== seen) { // a cache learns in place
        seen = next.next;
        clearTimeout(waiting);
        waiting = window.setTimeout(keepNow, LATER);
      }
      cache = next;
    },
    show() {
      showMemory(cache, stored);
      if (inside.open) showContents(cache, forget);
    },
  };
}
