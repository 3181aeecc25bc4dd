/* The arithmetic of training in the browser: cells, losses, dropout and the client's steps. products.c has the products of
   matrices.

   tools/build_kernels.py compiles both into kernels.wasm (WebAssembly with SIMD). kernels.js has the same functions in
   plain JavaScript, as a fallback and as a judge; network.js and optimiser.js call either. All arrays are float32, row
   after row. */

#include "vectors.h"

/* Every row of x [m, n] += b [n]. */
void EXPORT(add_row)(int m, int n, float *x, const float *b) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) x[i * n + j] += b[j];
}

/* s [n] += the sum of the rows of x [m, n]. */
void EXPORT(add_rows)(int m, int n, const float *x, float *s) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) s[j] += x[i * n + j];
}

/* y = x where keep [m] is 1, else 0: the state before a step; `x` 0: there was no step before. */
void EXPORT(before)(int m, int n, const float *x, const float *keep, float *y) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) y[i * n + j] = x && keep[i] ? x[i * n + j] : 0;
}

/* y += x where keep [m] is 1. */
void EXPORT(add_kept)(int m, int n, const float *x, const float *keep, float *y) {
  for (int i = 0; i < m; i++)
    if (keep[i])
      for (int j = 0; j < n; j++) y[i * n + j] += x[i * n + j];
}

void EXPORT(add)(int n, const float *x, float *y) {
  for (int i = 0; i < n; i++) y[i] += x[i];
}

void EXPORT(fill)(int n, float *x, float value) {
  for (int i = 0; i < n; i++) x[i] = value;
}

void EXPORT(copy)(int n, const float *x, float *y) {
  for (int i = 0; i < n; i++) y[i] = x[i];
}

/* Row i of x [m, n] = row at[i] of the table; and back: the table's row += x's. */
void EXPORT(gather)(int m, int n, const float *table, const int *at, float *x) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) x[i * n + j] = table[(long)at[i] * n + j];
}
void EXPORT(scatter)(int m, int n, float *table, const int *at, const float *x) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) table[(long)at[i] * n + j] += x[i * n + j];
}

/* e^x: x = n ln 2 + r, |r| <= ln 2 / 2, and the series of e^r to r^7. Not a number stays that. */
INLINE v4 exp4(v4 x) {
  x = choose(x < all(-87.0f), all(-87.0f), x);
  x = choose(x > all(88.0f), all(88.0f), x);
  v4 n = (x * 1.44269504f + 12582912.0f) - 12582912.0f; /* rounds to a whole number */
  v4 r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  v4 p = all(1.0f / 5040);
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return p * (v4)((__builtin_convertvector(n, i4) + 127) << 23);
}

INLINE v4 sigmoid4(v4 x) { return 1.0f / (1.0f + exp4(-x)); }

/* tanh: by e^2x, and near 0, where that would lose digits, by its series. */
INLINE v4 tanh4(v4 x) {
  v4 q = x * x;
  v4 near = x * (1.0f + q * (-1.0f / 3 + q * (2.0f / 15 + q * (-17.0f / 315 + q * (62.0f / 2835)))));
  return choose(q < all(0.0625f), near, 1.0f - 2.0f / (exp4(x + x) + 1.0f));
}

/* f over `count` numbers at a time: a loop of whole vectors, and one of what is left. */
#define EACH(n) for (int j = 0, count; j < (n) && (count = least(4, (n) - j)); j += 4)
#define GET(p) (count == 4 ? load((p) + j) : load_some((p) + j, count))
#define PUT(p, x) (count == 4 ? store((p) + j, x) : store_some((p) + j, x, count))

