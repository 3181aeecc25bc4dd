// How a browser joins: it makes its key here, and registers the public half with the token of an invitation.

import { base64 } from "./bytes.js";
import { newIdentity } from "./fleet.js";
import * as store from "./store.js";

/** @typedef {{identity: import("./fleet.js").Identity, name: string}} Member */

/** Who this browser is in the federation, if it has joined. @returns {Promise<Member | null>} */
export async function member() {
  const [identity, name] = [await store.get("identity"), await store.get("name")];
  return identity && name ? { identity, name } : null;
}

/** The token in a link: what stands behind #join=. @param {string} link */
export const tokenOf = (link) => /#join=([A-Za-z0-9_-]{20,100})$/.exec(link)?.[1] ?? "";

/**
 * Join by a token. The key is stored before it is registered: a reload in between tries again with the same key.
 * @param {string} token @param {string} origin @returns {Promise<Member>}
 */
export async function join(token, origin = "") {
  const identity = (await store.get("identity")) ?? (await newIdentity());
  await store.put("identity", identity);
  let answer, said;
  try {
    answer = await fetch(`${origin}/v1/join`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token, key: base64(identity.public) }),
      cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer",
    });
    said = await answer.json();
  } catch {
    throw new Error("The server cannot be reached. The invitation is still good; try again.");
  }
  if (!answer.ok) throw new Error(`The server refuses: ${said.error ?? answer.status}`);
  await store.put("name", said.name);
  return { identity, name: said.name };
}
