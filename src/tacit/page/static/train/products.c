/* Products of matrices, for training in the browser. Matrices are never transposed in memory.

   All arrays are float32, row after row; ld… is the distance of two rows, in numbers. kernels.c says how this is built. */

#include "vectors.h"

#define DEPTH 256 /* of the part of a product that stays in the first cache */
#define RUN 32 /* products that are added one after another: a sum of 10,000 in one run would lose digits */

/* C[m, n] += A[m, k] B[k, n], a tile of `rows` rows and 8 columns; a step to the next row of A's tile is `up`, to the
   next product `on`, so that A may be read by its columns, too. */
INLINE void tile(int rows, int k, const float *a, int up, int on, const float *b, int ldb, float *c, int ldc) {
  for (int from = 0; from < k; from += RUN) {
    v4 s[4][2];
    for (int i = 0; i < rows; i++) s[i][0] = s[i][1] = all(0);
    for (int p = least(RUN, k - from); p; p--) {
      v4 b0 = load(b), b1 = load(b + 4);
      for (int i = 0; i < rows; i++) {
        v4 x = all(a[i * up]);
        s[i][0] += x * b0, s[i][1] += x * b1;
      }
      b += ldb, a += on;
    }
    for (int i = 0; i < rows; i++) {
      float *to = c + i * ldc;
      store(to, load(to) + s[i][0]), store(to + 4, load(to + 4) + s[i][1]);
    }
  }
}

/* The same for the last columns, fewer than 8: one row. */
INLINE void edge(int columns, int k, const float *a, int on, const float *b, int ldb, float *c) {
  for (int j = 0; j < columns; j++) {
    double s = c[j];
    for (int p = 0; p < k; p++) s += a[p * on] * b[p * ldb + j];
    c[j] = (float)s;
  }
}

INLINE void clear(int m, int n, float *c, int ldc) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) c[i * ldc + j] = 0;
}

/* C[m, n] (+)= A[m, k] B[k, n]; `add` 0 forgets what was in C. */
void EXPORT(nn)(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float *c, int ldc, int add) {
  if (!add) clear(m, n, c, ldc);
  for (int from = 0; from < k; from += DEPTH) {
    int deep = least(DEPTH, k - from), j = 0;
    const float *part = b + (long)from * ldb;
    for (; j + 8 <= n; j += 8) {
      int i = 0;
      for (; i + 4 <= m; i += 4) tile(4, deep, a + i * lda + from, lda, 1, part + j, ldb, c + i * ldc + j, ldc);
      for (; i + 2 <= m; i += 2) tile(2, deep, a + i * lda + from, lda, 1, part + j, ldb, c + i * ldc + j, ldc);
      for (; i < m; i++) tile(1, deep, a + i * lda + from, lda, 1, part + j, ldb, c + i * ldc + j, ldc);
    }
    if (j < n)
      for (int i = 0; i < m; i++) edge(n - j, deep, a + i * lda + from, 1, part + j, ldb, c + i * ldc + j);
  }
}

/* C[m, n] += A[k, m]^T B[k, n]: gradients of weights. Four columns of A at a time are copied side by side. */
void EXPORT(tn)(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float *c, int ldc) {
  static float side[4 * DEPTH];
  for (int from = 0; from < k; from += DEPTH) {
    int deep = least(DEPTH, k - from);
    const float *part = b + (long)from * ldb;
    for (int i = 0; i < m; i += 4) {
      int rows = least(4, m - i), j = 0;
      for (int p = 0; p < deep; p++)
        for (int q = 0; q < rows; q++) side[4 * p + q] = a[(from + p) * lda + i + q];
      for (; j + 8 <= n; j += 8) {
        if (rows == 4)
          tile(4, deep, side, 1, 4, part + j, ldb, c + i * ldc + j, ldc);
        else
          for (int q = 0; q < rows; q++) tile(1, deep, side + q, 1, 4, part + j, ldb, c + (i + q) * ldc + j, ldc);
      }
      if (j < n)
        for (int q = 0; q < rows; q++) edge(n - j, deep, side + q, 4, part + j, ldb, c + (i + q) * ldc + j);
    }
  }
}

/* Sums of four vectors, each to one number. */
INLINE v4 sums(v4 a, v4 b, v4 c, v4 d) {
  v4 ab = __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
  v4 cd = __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
  return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

/* Products of `rows` rows of A with four rows of B. */
INLINE void dots(int rows, int columns, int k, const float *a, int lda, const float *b, int ldb, float *c, int ldc,
                 int add) {
  v4 s[2][4];
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) s[i][j] = all(0);
  int p = 0;
  for (; p + 4 <= k; p += 4) {
    v4 x[2];
    for (int i = 0; i < rows; i++) x[i] = load(a + i * lda + p);
    for (int j = 0; j < columns; j++) {
      v4 y = load(b + j * ldb + p);
      for (int i = 0; i < rows; i++) s[i][j] += x[i] * y;
    }
  }
  for (; p < k; p++)
    for (int i = 0; i < rows; i++)
      for (int j = 0; j < columns; j++) s[i][j][0] += a[i * lda + p] * b[j * ldb + p];
  for (int i = 0; i < rows; i++) {
    if (columns == 4) {
      v4 r = sums(s[i][0], s[i][1], s[i][2], s[i][3]);
      store(c + i * ldc, add ? load(c + i * ldc) + r : r);
    } else {
      v4 r = sums(s[i][0], all(0), all(0), all(0));
      c[i * ldc] = (add ? c[i * ldc] : 0.0f) + r[0];
    }
  }
}

/* C[m, n] (+)= A[m, k] B[n, k]^T. */
void EXPORT(nt)(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float *c, int ldc, int add) {
  int j = 0;
  for (; j + 4 <= n; j += 4) {
    int i = 0;
    for (; i + 2 <= m; i += 2) dots(2, 4, k, a + i * lda, lda, b + (long)j * ldb, ldb, c + i * ldc + j, ldc, add);
    for (; i < m; i++) dots(1, 4, k, a + i * lda, lda, b + (long)j * ldb, ldb, c + i * ldc + j, ldc, add);
  }
  for (; j < n; j++)
    for (int i = 0; i < m; i++) dots(1, 1, k, a + i * lda, lda, b + (long)j * ldb, ldb, c + i * ldc + j, ldc, add);
}