/* GRU, common. a [m, 3n]: reset, update, candidate of the input, becomes r, z, new; b [m, 3n] those of the state. */
void EXPORT(gru_forward)(int m, int n, float *a, const float *b, const float *hp, float *h) {
  for (int i = 0; i < m; i++, a += 3 * n, b += 3 * n, hp += n, h += n) EACH(n) {
      v4 r = sigmoid4(GET(a) + GET(b)), z = sigmoid4(GET(a + n) + GET(b + n));
      v4 w = tanh4(GET(a + 2 * n) + r * GET(b + 2 * n));
      PUT(a, r), PUT(a + n, z), PUT(a + 2 * n, w), PUT(h, (1.0f - z) * w + z * GET(hp));
    }
}

/* From dh: a and b become the gradients of their pre-activations, dhp the direct part of the state's. */
void EXPORT(gru_backward)(int m, int n, float *a, float *b, const float *hp, const float *dh, float *dhp) {
  for (int i = 0; i < m; i++, a += 3 * n, b += 3 * n, hp += n, dh += n, dhp += n) EACH(n) {
      v4 r = GET(a), z = GET(a + n), w = GET(a + 2 * n), d = GET(dh);
      v4 dw = d * (1.0f - z) * (1.0f - w * w), dz = d * (GET(hp) - w) * z * (1.0f - z);
      v4 dr = dw * GET(b + 2 * n) * r * (1.0f - r);
      PUT(a, dr), PUT(a + n, dz), PUT(a + 2 * n, dw);
      PUT(b, dr), PUT(b + n, dz), PUT(b + 2 * n, dw * r), PUT(dhp, d * z);
    }
}

/* GRU, as printed. a [m, 3n]: update, reset, candidate. First the gates and r h, then the new state. */
void EXPORT(printed_gates)(int m, int n, float *a, const float *hp, float *rh) {
  for (int i = 0; i < m; i++, a += 3 * n, hp += n, rh += n) EACH(n) {
      v4 r = sigmoid4(GET(a + n));
      PUT(a, sigmoid4(GET(a))), PUT(a + n, r), PUT(rh, r * GET(hp));
    }
}
void EXPORT(printed_forward)(int m, int n, float *a, const float *hp, float *h) {
  for (int i = 0; i < m; i++, a += 3 * n, hp += n, h += n) EACH(n) {
      v4 z = GET(a), w = tanh4(GET(a + 2 * n));
      PUT(a + 2 * n, w), PUT(h, (1.0f - z) * GET(hp) + z * w);
    }
}

/* Backward: update and candidate of a become gradients; then, from the gradient of r h, reset and the rest of dhp. */
void EXPORT(printed_backward)(int m, int n, float *a, const float *hp, const float *dh, float *dhp) {
  for (int i = 0; i < m; i++, a += 3 * n, hp += n, dh += n, dhp += n) EACH(n) {
      v4 z = GET(a), w = GET(a + 2 * n), d = GET(dh);
      PUT(a, d * (w - GET(hp)) * z * (1.0f - z)), PUT(a + 2 * n, d * z * (1.0f - w * w)), PUT(dhp, d * (1.0f - z));
    }
}
void EXPORT(printed_reset)(int m, int n, float *a, const float *hp, const float *drh, float *dhp) {
  for (int i = 0; i < m; i++, a += 3 * n, hp += n, drh += n, dhp += n) EACH(n) {
      v4 r = GET(a + n), d = GET(drh);
      PUT(a + n, d * GET(hp) * r * (1.0f - r)), PUT(dhp, GET(dhp) + d * r);
    }
}

/* LSTM. a [m, gates n]: input, output, candidate and (four gates) forget become their values; c the cell. */
void EXPORT(lstm_forward)(int m, int n, int gates, float *a, const float *cp, float *c) {
  for (int i = 0; i < m; i++, a += gates * n, cp += n, c += n) EACH(n) {
      v4 in = sigmoid4(GET(a)), w = tanh4(GET(a + 2 * n)), f = 1.0f - in;
      if (gates == 4) f = sigmoid4(GET(a + 3 * n) + 1.0f), PUT(a + 3 * n, f);
      PUT(a, in), PUT(a + n, sigmoid4(GET(a + n))), PUT(a + 2 * n, w), PUT(c, f * GET(cp) + in * w);
    }
}

