// The cryptographic parts, all of WebCrypto; labels and layouts are those of tacit.privacy.secure.primitives.
//
//     mask key of i < j   HKDF(X25519(mask keys of i and j), salt context, info "tacit secure sum 1 mask" / i / j)
//     self-mask key of i  HKDF(seed of i,                    salt context, info "tacit secure sum 1 self" / i)
//     share key i → j     HKDF(X25519(share keys of i, j),   salt context, info "tacit secure sum 1 share" / i / j)

import { integer, join, sha256, unhex, utf8 } from "../bytes.js";
import { Refused } from "./errors.js";

export const KEY = 32; // bytes of a public, a private and a symmetric key
export const DIGEST = 32;
export const TAG = 16; // bytes that AES-GCM adds
export const SEED_SHARE = 0; // kinds of shares
export const KEY_SHARE = 1;
const LABEL = utf8("tacit secure sum 1 ");
const NONCE = new Uint8Array(12);
const PKCS8 = unhex("302e020100300506032b656e04220420"); // what stands before 32 private bytes (RFC 8410)
const BASE = Uint8Array.from({ length: KEY }, (_, i) => (i ? 0 : 9)); // X25519's base point (RFC 7748)

/** @typedef {Uint8Array} Bytes */
/** @param {Bytes} bytes @returns {BufferSource} */
const source = (bytes) => /** @type {any} */ (bytes);

/** The public key of 32 private bytes. @param {Bytes} secret */
export const publicKey = (secret) => agree(secret, BASE);

/** The X25519 secret that two parties share. @param {Bytes} secret @param {Bytes} other @returns {Promise<Bytes>} */
export async function agree(secret, other) {
  const own = await crypto.subtle.importKey("pkcs8", source(join(PKCS8, secret)), "X25519", false, ["deriveBits"]);
  const theirs = await crypto.subtle.importKey("raw", source(other), "X25519", false, []);
  try {
    const shared = new Uint8Array(await crypto.subtle.deriveBits({ name: "X25519", public: theirs }, own, 256));
    if (shared.some((byte) => byte)) return shared;
  } catch {
    // a browser that refuses such a point itself
  }
  throw new Refused("a public key is a point of small order; its owner cannot take part");
}

/** The label of a use and the clients it concerns. @param {string} use @param {number[]} ids */
export const info = (use, ...ids) => join(LABEL, utf8(use), ...ids.map((id) => integer(id, 4)));

/** A key of 32 bytes for one use: HKDF-SHA256. @param {Bytes} secret @param {Bytes} context @param {Bytes} label */
export async function derive(secret, context, label) {
  const key = await crypto.subtle.importKey("raw", source(secret), "HKDF", false, ["deriveBits"]);
  const how = { name: "HKDF", hash: "SHA-256", salt: source(context), info: source(label) };
  return new Uint8Array(await crypto.subtle.deriveBits(how, key, 256));
}

/** The key of the mask that two clients share. @param {Bytes} secret @param {Bytes} other @param {Bytes} context
 * @param {number} one @param {number} two */
export async function maskKey(secret, other, context, one, two) {
  return derive(await agree(secret, other), context, info("mask", Math.min(one, two), Math.max(one, two)));
}

/** The key of a client's own mask. @param {Bytes} seed @param {Bytes} context @param {number} client */
export const selfKey = (seed, context, client) => derive(seed, context, info("self", client));

/** The key under which a sender's shares travel to a receiver. @param {Bytes} secret @param {Bytes} other
 * @param {Bytes} context @param {number} sender @param {number} receiver */
export async function shareKey(secret, other, context, sender, receiver) {
  return derive(await agree(secret, other), context, info("share", sender, receiver));
}

/** By this hash the server recognises a reconstructed seed. @param {Bytes} seed @param {Bytes} context @param {number} client */
export const seedCommitment = (seed, context, client) =>
  sha256(join(LABEL, utf8("seed"), context, integer(client, 4), seed));

/** By this hash the server recognises a single share. @param {Bytes} share @param {Bytes} context @param {number} kind
 * @param {number} dealer @param {number} holder */
export const shareDigest = (share, context, kind, dealer, holder) =>
  sha256(join(LABEL, utf8("digest"), context, [kind], integer(dealer, 4), integer(holder, 4), share));

/** Encrypt the one message of a key, bound to what both parties know. @param {Bytes} key @param {Bytes} plain @param {Bytes} known */
export async function seal(key, plain, known) {
  const aes = await crypto.subtle.importKey("raw", source(key), "AES-GCM", false, ["encrypt"]);
  const how = { name: "AES-GCM", iv: NONCE, additionalData: source(known) };
  return new Uint8Array(await crypto.subtle.encrypt(how, aes, source(plain)));
}

/** Decrypt a message; null if it was not made with this key, or by one who knows something else.
 * @param {Bytes} key @param {Bytes} sealed @param {Bytes} known @returns {Promise<Bytes | null>} */
export async function unseal(key, sealed, known) {
  const aes = await crypto.subtle.importKey("raw", source(key), "AES-GCM", false, ["decrypt"]);
  const how = { name: "AES-GCM", iv: NONCE, additionalData: source(known) };
  try {
    return new Uint8Array(await crypto.subtle.decrypt(how, aes, source(sealed)));
  } catch {
    return null;
  }
}
