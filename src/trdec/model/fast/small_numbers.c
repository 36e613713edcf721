/* Products of numbers of 16 and 8 bits, bfloat16 and int8, whose sums have 32 bits.
 *
 * A word of 32 bits holds two or four numbers of a column, one below the other. Some processors multiply and add all
 * numbers of a word in one instruction; the others widen them. A row is rounded in the same way whichever rows come with
 * it, and its sums run in the same order.
 */

#include "vectors.h"

#if defined(__AVX512BW__) && W == 16 && defined(__GNUC__) && !defined(__APPLE__)
#define DOT_PRODUCTS
#endif

typedef int32_t unaligned_ivec __attribute__((vector_size(4 * W), aligned(4), may_alias));
typedef int16_t short_vec __attribute__((vector_size(4 * W)));
typedef int16_t packed_vec __attribute__((vector_size(2 * W), aligned(1), may_alias));
typedef uint8_t bytes_vec __attribute__((vector_size(W), aligned(1), may_alias));

INLINE ivec load_words(const int32_t *p) { return *(const unaligned_ivec *)p; }
INLINE int64_t words_of(int64_t numbers, int64_t in_a_word) { return (numbers + in_a_word - 1) / in_a_word; }

enum { MULTIPLIES_INT8 = 1, MULTIPLIES_BFLOAT16 = 2 };

/* What this processor multiplies and adds in one instruction. */
int32_t trdec_dot_products(void)
{
#ifdef DOT_PRODUCTS
    return (__builtin_cpu_supports("avx512vnni") ? MULTIPLIES_INT8 : 0) |
           (__builtin_cpu_supports("avx512bf16") ? MULTIPLIES_BFLOAT16 : 0);
#else
    return 0;
#endif
}

/* bfloat16 -------------------------------------------------------------------------------------------------------- */

/* The upper 16 bits of the nearest bfloat16, of two the even one; not a number stays so. */
INLINE ivec upper_bits(vec x)
{
    ivec bits = (ivec)x;
    ivec rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    ivec number = x == x;
    return (rounded & number) | (0x7fc0 & ~number);
}

INLINE uint32_t upper_bits_of(float x)
{
    return (uint32_t)upper_bits(all(x))[0] & 0xffff;
}

/* Lay out a matrix K X as panels: for each pair of rows, both numbers of PANEL columns. */
void trdec_pack_bfloat16(int64_t K, int64_t X, const float *matrix, int64_t stride_k, int64_t stride_x, uint32_t *panels)
{
    for (int64_t x = 0; x < X; x += PANEL)
        for (int64_t k = 0; k < K; k += 2, panels += PANEL)
            for (int64_t c = 0; c < PANEL; c++) {
                const float *at = matrix + k * stride_k + (x + c) * stride_x;
                uint32_t upper = x + c < X && k + 1 < K ? upper_bits_of(at[stride_k]) : 0;
                panels[c] = x + c < X ? upper_bits_of(at[0]) | upper << 16 : 0;
            }
}

#ifdef DOT_PRODUCTS
/* The numbers of a row, two in a word. */
static void pairs_of(int64_t K, const float *row, int16_t *pairs)
{
    int64_t k = 0;
    for (; k + W <= K; k += W)
        *(packed_vec *)(pairs + k) = __builtin_convertvector(upper_bits(load(row + k)), packed_vec);
    for (; k < K; k++)
        pairs[k] = (int16_t)upper_bits_of(row[k]);
    if (K % 2)
        pairs[K] = 0;
}
#endif

/* The same numbers, each in a word of its own. */
static void widened_pairs_of(int64_t K, const float *row, float *pairs)
{
    for (int64_t k = 0; k < K; k += W)
        store_part(pairs + k, (vec)(upper_bits(load_part(row + k, K - k)) << 16), K - k);
    if (K % 2)
        pairs[K] = 0;
}

INLINE vec add_widened_pairs(vec sum, ivec weights, const int32_t *row)
{
    float pair[2];
    memcpy(pair, row, sizeof pair);
    sum += pair[0] * (vec)(weights << 16);
    return sum + pair[1] * (vec)(weights & (int32_t)0xffff0000);
}