/* q = o tanh(c); c is the normalised cell, if the layer is normalised. */
void EXPORT(lstm_out)(int m, int n, int gates, const float *a, const float *c, float *q) {
  for (int i = 0; i < m; i++, a += gates * n, c += n, q += n) EACH(n) { PUT(q, GET(a + n) * tanh4(GET(c))); }
}

/* From dq: the output gate of a becomes its gradient, dc that of the (normalised) cell. */
void EXPORT(lstm_out_backward)(int m, int n, int gates, float *a, const float *c, const float *dq, float *dc) {
  for (int i = 0; i < m; i++, a += gates * n, c += n, dq += n, dc += n) EACH(n) {
      v4 o = GET(a + n), t = tanh4(GET(c)), d = GET(dq);
      PUT(a + n, d * t * o * (1.0f - o)), PUT(dc, d * o * (1.0f - t * t));
    }
}

/* From dc: the other gates of a become their gradients, dcp the gradient of the cell before. */
void EXPORT(lstm_backward)(int m, int n, int gates, float *a, const float *cp, const float *dc, float *dcp) {
  for (int i = 0; i < m; i++, a += gates * n, cp += n, dc += n, dcp += n) EACH(n) {
      v4 in = GET(a), w = GET(a + 2 * n), d = GET(dc), before = GET(cp), di = d * w, f = 1.0f - in;
      if (gates == 4)
        f = GET(a + 3 * n), PUT(a + 3 * n, d * before * f * (1.0f - f));
      else
        di -= d * before;
      PUT(a, di * in * (1.0f - in)), PUT(a + 2 * n, d * in * (1.0f - w * w)), PUT(dcp, d * f);
    }
}

/* Layer normalisation of x [m, n]: y = xhat gain + shift; x becomes xhat. Row i has gain and shift i mod kinds. */
void EXPORT(norm_forward)(int m, int n, int kinds, float *x, const float *gain, const float *shift, float *rs,
                          float *y) {
  for (int i = 0; i < m; i++, x += n, y += n) {
    const float *g = gain + i % kinds * n, *s = shift + i % kinds * n;
    double mean = 0, square = 0;
    for (int j = 0; j < n; j++) mean += x[j];
    mean /= n;
    for (int j = 0; j < n; j++) square += (x[j] - mean) * (x[j] - mean);
    rs[i] = (float)(1 / __builtin_sqrt(square / n + 1e-5));
    for (int j = 0; j < n; j++) x[j] = (x[j] - (float)mean) * rs[i], y[j] = x[j] * g[j] + s[j];
  }
}

/* From dy: dgain and dshift are added to, dx is written (it may be dy). */
void EXPORT(norm_backward)(int m, int n, int kinds, const float *xhat, const float *gain, const float *rs,
                           const float *dy, float *dx, float *dgain, float *dshift) {
  for (int i = 0; i < m; i++, xhat += n, dy += n, dx += n) {
    const float *g = gain + i % kinds * n;
    float *dg = dgain + i % kinds * n, *ds = dshift + i % kinds * n;
    double mean = 0, along = 0;
    for (int j = 0; j < n; j++) {
      float d = dy[j] * g[j];
      dg[j] += dy[j] * xhat[j], ds[j] += dy[j];
      mean += d, along += (double)d * xhat[j];
    }
    float a = (float)(mean / n), b = (float)(along / n);
    for (int j = 0; j < n; j++) dx[j] = rs[i] * (dy[j] * g[j] - a - xhat[j] * b);
  }
}

/* Cross-entropy of softmax(s + bias), s [m, n]. Returns the sum over e^(s - top), and top, and the score of the
   target in facts [m, 3]; s becomes its gradient times `share`. */
