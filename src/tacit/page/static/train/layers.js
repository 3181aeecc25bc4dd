// Recurrent layers over the cells of a batch: the GRU as libraries have it and as papers print it, and the LSTM.
//
// The equations are those of src/tacit/models/gru.py and lstm.py. `x` has a row for each cell; m rows from cell c on are
// one time, and continue the first m cells of the time before, from cell p on (−1: there is none).

/** @typedef {import("./batches.js").Batch} Batch */
/** @typedef {import("./kernels.js").Kernels} Kernels */
/** @typedef {import("./network.js").Place} Place */
/** @typedef {import("./network.js").Take} Take */
/** @typedef {import("./shapes.js").Model} Model */
/**
 * @typedef {object} Layer
 * @property {(k: Kernels, batch: Batch, keep: number, x: number, out: number) => void} forward
 * @property {(k: Kernels, batch: Batch, keep: number, x: number, dout: number, dx: number, add: number) => void} backward
 *   changes dout; writes dx, or (`add` 1) adds to it
 */

/** @param {Batch} batch @param {(c: number, m: number, p: number) => void} visit */
function forwards(batch, visit) {
  let [c, p] = [0, -1];
  for (const m of batch.counts) {
    visit(c, m, p);
    [c, p] = [c + m, c];
  }
}

/** @param {Batch} batch @param {(c: number, m: number, p: number) => void} visit */
function backwards(batch, visit) {
  let c = batch.cells;
  for (let t = batch.counts.length - 1; t >= 0; t--) {
    c -= batch.counts[t];
    visit(c, batch.counts[t], t ? c - batch.counts[t - 1] : -1);
  }
}

/** Row c of a matrix of n columns; 0, which stands for zeros, if there is no such row. @param {number} at @param {number} c @param {number} n */
const row = (at, c, n) => (c < 0 ? 0 : at + 4 * c * n);

/** @param {Model} model @param {number} size @param {number} cells @param {Place} w @param {Place} g @param {Take} take @returns {Layer} */
export function gru(model, size, cells, w, g, take) {
  const n = model.hidden;
  const [a, b, before, dh] = [take(cells * 3 * n), take(cells * 3 * n), take(cells * n), take(cells * n)];
  return {
    forward(k, batch, keep, x, out) {
      k.nn(batch.cells, 3 * n, size, x, size, w("input"), 3 * n, a, 3 * n, 0);
      k.add_row(batch.cells, 3 * n, a, w("input_bias"));
      forwards(batch, (c, m, p) => {
        const [at, bt, hp] = [row(a, c, 3 * n), row(b, c, 3 * n), row(before, c, n)];
        k.before(m, n, row(out, p, n), row(keep, c, 1), hp);
        k.nn(m, 3 * n, n, hp, n, w("recurrent"), 3 * n, bt, 3 * n, 0);
        k.add_row(m, 3 * n, bt, w("recurrent_bias"));
        k.gru_forward(m, n, at, bt, hp, row(out, c, n));
      });
    },
    backward(k, batch, keep, x, dout, dx, add) {
      backwards(batch, (c, m, p) => {
        const bt = row(b, c, 3 * n);
        k.gru_backward(m, n, row(a, c, 3 * n), bt, row(before, c, n), row(dout, c, n), dh);
        if (p < 0) return;
        k.nt(m, n, 3 * n, bt, 3 * n, w("recurrent"), 3 * n, dh, n, 1);
        k.add_kept(m, n, dh, row(keep, c, 1), row(dout, p, n));
      });
      const all = batch.cells;
      k.tn(size, 3 * n, all, x, size, a, 3 * n, g("input"), 3 * n);
      k.tn(n, 3 * n, all, before, n, b, 3 * n, g("recurrent"), 3 * n);
      k.add_rows(all, 3 * n, a, g("input_bias"));
      k.add_rows(all, 3 * n, b, g("recurrent_bias"));
      k.nt(all, size, 3 * n, a, 3 * n, w("input"), 3 * n, dx, size, add);
    },
  };
}

