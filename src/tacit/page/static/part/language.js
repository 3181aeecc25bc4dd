// The language of a run: how its text becomes words (../locale.js). A tab asks its own server for it once, by its code.

import { current, setLocale } from "../locale.js";
import { Refusal } from "./refusal.js";

/** @param {string} code as text.locale of a configuration */
export async function speak(code) {
  if (current().code === code) return;
  if (!/^[a-z]{2,3}$/.test(code)) throw new Refusal("config", "it has no language that a page knows");
  const how = /** @type {const} */ ({ cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" });
  const answer = await fetch(new URL(`locales/${code}.json`, import.meta.url), how).catch(() => null);
  if (!answer?.ok) throw new Refusal("config", `the language '${code}' of the run cannot be loaded`);
  setLocale(await answer.json());
}