void EXPORT(softmax)(int m, int n, float *s, const float *bias, const int *targets, float share, float *facts) {
  for (int i = 0; i < m; i++, s += n, facts += 3) {
    float top = -3.4e38f;
    for (int j = 0; j < n; j++) {
      s[j] += bias[j];
      if (!(s[j] <= top)) top = s[j];
    }
    float target = s[targets[i]];
    double sum = 0;
    EACH(n) {
      v4 e = exp4(GET(s) - top);
      PUT(s, e);
      for (int q = 0; q < count; q++) sum += e[q];
    }
    facts[0] = (float)sum, facts[1] = top, facts[2] = target;
    float factor = (float)(share / sum);
    for (int j = 0; j < n; j++) s[j] *= factor;
    s[targets[i]] -= share;
  }
}

/* Threefry 2x32 with 20 rounds (Salmon et al. 2011), as JAX uses it. */
#define ROUND(r) x0 += x1, x1 = (x1 << r | x1 >> (32 - r)) ^ x0
INLINE u32 random_bits(u32 k0, u32 k1, u32 x0, u32 x1) {
  u32 k2 = k0 ^ k1 ^ 0x1BD11BDAu;
  x0 += k0, x1 += k1;
  ROUND(13), ROUND(15), ROUND(26), ROUND(6), x0 += k1, x1 += k2 + 1;
  ROUND(17), ROUND(29), ROUND(16), ROUND(24), x0 += k2, x1 += k0 + 2;
  ROUND(13), ROUND(15), ROUND(26), ROUND(6), x0 += k0, x1 += k1 + 3;
  ROUND(17), ROUND(29), ROUND(16), ROUND(24), x0 += k1, x1 += k2 + 4;
  ROUND(13), ROUND(15), ROUND(26), ROUND(6), x0 += k2, x1 += k0 + 5;
  return x0 ^ x1;
}

/* Drops cells of x [m, n], or of its gradient: the draw of a cell has the number place[i] n + j. */
void EXPORT(dropout)(int m, int n, float *x, const int *place, u32 k0, u32 k1, float keep) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      unsigned long long at = (unsigned long long)(u32)place[i] * (u32)n + (u32)j;
      u32 drawn = random_bits(k0, k1, (u32)(at >> 32), (u32)at) >> 9;
      x[i * n + j] = (float)drawn * 0x1p-23f < keep ? x[i * n + j] / keep : 0;
    }
}

/* g += mu (w - w0): the proximal term. */
void EXPORT(pull)(int n, float *g, const float *w, const float *w0, float mu) {
  for (int i = 0; i < n; i++) g[i] += mu * (w[i] - w0[i]);
}

double EXPORT(squares)(int n, const float *x) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += (double)x[i] * x[i];
  return sum;
}

/* w -= lr (u + decay w), u = factor g; with momentum u = z, z = momentum z + factor g. */
void EXPORT(sgd)(int n, float *w, const float *g, float *z, float factor, float momentum, float lr, float decay) {
  if (!z)
    for (int i = 0; i < n; i++) w[i] -= lr * (factor * g[i] + decay * w[i]);
  else
    for (int i = 0; i < n; i++) {
      z[i] = factor * g[i] + momentum * z[i];
      w[i] -= lr * (z[i] + decay * w[i]);
    }
}

/* Adam: u = first m / (second sqrt(v) + eps); `m` 0: beta1 is 0. */
void EXPORT(adam)(int n, float *w, const float *g, float *m, float *v, float factor, float beta1, float rest1,
                  float beta2, float rest2, float first, float second, float eps, float lr, float decay) {
  for (int i = 0; i < n; i++) {
    float d = factor * g[i];
    v[i] = beta2 * v[i] + rest2 * (d * d);
    if (m) d = m[i] = beta1 * m[i] + rest1 * d;
    w[i] -= lr * (first * d / (second * __builtin_sqrtf(v[i]) + eps) + decay * w[i]);
  }
}