/** @param {Model} model @param {number} size @param {number} cells @param {Place} w @param {Place} g @param {Take} take @returns {Layer} */
export function printed(model, size, cells, w, g, take) {
  const n = model.hidden;
  const [a, reset, before] = [take(cells * 3 * n), take(cells * n), take(cells * n)];
  const [dh, drh] = [take(cells * n), take(cells * n)];
  const names = ["update", "reset", "candidate"]; // columns of a; rows of a weight: of the state, then of the input
  const ofInput = 4 * n * n;
  return {
    forward(k, batch, keep, x, out) {
      names.forEach((name, i) => {
        k.nn(batch.cells, n, size, x, size, w(name) + ofInput, n, a + 4 * i * n, 3 * n, 0);
      });
      forwards(batch, (c, m, p) => {
        const [at, hp, rh] = [row(a, c, 3 * n), row(before, c, n), row(reset, c, n)];
        k.before(m, n, row(out, p, n), row(keep, c, 1), hp);
        k.nn(m, n, n, hp, n, w("update"), n, at, 3 * n, 1);
        k.nn(m, n, n, hp, n, w("reset"), n, at + 4 * n, 3 * n, 1);
        k.printed_gates(m, n, at, hp, rh);
        k.nn(m, n, n, rh, n, w("candidate"), n, at + 8 * n, 3 * n, 1);
        k.printed_forward(m, n, at, hp, row(out, c, n));
      });
    },
    backward(k, batch, keep, x, dout, dx, add) {
      backwards(batch, (c, m, p) => {
        const [at, hp] = [row(a, c, 3 * n), row(before, c, n)];
        k.printed_backward(m, n, at, hp, row(dout, c, n), dh);
        k.nt(m, n, n, at + 8 * n, 3 * n, w("candidate"), n, drh, n, 0);
        k.printed_reset(m, n, at, hp, drh, dh);
        if (p < 0) return;
        k.nt(m, n, n, at, 3 * n, w("update"), n, dh, n, 1);
        k.nt(m, n, n, at + 4 * n, 3 * n, w("reset"), n, dh, n, 1);
        k.add_kept(m, n, dh, row(keep, c, 1), row(dout, p, n));
      });
      const all = batch.cells;
      names.forEach((name, i) => {
        const e = a + 4 * i * n;
        k.tn(n, n, all, i === 2 ? reset : before, n, e, 3 * n, g(name), n);
        k.tn(size, n, all, x, size, e, 3 * n, g(name) + ofInput, n);
        k.nt(all, size, n, e, 3 * n, w(name) + ofInput, n, dx, size, i ? 1 : add);
      });
    },
  };
}

