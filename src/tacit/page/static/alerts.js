// What is wrong, said above the keyboard; each can be closed.

import { byId } from "./panel.js";

/** @param {string} text */
const saying = (text) =>
  [...byId("alerts").children].find((said) => said.firstElementChild?.textContent === text);

/** Say what is wrong, once; the page goes on. @param {string} text */
export function alert(text) {
  if (saying(text)) return;
  const said = document.createElement("p");
  const words = document.createElement("span");
  words.textContent = text;
  const close = document.createElement("button");
  close.type = "button";
  close.textContent = "Close";
  close.addEventListener("click", () => said.remove());
  said.append(words, " ", close);
  byId("alerts").append(said);
}

/** It is no longer so. @param {string} text */
export function withdraw(text) {
  saying(text)?.remove();
}
