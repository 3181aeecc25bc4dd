// Notices above the keyboard; each can be closed.

import { byId } from "./panel.js";

/** @param {string} text */
const noticeOf = (text) =>
  [...byId("alerts").children].find((notice) => notice.firstElementChild?.textContent === text);

/** Show a notice, once. @param {string} text */
export function alert(text) {
  if (noticeOf(text)) return;
  const notice = document.createElement("p");
  const words = document.createElement("span");
  words.textContent = text;
  const close = document.createElement("button");
  close.type = "button";
  close.textContent = "Close";
  close.addEventListener("click", () => notice.remove());
  notice.append(words, " ", close);
  byId("alerts").append(notice);
}

/** Remove a notice. @param {string} text */
export function withdraw(text) {
  noticeOf(text)?.remove();
}