/** @param {Model} model @param {number} size @param {number} cells @param {Place} w @param {Place} g @param {Take} take @returns {Layer} */
export function lstm(model, size, cells, w, g, take) {
  const [n, gates, normal] = [model.hidden, model.coupled ? 3 : 4, model.layer_norm];
  const wide = gates * n;
  const a = take(cells * wide);
  const [stateBefore, cellBefore] = [take(cells * size), take(cells * n)];
  const [cell, out_, dcells] = [take(cells * n), take(cells * n), take(cells * n)];
  const [dq, dcell, dstate] = [take(cells * n), take(cells * n), take(cells * size)];
  // with layer normalisation: what is normalised, its scale, and the normalised cell
  const [ahat, ascale] = normal ? [take(cells * wide), take(cells * gates)] : [a, 0];
  const [chat, cscale, cnormal] = normal ? [take(cells * n), take(cells), take(cells * n)] : [cell, 0, cell];
  // products of one group's rows with one gate's columns; without groups all gates are one product
  const [s, h] = [size / model.groups, n / model.groups];
  const blocks = [{ x: 0, a: 0, w: 0, n: wide, ld: wide, first: true }];
  if (model.groups > 1) {
    blocks.length = 0;
    for (let i = 0; i < model.groups; i++)
      for (let gate = 0; gate < gates; gate++) {
        const weights = 4 * (i * s * gates * h + gate * h);
        blocks.push({ x: 4 * i * s, a: 4 * (gate * n + i * h), w: weights, n: h, ld: gates * h, first: !gate });
      }
  }
  return {
    forward(k, batch, keep, x, out) {
      for (const b of blocks) k.nn(batch.cells, b.n, s, x + b.x, size, w("input") + b.w, b.ld, ahat + b.a, wide, 0);
      forwards(batch, (c, m, p) => {
        const [pre, at, rp, cp, ct] = [
          row(ahat, c, wide),
          row(a, c, wide),
          row(stateBefore, c, size),
          row(cellBefore, c, n),
          row(cell, c, n),
        ];
        k.before(m, size, row(out, p, size), row(keep, c, 1), rp);
        k.before(m, n, row(cell, p, n), row(keep, c, 1), cp);
        for (const b of blocks) k.nn(m, b.n, s, rp + b.x, size, w("recurrent") + b.w, b.ld, pre + b.a, wide, 1);
        if (model.coupled || !normal) k.add_row(m, wide, pre, w("bias"));
        if (normal) k.norm_forward(m * gates, n, gates, pre, w("gate_gain"), w("gate_shift"), row(ascale, c, gates), at);
        k.lstm_forward(m, n, gates, at, cp, ct);
        if (normal) {
          k.copy(m * n, ct, row(chat, c, n));
          const scale = row(cscale, c, 1);
          k.norm_forward(m, n, 1, row(chat, c, n), w("cell_gain"), w("cell_shift"), scale, row(cnormal, c, n));
        }
        k.lstm_out(m, n, gates, at, row(cnormal, c, n), row(out_, c, n));
        k.nn(m, size, n, row(out_, c, n), n, w("projection"), size, row(out, c, size), size, 0);
      });
    },
    backward(k, batch, keep, x, dout, dx, add) {
      const all = batch.cells;
      k.fill(all * n, dcells, 0);
      backwards(batch, (c, m, p) => {
        const [at, dct] = [row(a, c, wide), row(dcells, c, n)];
        k.nt(m, n, size, row(dout, c, size), size, w("projection"), size, dq, n, 0);
        k.lstm_out_backward(m, n, gates, at, row(cnormal, c, n), dq, dcell);
        if (normal) {
          const [hat, scale] = [row(chat, c, n), row(cscale, c, 1)];
          k.norm_backward(m, n, 1, hat, w("cell_gain"), scale, dcell, dcell, g("cell_gain"), g("cell_shift"));
        }
        k.add(m * n, dcell, dct);
        k.lstm_backward(m, n, gates, at, row(cellBefore, c, n), dct, dcell);
        if (normal) {
          const [hat, scale] = [row(ahat, c, wide), row(ascale, c, gates)];
          k.norm_backward(m * gates, n, gates, hat, w("gate_gain"), scale, at, at, g("gate_gain"), g("gate_shift"));
        }
        if (p < 0) return;
        k.add_kept(m, n, dcell, row(keep, c, 1), row(dcells, p, n));
        for (const b of blocks)
          k.nt(m, s, b.n, at + b.a, wide, w("recurrent") + b.w, b.ld, dstate + b.x, size, b.first ? 0 : 1);
        k.add_kept(m, size, dstate, row(keep, c, 1), row(dout, p, size));
      });
      k.tn(n, size, all, out_, n, dout, size, g("projection"), size);
      for (const b of blocks) {
        k.tn(s, b.n, all, x + b.x, size, a + b.a, wide, g("input") + b.w, b.ld);
        k.tn(s, b.n, all, stateBefore + b.x, size, a + b.a, wide, g("recurrent") + b.w, b.ld);
        k.nt(all, s, b.n, a + b.a, wide, w("input") + b.w, b.ld, dx + b.x, size, b.first ? add : 1);
      }
      if (model.coupled || !normal) k.add_rows(all, wide, a, g("bias"));
    },
  };
}
