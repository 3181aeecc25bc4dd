// Light or dark: the system's setting, until the switch changes it; the choice is kept in this browser.

import { recall, store } from "./store.js";

const KEY = "tacit.theme";

/** Make a button the switch. @param {HTMLButtonElement} button */
export function themeSwitch(button) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const say = () => (button.textContent = dark() ? "Light" : "Dark");
  const chosen = recall(KEY);
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    store(KEY, root.dataset.theme);
    say();
  });
  system.addEventListener("change", say);
  say();
}