#define NAME(part) part##_of_widened_pairs
#define TARGET
#define ROW_WORDS 2
#define SUM vec
#define START(starts, x) ((vec){0})
#define DOT(sum, weights, row) add_widened_pairs(sum, weights, row)
#define RESULT(sum, scales, x) (sum)
#include "words.h"

#ifdef DOT_PRODUCTS
#define NAME(part) part##_of_pairs
#define TARGET __attribute__((target("avx512bf16")))
#define ROW_WORDS 1
#define SUM vec
#define START(starts, x) ((vec){0})
#define DOT(sum, weights, row)                                                                                        \
    ((vec)_mm512_dpbf16_ps((__m512)(sum), (__m512bh)(weights), (__m512bh)_mm512_set1_epi32(*(row))))
#define RESULT(sum, scales, x) (sum)
#include "words.h"
#endif

/* Rows n K times panels K X, both rounded to bfloat16, put into n X or added to it. `scratch` has room for n times K,
 * made even, words. */
void trdec_product_bfloat16(int64_t n, int64_t K, int64_t X, const float *rows, const int32_t *panels, int32_t *scratch,
                            float *out, int64_t out_stride, int32_t add, int32_t instructions)
{
    int64_t words = words_of(K, 2);
#ifdef DOT_PRODUCTS
    if (instructions & MULTIPLIES_BFLOAT16) {
        for (int64_t i = 0; i < n; i++)
            pairs_of(K, rows + i * K, (int16_t *)(scratch + i * words));
        product_of_pairs(n, words, X, scratch, panels, 0, 0, out, out_stride, add);
        return;
    }
#endif
    (void)instructions;
    for (int64_t i = 0; i < n; i++)
        widened_pairs_of(K, rows + i * K, (float *)(scratch + 2 * i * words));
    product_of_widened_pairs(n, words, X, scratch, panels, 0, 0, out, out_stride, add);
}

/* int8: rows of numbers in [-1, 1] as 127ths, columns each with its own scale ---------------------------------------- */

/* Lay out a matrix K X as panels: for each four rows, the four numbers of PANEL columns. Scales are those of products;
 * `starts` take 128 times a column's sum off, which is what multiplying by numbers that are 128 too large adds. */
void trdec_pack_int8(int64_t K, int64_t X, const float *matrix, int64_t stride_k, int64_t stride_x, int8_t *panels,
                     float *scales, int32_t *starts)
{
    for (int64_t x = 0; x < X; x++) {
        const float *column = matrix + x * stride_x;
        int8_t *to = panels + (x / PANEL * PANEL * words_of(K, 4) + x % PANEL) * 4;
        float largest = 0;
        int32_t total = 0;
        for (int64_t k = 0; k < K; k++)
            largest = fmaxf(largest, fabsf(column[k * stride_k]));
        for (int64_t k = 0; k < K; k++) {
            int8_t rounded = largest > 0 ? (int8_t)lrintf(column[k * stride_k] / largest * 127) : 0;
            to[k / 4 * 4 * PANEL + k % 4] = rounded;
            total += rounded;
        }
        scales[x] = largest / (127 * 127);
        starts[x] = -128 * total;
    }
}

/* W numbers as 127ths, rounded. */
INLINE ivec in_127ths(vec x)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    return __builtin_convertvector(at_least(at_most(x * 127.0f, 127.0f), -127.0f) + shift - shift, ivec);
}

#ifdef DOT_PRODUCTS
/* The numbers of a row, four in a word, each 128 too large, so that none is negative. */
static void fours_of(int64_t K, const float *row, uint8_t *fours)
{
    int64_t k = 0;
    for (; k + W <= K; k += W)
        *(bytes_vec *)(fours + k) = __builtin_convertvector(in_127ths(load(row + k)) + 128, bytes_vec);
    for (; k < K; k++)
        fours[k] = (uint8_t)(in_127ths(all(row[k]))[0] + 128);
    for (; k % 4; k++)
        fours[k] = 128;
}
#endif

