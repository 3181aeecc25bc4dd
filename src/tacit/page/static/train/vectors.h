/* Vectors of four float32 numbers, by the vector types of GCC and clang; C99 without a library. */

#pragma once

typedef float v4 __attribute__((vector_size(16)));
typedef float v4u __attribute__((vector_size(16), aligned(4)));
typedef int i4 __attribute__((vector_size(16)));
typedef unsigned u32;

#define EXPORT(name) __attribute__((export_name(#name))) name
#define INLINE static inline __attribute__((always_inline))

INLINE v4 load(const float *p) { return *(const v4u *)p; }
INLINE void store(float *p, v4 x) { *(v4u *)p = x; }
INLINE v4 all(float x) { return (v4){x, x, x, x}; }
INLINE v4 choose(i4 where, v4 a, v4 b) { return (v4)(((i4)a & where) | ((i4)b & ~where)); }
INLINE int least(int a, int b) { return a < b ? a : b; }

/* Up to four numbers of an array: the others are 0. */
INLINE v4 load_some(const float *p, int count) {
  v4 x = all(0);
  for (int i = 0; i < count; i++) x[i] = p[i];
  return x;
}
INLINE void store_some(float *p, v4 x, int count) {
  for (int i = 0; i < count; i++) p[i] = x[i];
}
