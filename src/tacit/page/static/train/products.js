// Products of matrices in plain JavaScript: products.c says what each is. A row is summed in float64.

/** @param {Float32Array} f the kernels' memory; arrays are given by the place of their first number, in bytes */
export function products(f) {
  const wide = new Float64Array(65536); // a row of a product

  return {
    /** @param {number[]} args m, n, k, A, lda, B, ldb, C, ldc, add */
    nn(...[m, n, k, a, lda, b, ldb, c, ldc, add]) {
      const row = n <= wide.length ? wide : new Float64Array(n);
      for (let i = 0; i < m; i++) {
        const to = (c >> 2) + i * ldc;
        for (let j = 0; j < n; j++) row[j] = add ? f[to + j] : 0;
        for (let p = 0; p < k; p++) {
          const x = f[(a >> 2) + i * lda + p];
          const from = (b >> 2) + p * ldb;
          for (let j = 0; j < n; j++) row[j] += x * f[from + j];
        }
        for (let j = 0; j < n; j++) f[to + j] = row[j];
      }
    },
    /** @param {number[]} args m, n, k, A, lda, B, ldb, C, ldc */
    tn(...[m, n, k, a, lda, b, ldb, c, ldc]) {
      const row = n <= wide.length ? wide : new Float64Array(n);
      for (let i = 0; i < m; i++) {
        const to = (c >> 2) + i * ldc;
        for (let j = 0; j < n; j++) row[j] = f[to + j];
        for (let p = 0; p < k; p++) {
          const x = f[(a >> 2) + p * lda + i];
          const from = (b >> 2) + p * ldb;
          for (let j = 0; j < n; j++) row[j] += x * f[from + j];
        }
        for (let j = 0; j < n; j++) f[to + j] = row[j];
      }
    },
    /** @param {number[]} args m, n, k, A, lda, B, ldb, C, ldc, add */
    nt(...[m, n, k, a, lda, b, ldb, c, ldc, add]) {
      for (let j = 0; j < n; j++) {
        const y = (b >> 2) + j * ldb;
        for (let i = 0; i < m; i++) {
          const x = (a >> 2) + i * lda;
          const to = (c >> 2) + i * ldc + j;
          let s = add ? f[to] : 0;
          for (let p = 0; p < k; p++) s += f[x + p] * f[y + p];
          f[to] = s;
        }
      }
    },
  };
}
