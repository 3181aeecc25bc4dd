// The kernels of kernels.c in plain JavaScript: where WebAssembly is not allowed or not there, and as a judge in tests.
// products.js has those of products.c.
//
// Every array is given by the place of its first number in the kernels' memory, in bytes, as in C. Sums are float64
// here and rounded once, so the two agree to float32 rounding and not to the bit.

import { products } from "./products.js";
import { threefry } from "./random.js";

/** @typedef {ReturnType<typeof plain>} Kernels */

/**
 * Reads and writes of a kernel's memory.
 * @param {ArrayBuffer} buffer
 */
function access(buffer) {
  return {
    /** Copies float32 or int32 numbers into memory. @param {number} at @param {Float32Array | Int32Array} numbers */
    put(at, numbers) {
      new Uint8Array(buffer).set(new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength), at);
    },
    /** The memory itself, as float32 numbers. @param {number} at @param {number} count */
    get(at, count) {
      return new Float32Array(buffer, at, count);
    },
  };
}

/**
 * The kernels of a compiled module.
 * @param {WebAssembly.Exports} exports
 * @param {ArrayBuffer} buffer its memory, which no longer grows
 * @returns {Kernels}
 */
export function compiled(exports, buffer) {
  return /** @type {any} */ ({ ...exports, ...access(buffer) });
}

