/* Vectors of numbers, functions of them, and how products are divided among registers.
 *
 * W is how many numbers the processor computes at once.
 */

#ifndef TRDEC_VECTORS_H
#define TRDEC_VECTORS_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#if defined(W) /* a test may choose */
#elif defined(__AVX512F__)
#define W 16
#elif defined(__AVX__)
#define W 8
#else
#define W 4
#endif

typedef float vec __attribute__((vector_size(4 * W)));
typedef int32_t ivec __attribute__((vector_size(4 * W)));
typedef float unaligned_vec __attribute__((vector_size(4 * W), aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 32")

INLINE vec load(const float *p) { return *(const unaligned_vec *)p; }
INLINE void store(float *p, vec x) { *(unaligned_vec *)p = x; }

/* The next W numbers, of which only `left` exist: the others are 0, and are not stored. */
INLINE vec load_part(const float *p, int64_t left)
{
    if (left >= W)
        return load(p);
    vec x = {0};
    memcpy(&x, p, (size_t)left * sizeof(float));
    return x;
}

INLINE void store_part(float *p, vec x, int64_t left)
{
    if (left >= W)
        store(p, x);
    else
        memcpy(p, &x, (size_t)left * sizeof(float));
}

INLINE vec all(float x) { return x - (vec){0}; }
INLINE vec choose(ivec chosen, vec x, vec y) { return (vec)(((ivec)x & chosen) | ((ivec)y & ~chosen)); }

/* Not a number stays what it is: a comparison with it is false. */
INLINE vec at_most(vec x, float limit) { return choose(x > limit, all(limit), x); }
INLINE vec at_least(vec x, float limit) { return choose(x < limit, all(limit), x); }

INLINE float sum_of(vec x)
{
    float part[W];
    memcpy(part, &x, sizeof x);
    UNROLL for (int half = W / 2; half; half /= 2)
        UNROLL for (int w = 0; w < half; w++) part[w] += part[w + half];
    return part[0];
}

/* e^x: 2^n times a polynomial of what remains. Below the smallest normal number it is 0, above the largest it stays. */
INLINE vec exponential(vec x)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    ivec vanishes = x < -87.3f;
    x = at_least(at_most(x, 88.37f), -87.3f);
    vec n = x * 1.44269504f + shift - shift;
    vec r = x - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    vec p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    ivec power = (__builtin_convertvector(n, ivec) + 127) << 23;
    return (vec)((ivec)(p * (vec)power) & ~vanishes);
}

INLINE vec sigmoid(vec x) { return 1.0f / (1.0f + exponential(-x)); }

/* A polynomial near 0, where 1 - 2 / (e^2x + 1) would cancel. */
INLINE vec hyperbolic_tangent(vec x)
{
    const ivec sign_bit = (ivec)all(-0.0f);
    ivec sign = (ivec)x & sign_bit;
    vec magnitude = (vec)((ivec)x & ~sign_bit);
    vec z = x * x;
    vec p = z * -5.70498872745e-3f + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    vec near = p * z * x + x;
    vec far = 1.0f - 2.0f / (exponential(magnitude + magnitude) + 1.0f);
    return choose(magnitude < 0.625f, near, (vec)((ivec)far | sign));
}

/* Products: columns are stored in panels, and multiplied by several rows at a time. */
#define PANEL 16 /* columns that are stored together: a cache line */
#define V (PANEL / W)
#define ROWS 6 /* rows that are multiplied together */
#define SUMS (W == 16 ? 24 : 12) /* sums at a time: AVX-512 has 32 registers, others have 16 */
#define PANELS(R) (SUMS / ((R)*V) > 4 ? 4 : SUMS / ((R)*V) > 1 ? SUMS / ((R)*V) : 1) /* with so many panels */

#endif
