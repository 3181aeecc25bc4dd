// Flower's calls for clients, over the gate: protobuf by POST, signed with this browser's key.
//
// The key is ECDSA P-384 and cannot be exported: it can sign in this browser, and nobody can copy it, also not this
// page. A call carries the public key, the time, and a signature of the time; the body is not signed, TLS protects it.

import { base64, join } from "./bytes.js";
import { bytes, double, one, read, unsigned } from "./protobuf.js";

export const BEAT = 12; // seconds between signs of life
const PROMISED = 30; // seconds between them that the server is told, as Python clients say; it waits for twice as long
const SAME = 2000; // milliseconds by which clocks may differ: the server tells whole seconds
const HOW = { name: "ECDSA", namedCurve: "P-384" };

/** @typedef {{private: CryptoKey, public: Uint8Array}} Identity `public` is the key's SubjectPublicKeyInfo */

/** A new key of this browser. @returns {Promise<Identity>} */
export async function newIdentity() {
  const pair = await crypto.subtle.generateKey(HOW, false, ["sign"]);
  return { private: pair.privateKey, public: new Uint8Array(await crypto.subtle.exportKey("spki", pair.publicKey)) };
}

/** A public key as PEM, which is how Flower names a node. @param {Uint8Array} spki */
export function pem(spki) {
  const lines = base64(spki).match(/.{1,64}/g) ?? [];
  return `-----BEGIN PUBLIC KEY-----\n${lines.join("\n")}\n-----END PUBLIC KEY-----\n`;
}

/** A signature as DER, from the two numbers of 48 bytes that WebCrypto gives. @param {Uint8Array} raw */
export function der(raw) {
  const number = (/** @type {Uint8Array} */ part) => {
    let start = 0;
    while (start < part.length - 1 && !part[start]) start++;
    const rest = part.subarray(start);
    const body = rest[0] > 127 ? join([0], rest) : rest;
    return join([2, body.length], body);
  };
  const body = join(number(raw.subarray(0, raw.length / 2)), number(raw.subarray(raw.length / 2)));
  return join([0x30, body.length], body);
}

/** A call that the server did not take. */
export class CallError extends Error {
  /** @param {number} status 0 if the server was not reached @param {string} what */
  constructor(status, what) {
    super(what);
    this.status = status;
  }
}

/** What a call has cost, in bytes. @typedef {{up: number, down: number}} Traffic */

/**
 * The calls of one node.
 * @param {Identity} identity @param {(traffic: Traffic) => void} count @param {string} origin
 */
export function fleet(identity, count = () => {}, origin = "") {
  let ahead = 0; // milliseconds of the server's clock before this one: it refuses a call that is five seconds early
  const text = new TextEncoder();
  const publicKey = text.encode(pem(identity.public));
  const header = base64(publicKey);

  /** A call, signed now: what `fetch` is given. @param {string} name @param {Uint8Array} body @returns {Promise<[string, RequestInit]>} */
  async function signed(name, body) {
    const when = new Date(Date.now() + ahead).toISOString().replace("Z", "+00:00");
    const raw = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, identity.private, text.encode(when));
    const headers = {
      "content-type": "application/protobuf",
      accept: "application/protobuf",
      "flwr-public-key": header,
      "flwr-timestamp": when,
      "flwr-signature": base64(der(new Uint8Array(raw))),
    };
    const manners = /** @type {const} */ ({ cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" });
    return [`${origin}/v1/fleet/${name}`, { method: "POST", headers, body: /** @type {any} */ (body), ...manners }];
  }

  /** @param {string} name @param {Uint8Array} body */
  async function call(name, body) {
    const request = await signed(name, body);
    let answer, content;
    try {
      answer = await fetch(...request);
      const told = Date.parse(answer.headers.get("date") ?? "") - Date.now();
      if (!Number.isNaN(told)) ahead = Math.abs(told) > SAME ? told : 0;
      content = new Uint8Array(await answer.arrayBuffer());
    } catch {
      throw new CallError(0, "the server cannot be reached");
    }
    count({ up: body.length, down: content.length });
    if (!answer.ok) throw new CallError(answer.status, `the server answers ${answer.status} to ${name}`);
    return read(content);
  }

  const node = (/** @type {bigint} */ id) => bytes(1, unsigned(1, id), true);

  return {
    /** The server's time, in seconds. */
    now: () => (Date.now() + ahead) / 1000,

    /** Come: the node's id. @returns {Promise<bigint>} */
    async activate() {
      return one(await call("activate-node", join(bytes(1, publicKey), double(2, PROMISED))), 1).value;
    },

    /** Go: the server asks this node no more. @param {bigint} id */
    deactivate: (id) => call("deactivate-node", unsigned(1, id)),

    /** The call by which this node goes, for a page that is being closed and has no time to sign. The server takes it
     * for five minutes. @param {bigint} id */
    farewell: (id) => signed("deactivate-node", unsigned(1, id)),

    /** A sign of life; false if the server does not know this node. @param {bigint} id */
    async beat(id) {
      return one(await call("send-node-heartbeat", join(node(id), double(2, PROMISED))), 1).value === 1n;
    },

    /** The next message, and the ids of its objects. @param {bigint} id */
    async pull(id) {
      const said = await call("pull-messages", node(id));
      const message = said.get(2)?.[0];
      const tree = said.get(3)?.[0];
      if (!message || !tree) return null;
      /** @type {string[]} */
      const ids = [];
      const walk = (/** @type {Map<number, import("./protobuf.js").Field[]>} */ at, /** @type {number} */ depth) => {
        if (depth > 8 || ids.length > 4000) throw new RangeError("a message has too many objects");
        ids.push(one(at, 1).text);
        for (const child of at.get(2) ?? []) walk(child.message, depth + 1);
      };
      walk(tree.message, 0);
      return { message: message.message, objects: [...new Set(ids)] };
    },

    /** @param {bigint} id @param {bigint} run @param {string} name @returns {Promise<Uint8Array | null>} null if it is not there yet */
    async object(id, run, name) {
      const said = await call("pull-object", join(node(id), unsigned(2, run), bytes(3, name)));
      if (!one(said, 1).value) throw new CallError(404, "a part of a task is gone");
      return one(said, 2).value ? one(said, 3).content.slice() : null;
    },

    /** @param {bigint} id @param {bigint} run @param {string} message */
    confirm: (id, run, message) => call("confirm-message-received", join(node(id), unsigned(2, run), bytes(3, message))),

    /** Send a reply: what it is, then the objects that the server has not.
     * @param {bigint} id @param {bigint} run @param {Awaited<ReturnType<typeof import("./records.js").writeReply>>} reply @param {number} seconds */
    async push(id, run, reply, seconds) {
      const said = await call("push-messages", join(node(id), bytes(2, reply.message), bytes(3, reply.tree), bytes(4, double(1, seconds).subarray(1))));
      const session = one(said, 4).text;
      for (const wanted of said.get(3) ?? []) {
        const content = reply.pieces.get(wanted.text);
        if (content)
          await call("push-object", join(node(id), unsigned(2, run), bytes(3, wanted.text), bytes(4, content, true), bytes(5, session)));
      }
    },
  };
}
