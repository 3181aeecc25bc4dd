// The random numbers of training: those of src/tacit/base/randomness.py (order of batches) and JAX's (dropout).
//
// Both have no state: a draw is a hash of its address, so a page draws what the simulator draws for the same client.

const MASK = (1n << 64n) - 1n;
const GOLDEN = 0x9e3779b97f4a7c15n;

/** The counters of named uses: the first 8 bytes of SHA-256 of the name. A test compares them with Python's. */
export const STREAMS = {
  "local shuffle": 0xd87649db0e3e4abbn,
  stragglers: 0x2415185e6be08d2n,
};

/** @param {bigint} x SplitMix64's finaliser */
function mix(x) {
  x = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return x ^ (x >> 31n);
}

/**
 * The 64 random bits of an address.
 * @param {(number | bigint)[]} counters
 * @param {bigint} [state] of the counters before
 */
export function bits(counters, state = GOLDEN) {
  for (const counter of counters) state = mix((state + BigInt(counter) * GOLDEN + 1n) & MASK);
  return state;
}

/**
 * A uniform draw in [0, 1), with 53 bits.
 * @param {(number | bigint)[]} counters
 * @param {bigint} [state]
 */
export function uniform(counters, state) {
  return Number(bits(counters, state) >> 11n) * 2 ** -53;
}

/**
 * Threefry 2x32 with 20 rounds (Salmon et al. 2011).
 * @param {number} k0 @param {number} k1 the key
 * @param {number} x0 @param {number} x1 the counter
 * @returns {[number, number]} unsigned
 */
export function threefry(k0, k1, x0, x1) {
  const keys = [k0, k1, k0 ^ k1 ^ 0x1bd11bda];
  x0 = (x0 + k0) | 0;
  x1 = (x1 + k1) | 0;
  for (let i = 0; i < 5; i++) {
    for (const r of i % 2 ? [17, 29, 16, 24] : [13, 15, 26, 6]) {
      x0 = (x0 + x1) | 0;
      x1 = ((x1 << r) | (x1 >>> (32 - r))) ^ x0;
    }
    x0 = (x0 + keys[(i + 1) % 3]) | 0;
    x1 = (x1 + keys[(i + 2) % 3] + i + 1) | 0;
  }
  return [x0 >>> 0, x1 >>> 0];
}

/**
 * A key of JAX: `jax.random.fold_in(key, data)`. The key of a seed is [0, seed].
 * @param {[number, number]} key @param {number} data below 2^32
 */
export function foldIn(key, data) {
  return threefry(key[0], key[1], 0, data);
}
