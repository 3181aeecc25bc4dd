// Long presses: the letters that a held key offers, in a row above it. Slide to one and release; released at once, the
// first is typed. On the keyboard Alt and the up arrow open the row, the arrows move in it, Enter types and Escape closes it.

import { keyCapital } from "./locale.js";

const AWAY = 60; // pixels below the row: a finger that moves on glides instead

/** @typedef {import("./keys.js").Key} Key */

/** The key that an offered character stands for. @param {string} value @returns {Key} */
function keyOf(value) {
  return { kind: /^[\p{L}\p{M}’]$/u.test(value) ? "letter" : "mark", value, name: value, width: 2 };
}

/**
 * @param {HTMLElement} board where the row is shown
 * @param {(key: Key, from: Element, event: Event) => void} type a character was chosen with Enter, Space or a click
 */
export function makeLongPress(board, type) {
  const row = document.createElement("div");
  row.className = "held";
  row.setAttribute("role", "menu");
  row.setAttribute("aria-label", "More letters");
  row.hidden = true;
  board.append(row);
  /** The key that is held. @type {HTMLElement | null} */
  let from = null;
  /** @type {Key[]} */
  let offered = [];
  let at = 0; // the chosen one

  function choose(/** @type {number} */ place) {
    at = Math.min(Math.max(place, 0), offered.length - 1);
    [...row.children].forEach((item, i) => item.classList.toggle("chosen", i === at));
  }

  function close() {
    row.hidden = true;
    row.replaceChildren();
    from?.setAttribute("aria-expanded", "false");
    [from, offered] = [null, []];
  }

  /** Go back to the key, if the focus is in the row. */
  function leave() {
    const key = from;
    const focused = row.contains(document.activeElement);
    close();
    if (focused) key?.focus();
  }

  const buttons = () => /** @type {HTMLButtonElement[]} */ ([...row.children]);

  row.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? 0;
    if (step) {
      choose(at + step);
      buttons()[at].focus();
    } else if (event.key === "Escape" || event.key === "ArrowDown" || event.key === "Tab") leave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  row.addEventListener("pointerdown", (event) => event.preventDefault()); // the text keeps the focus
  row.addEventListener("click", (event) => {
    const place = buttons().findIndex((item) => item.contains(/** @type {Node} */ (event.target)));
    const key = from;
    if (place < 0 || !key) return;
    const chosen = offered[place];
    event.stopPropagation();
    leave();
    type(chosen, key, event);
  });

  return {
    close,
    /** Whether a row is shown. */
    isOpen: () => from !== null,

    /**
     * Show what a key offers, above it.
     * @param {HTMLElement} element
     * @param {Key} key
     * @param {boolean} capitals whether shift is on
     * @param {boolean} [focus] whether the keyboard moves in the row
     */
    open(element, key, capitals, focus = false) {
      close();
      from = element;
      offered = (key.held ?? []).map(keyOf);
      row.replaceChildren(
        ...offered.map(({ value }) => {
          const item = document.createElement("button");
          item.type = "button";
          item.tabIndex = -1;
          item.setAttribute("role", "menuitem");
          item.dataset.key = value;
          item.textContent = capitals ? keyCapital(value) : value;
          return item;
        }),
      );
      row.hidden = false;
      element.setAttribute("aria-expanded", "true");
      const [box, around] = [element.getBoundingClientRect(), board.getBoundingClientRect()];
      const middle = box.left + box.width / 2 - around.left - row.offsetWidth / 2;
      row.style.left = `${Math.max(4, Math.min(middle, around.width - row.offsetWidth - 4))}px`;
      row.style.top = `${box.top - around.top - row.offsetHeight}px`;
      choose(0);
      if (focus) buttons()[0].focus();
    },

    /**
     * The finger moves: choose what is nearest to it. Returns false if it has moved away.
     * @param {number} x
     * @param {number} y
     */
    follow(x, y) {
      const box = row.getBoundingClientRect();
      if (!from || y > from.getBoundingClientRect().bottom + AWAY || y < box.top - AWAY) return false;
      const middles = buttons().map((item) => item.getBoundingClientRect()).map((b) => Math.abs(b.left + b.width / 2 - x));
      const own = from.getBoundingClientRect();
      if (x < own.left || x > own.right || y < own.top) choose(middles.indexOf(Math.min(...middles)));
      return true;
    },

    /** The finger is lifted: what was chosen; the row closes. */
    take() {
      const chosen = offered[at];
      close();
      return chosen;
    },
  };
}
