// One tab stop for all keys: Tab reaches one key, arrows go to the key beside, above or below it, Home and End to the ends
// of its row.

const STEPS = /** @type {Record<string, [number, number]>} */ ({
  ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
});

/** @param {HTMLElement} holder of rows of buttons */
export function roving(holder) {
  const rows = () => [...holder.children].map((row) => /** @type {HTMLElement[]} */ ([...row.children]));

  /** Make one key the tab stop. @param {HTMLElement} [chosen] */
  function stop(chosen) {
    for (const key of rows().flat()) key.tabIndex = key === chosen ? 0 : -1;
  }

  /** The key of a row that is nearest in x. @param {HTMLElement[]} row @param {HTMLElement} from */
  function nearest(row, from) {
    const middle = (/** @type {HTMLElement} */ key) => key.offsetLeft + key.offsetWidth / 2;
    const away = (/** @type {HTMLElement} */ key) => Math.abs(middle(key) - middle(from));
    return row.reduce((best, key) => (away(key) < away(best) - 2 ? key : best)); // the left one of two as near
  }

  holder.addEventListener("focusin", ({ target }) => {
    const key = /** @type {Element} */ (target).closest("button");
    if (key) stop(key);
  });
  holder.addEventListener("keydown", (event) => {
    const key = /** @type {Element} */ (event.target).closest("button");
    const all = rows();
    const y = all.findIndex((row) => key !== null && row.includes(key));
    if (!key || y < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    const row = all[y];
    const step = STEPS[event.key];
    let next = event.key === "Home" ? row[0] : event.key === "End" ? row[row.length - 1] : undefined;
    if (step?.[0]) next = row[row.indexOf(key) + step[0]];
    if (step?.[1] && all[y + step[1]]) next = nearest(all[y + step[1]], key);
    if (!step && !next) return;
    event.preventDefault(); // the page does not scroll
    next?.focus();
  });

  return {
    /** After the keys were replaced. @param {HTMLElement | null} first the tab stop; null is the first key */
    begin: (first) => stop(first ?? rows()[0]?.[0]),
  };
}