/* The same numbers with 16 bits each, of every four in the order 0, 2, 1, 3. */
static void widened_fours_of(int64_t K, const float *row, int16_t *fours)
{
    for (int64_t k = 0; k < K; k += W) {
        ivec some = in_127ths(load_part(row + k, K - k));
        for (int64_t w = 0; w < W && k + w < words_of(K, 4) * 4; w++) {
            int64_t at = (k + w) % 4;
            fours[k + w - at + (at == 1 ? 2 : at == 2 ? 1 : at)] = (int16_t)some[w];
        }
    }
}

/* The sums of W pairs of products: pair w of the weights with the same pair of a row. */
INLINE ivec multiply_pairs(short_vec weights, int32_t pair)
{
#if defined(__AVX512BW__) && W == 16
    return (ivec)_mm512_madd_epi16((__m512i)weights, _mm512_set1_epi32(pair));
#elif defined(__AVX2__) && W == 8
    return (ivec)_mm256_madd_epi16((__m256i)weights, _mm256_set1_epi32(pair));
#elif defined(__SSE2__) && W == 4
    return (ivec)_mm_madd_epi16((__m128i)weights, _mm_set1_epi32(pair));
#else
    int16_t both[2];
    ivec sum;
    memcpy(both, &pair, sizeof pair);
    for (int w = 0; w < W; w++)
        sum[w] = weights[2 * w] * both[0] + weights[2 * w + 1] * both[1];
    return sum;
#endif
}

INLINE ivec add_widened_fours(ivec sum, ivec weights, const int32_t *row)
{
    short_vec of_0_and_2 = (short_vec)((short_vec)weights << 8) >> 8, of_1_and_3 = (short_vec)weights >> 8;
    return sum + multiply_pairs(of_0_and_2, row[0]) + multiply_pairs(of_1_and_3, row[1]);
}

#define NAME(part) part##_of_widened_fours
#define TARGET
#define ROW_WORDS 2
#define SUM ivec
#define START(starts, x) ((ivec){0})
#define DOT(sum, weights, row) add_widened_fours(sum, weights, row)
#define RESULT(sum, scales, x) (__builtin_convertvector(sum, vec) * load(scales + (x)))
#include "words.h"

#ifdef DOT_PRODUCTS
#define NAME(part) part##_of_fours
#define TARGET __attribute__((target("avx512vnni")))
#define ROW_WORDS 1
#define SUM ivec
#define START(starts, x) load_words(starts + (x))
#define DOT(sum, weights, row)                                                                                        \
    ((ivec)_mm512_dpbusd_epi32((__m512i)(sum), _mm512_set1_epi32(*(row)), (__m512i)(weights)))
#define RESULT(sum, scales, x) (__builtin_convertvector(sum, vec) * load(scales + (x)))
#include "words.h"
#endif

/* Rows n K times panels K X, put into n X or added to it. `scratch` has room for n times K words, made a multiple of 4,
 * divided by 2; scales and starts have PANEL numbers for every panel. */
void trdec_product_int8(int64_t n, int64_t K, int64_t X, const float *rows, const int32_t *panels, const float *scales,
                        const int32_t *starts, int32_t *scratch, float *out, int64_t out_stride, int32_t add,
                        int32_t instructions)
{
    int64_t words = words_of(K, 4);
#ifdef DOT_PRODUCTS
    if (instructions & MULTIPLIES_INT8) {
        for (int64_t i = 0; i < n; i++)
            fours_of(K, rows + i * K, (uint8_t *)(scratch + i * words));
        product_of_fours(n, words, X, scratch, panels, starts, scales, out, out_stride, add);
        return;
    }
#endif
    (void)instructions;
    for (int64_t i = 0; i < n; i++)
        widened_fours_of(K, rows + i * K, (int16_t *)(scratch + 2 * i * words));
    product_of_widened_fours(n, words, X, scratch, panels, starts, scales, out, out_stride, add);
}