/** The plain kernels. @param {ArrayBuffer} buffer */
export function plain(buffer) {
  const f = new Float32Array(buffer);
  const whole = new Int32Array(buffer);
  const sigmoid = (/** @type {number} */ x) => 1 / (1 + Math.exp(-x));

  /** Visits [m, n] with the number of the row and of the cell. @param {number} m @param {number} n @param {(i: number, j: number, at: number) => void} visit */
  const each = (m, n, visit) => {
    for (let i = 0; i < m; i++) for (let j = 0; j < n; j++) visit(i, j, i * n + j);
  };

  return {
    ...access(buffer),
    ...products(f),

    /** @param {number[]} args m, n, x, b */
    add_row(...[m, n, x, b]) {
      each(m, n, (i, j, at) => (f[(x >> 2) + at] += f[(b >> 2) + j]));
    },
    /** @param {number[]} args m, n, x, s */
    add_rows(...[m, n, x, s]) {
      each(m, n, (i, j, at) => (f[(s >> 2) + j] += f[(x >> 2) + at]));
    },
    /** @param {number[]} args m, n, x, keep, y */
    before(...[m, n, x, keep, y]) {
      each(m, n, (i, j, at) => (f[(y >> 2) + at] = x && f[(keep >> 2) + i] ? f[(x >> 2) + at] : 0));
    },
    /** @param {number[]} args m, n, x, keep, y */
    add_kept(...[m, n, x, keep, y]) {
      each(m, n, (i, j, at) => (f[(y >> 2) + at] += f[(keep >> 2) + i] ? f[(x >> 2) + at] : 0));
    },
    /** @param {number} n @param {number} x @param {number} y */
    add(n, x, y) {
      for (let i = 0; i < n; i++) f[(y >> 2) + i] += f[(x >> 2) + i];
    },
    /** @param {number} n @param {number} x @param {number} value */
    fill(n, x, value) {
      f.fill(value, x >> 2, (x >> 2) + n);
    },
    /** @param {number} n @param {number} x @param {number} y */
    copy(n, x, y) {
      f.copyWithin(y >> 2, x >> 2, (x >> 2) + n);
    },
    /** @param {number[]} args m, n, table, at, x */
    gather(...[m, n, table, where, x]) {
      each(m, n, (i, j, at) => (f[(x >> 2) + at] = f[(table >> 2) + whole[(where >> 2) + i] * n + j]));
    },
    /** @param {number[]} args m, n, table, at, x */
    scatter(...[m, n, table, where, x]) {
      each(m, n, (i, j, at) => (f[(table >> 2) + whole[(where >> 2) + i] * n + j] += f[(x >> 2) + at]));
    },
    /** @param {number[]} args m, n, a, b, hp, h */
    gru_forward(...[m, n, a, b, hp, h]) {
      each(m, n, (i, j, at) => {
        const [x, y] = [(a >> 2) + 3 * i * n + j, (b >> 2) + 3 * i * n + j];
        const r = (f[x] = sigmoid(f[x] + f[y]));
        const z = (f[x + n] = sigmoid(f[x + n] + f[y + n]));
        const w = (f[x + 2 * n] = Math.tanh(f[x + 2 * n] + r * f[y + 2 * n]));
        f[(h >> 2) + at] = (1 - z) * w + z * f[(hp >> 2) + at];
      });
    },
    /** @param {number[]} args m, n, a, b, hp, dh, dhp */
    gru_backward(...[m, n, a, b, hp, dh, dhp]) {
      each(m, n, (i, j, at) => {
        const [x, y] = [(a >> 2) + 3 * i * n + j, (b >> 2) + 3 * i * n + j];
        const [r, z, w, d] = [f[x], f[x + n], f[x + 2 * n], f[(dh >> 2) + at]];
        const dw = d * (1 - z) * (1 - w * w);
        f[x] = f[y] = dw * f[y + 2 * n] * r * (1 - r);
        f[x + n] = f[y + n] = d * (f[(hp >> 2) + at] - w) * z * (1 - z);
        f[x + 2 * n] = dw;
        f[y + 2 * n] = dw * r;
        f[(dhp >> 2) + at] = d * z;
      });
    },
    /** @param {number[]} args m, n, a, hp, rh */
    printed_gates(...[m, n, a, hp, rh]) {
      each(m, n, (i, j, at) => {
        const x = (a >> 2) + 3 * i * n + j;
        f[x] = sigmoid(f[x]);
        f[x + n] = sigmoid(f[x + n]);
        f[(rh >> 2) + at] = f[x + n] * f[(hp >> 2) + at];
      });
    },
    /** @param {number[]} args m, n, a, hp, h */
    printed_forward(...[m, n, a, hp, h]) {
      each(m, n, (i, j, at) => {
        const x = (a >> 2) + 3 * i * n + j;
        const w = (f[x + 2 * n] = Math.tanh(f[x + 2 * n]));
        f[(h >> 2) + at] = (1 - f[x]) * f[(hp >> 2) + at] + f[x] * w;
      });
    },
    /** @param {number[]} args m, n, a, hp, dh, dhp */
    printed_backward(...[m, n, a, hp, dh, dhp]) {
      each(m, n, (i, j, at) => {
        const x = (a >> 2) + 3 * i * n + j;
        const [z, w, d] = [f[x], f[x + 2 * n], f[(dh >> 2) + at]];
        f[x] = d * (w - f[(hp >> 2) + at]) * z * (1 - z);
        f[x + 2 * n] = d * z * (1 - w * w);
        f[(dhp >> 2) + at] = d * (1 - z);
      });
    },
    /** @param {number[]} args m, n, a, hp, drh, dhp */
    printed_reset(...[m, n, a, hp, drh, dhp]) {
      each(m, n, (i, j, at) => {
        const x = (a >> 2) + 3 * i * n + j;
        const [r, d] = [f[x + n], f[(drh >> 2) + at]];
        f[x + n] = d * f[(hp >> 2) + at] * r * (1 - r);
        f[(dhp >> 2) + at] += d * r;
      });
    },
    /** @param {number[]} args m, n, gates, a, cp, c */
    lstm_forward(...[m, n, gates, a, cp, c]) {
      each(m, n, (i, j, at) => {
        const x = (a >> 2) + gates * i * n + j;
        const into = (f[x] = sigmoid(f[x]));
        f[x + n] = sigmoid(f[x + n]);
        const w = (f[x + 2 * n] = Math.tanh(f[x + 2 * n]));
        const forget = gates === 4 ? (f[x + 3 * n] = sigmoid(f[x + 3 * n] + 1)) : 1 - into;
        f[(c >> 2) + at] = forget * f[(cp >> 2) + at] + into * w;
      });
    },
    /** @param {number[]} args m, n, gates, a, c, q */
    lstm_out(...[m, n, gates, a, c, q]) {
      each(m, n, (i, j, at) => {
        f[(q >> 2) + at] = f[(a >> 2) + gates * i * n + n + j] * Math.tanh(f[(c >> 2) + at]);
      });
    },
    /** @param {number[]} args m, n, gates, a, c, dq, dc */
    lstm_out_backward(...[m, n, gates, a, c, dq, dc]) {
      each(m, n, (i, j, at) => {
        const x = (a >> 2) + gates * i * n + n + j;
        const [o, t, d] = [f[x], Math.tanh(f[(c >> 2) + at]), f[(dq >> 2) + at]];
        f[x] = d * t * o * (1 - o);
        f[(dc >> 2) + at] = d * o * (1 - t * t);
      });
    },
    /** @param {number[]} args m, n, gates, a, cp, dc, dcp */
    lstm_backward(...[m, n, gates, a, cp, dc, dcp]) {
      each(m, n, (i, j, at) => {
        const x = (a >> 2) + gates * i * n + j;
        const [into, w, d, before] = [f[x], f[x + 2 * n], f[(dc >> 2) + at], f[(cp >> 2) + at]];
        const forget = gates === 4 ? f[x + 3 * n] : 1 - into;
        if (gates === 4) f[x + 3 * n] = d * before * forget * (1 - forget);
        f[x] = (gates === 4 ? d * w : d * (w - before)) * into * (1 - into);
        f[x + 2 * n] = d * into * (1 - w * w);
        f[(dcp >> 2) + at] = d * forget;
      });
    },
    /** @param {number[]} args m, n, kinds, x, gain, shift, rs, y */
    norm_forward(...[m, n, kinds, x, gain, shift, rs, y]) {
      for (let i = 0; i < m; i++) {
        const row = f.subarray((x >> 2) + i * n, (x >> 2) + (i + 1) * n);
        const mean = row.reduce((s, v) => s + v, 0) / n;
        const scale = 1 / Math.sqrt(row.reduce((s, v) => s + (v - mean) ** 2, 0) / n + 1e-5);
        f[(rs >> 2) + i] = scale;
        const kind = (i % kinds) * n;
        for (let j = 0; j < n; j++) {
          row[j] = (row[j] - mean) * scale;
          f[(y >> 2) + i * n + j] = row[j] * f[(gain >> 2) + kind + j] + f[(shift >> 2) + kind + j];
        }
      }
    },
    /** @param {number[]} args m, n, kinds, xhat, gain, rs, dy, dx, dgain, dshift */
    norm_backward(...[m, n, kinds, xhat, gain, rs, dy, dx, dgain, dshift]) {
      for (let i = 0; i < m; i++) {
        const kind = (i % kinds) * n;
        let [mean, along] = [0, 0];
        for (let j = 0; j < n; j++) {
          const [d, v] = [f[(dy >> 2) + i * n + j], f[(xhat >> 2) + i * n + j]];
          f[(dgain >> 2) + kind + j] += d * v;
          f[(dshift >> 2) + kind + j] += d;
          mean += (d * f[(gain >> 2) + kind + j]) / n;
          along += (d * f[(gain >> 2) + kind + j] * v) / n;
        }
        for (let j = 0; j < n; j++) {
          const at = i * n + j;
          const d = f[(dy >> 2) + at] * f[(gain >> 2) + kind + j];
          f[(dx >> 2) + at] = f[(rs >> 2) + i] * (d - mean - f[(xhat >> 2) + at] * along);
        }
      }
    },
    /** @param {number[]} args m, n, s, bias, targets, share, facts */
    softmax(...[m, n, s, bias, targets, share, facts]) {
      for (let i = 0; i < m; i++) {
        const row = f.subarray((s >> 2) + i * n, (s >> 2) + (i + 1) * n);
        let [top, sum] = [-Infinity, 0];
        for (let j = 0; j < n; j++) top = Math.max(top, (row[j] += f[(bias >> 2) + j]));
        const target = whole[(targets >> 2) + i];
        const score = row[target];
        for (let j = 0; j < n; j++) sum += row[j] = Math.exp(row[j] - top);
        f.set([sum, top, score], (facts >> 2) + 3 * i);
        for (let j = 0; j < n; j++) row[j] *= share / sum;
        row[target] -= share;
      }
    },
    /** @param {number[]} args m, n, x, place, k0, k1, keep */
    dropout(...[m, n, x, place, k0, k1, keep]) {
      each(m, n, (i, j, at) => {
        const number = whole[(place >> 2) + i] * n + j;
        const [a, b] = threefry(k0, k1, Math.floor(number / 2 ** 32), number | 0);
        const kept = ((a ^ b) >>> 9) * 2 ** -23 < keep;
        f[(x >> 2) + at] = kept ? f[(x >> 2) + at] / keep : 0;
      });
    },
    /** @param {number[]} args n, g, w, w0, mu */
    pull(...[n, g, w, w0, mu]) {
      for (let i = 0; i < n; i++) f[(g >> 2) + i] += mu * (f[(w >> 2) + i] - f[(w0 >> 2) + i]);
    },
    /** @param {number} n @param {number} x */
    squares(n, x) {
      let sum = 0;
      for (let i = x >> 2; i < (x >> 2) + n; i++) sum += f[i] * f[i];
      return sum;
    },
    /** @param {number[]} args n, w, g, z, factor, momentum, lr, decay */
    sgd(...[n, w, g, z, factor, momentum, lr, decay]) {
      for (let i = 0; i < n; i++) {
        let u = factor * f[(g >> 2) + i];
        if (z) u = f[(z >> 2) + i] = u + momentum * f[(z >> 2) + i];
        f[(w >> 2) + i] -= lr * (u + decay * f[(w >> 2) + i]);
      }
    },
    /** @param {number[]} args n, w, g, m, v, factor, beta1, rest1, beta2, rest2, first, second, eps, lr, decay */
    adam(...[n, w, g, m, v, factor, beta1, rest1, beta2, rest2, first, second, eps, lr, decay]) {
      for (let i = 0; i < n; i++) {
        let d = factor * f[(g >> 2) + i];
        const square = (f[(v >> 2) + i] = beta2 * f[(v >> 2) + i] + rest2 * d * d);
        if (m) d = f[(m >> 2) + i] = beta1 * f[(m >> 2) + i] + rest1 * d;
        f[(w >> 2) + i] -= lr * ((first * d) / (second * Math.sqrt(square) + eps) + decay * f[(w >> 2) + i]);
      }
    },
  };
}
