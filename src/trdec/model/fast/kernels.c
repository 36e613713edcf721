/* The kernels of kernels.py, compiled: single-threaded, float32, for one processor.
 *
 * Every function takes row-major matrices whose rows are contiguous, and changes nothing but its outputs. Sizes and
 * indices are int64_t. A number of a result depends on its own row only, never on which rows come with it: sums run in
 * the same order however many rows there are. `setup.py` compiles this file once for each kind of processor; W is how
 * many numbers the processor computes at once.
 */

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

/* Changes with the arguments of any function: a library that is older than compiled.py is not used. */
int32_t trdec_interface(void) { return 2; }

/* The functions alone, so that their errors can be measured. */
void trdec_exponential(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i += W)
        store_part(out + i, exponential(load_part(x + i, n - i)), n - i);
}

void trdec_sigmoid(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i += W)
        store_part(out + i, sigmoid(load_part(x + i, n - i)), n - i);
}

void trdec_tanh(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i += W)
        store_part(out + i, hyperbolic_tangent(load_part(x + i, n - i)), n - i);
}

/* LSTM gates ------------------------------------------------------------------------------------------------------ */

void trdec_lstm_gates(int64_t n, int64_t size, float *gates, int64_t gates_stride, const float *previous_cell,
                      float *cell, float *tanh_cell, float *hidden)
{
    for (int64_t row = 0; row < n; row++) {
        float *g = gates + row * gates_stride;
        for (int64_t h = 0, at = row * size; h < size; h += W, at += W) {
            int64_t left = size - h;
            vec in = sigmoid(load_part(g + h, left));
            vec forget = sigmoid(load_part(g + size + h, left));
            vec out = sigmoid(load_part(g + 2 * size + h, left));
            vec new = hyperbolic_tangent(load_part(g + 3 * size + h, left));
            vec c = forget * load_part(previous_cell + at, left) + in * new;
            vec t = hyperbolic_tangent(c);
            store_part(g + h, in, left);
            store_part(g + size + h, forget, left);
            store_part(g + 2 * size + h, out, left);
            store_part(g + 3 * size + h, new, left);
            store_part(cell + at, c, left);
            store_part(tanh_cell + at, t, left);
            store_part(hidden + at, out * t, left);
        }
    }
}

void trdec_lstm_gates_backward(int64_t n, int64_t size, const float *gates, const float *previous_cell,
                               const float *tanh_cell, const float *d_hidden, float *d_cell, float *d_gates)
{
    for (int64_t row = 0; row < n; row++) {
        const float *g = gates + row * 4 * size;
        float *d = d_gates + row * 4 * size;
        for (int64_t h = 0, at = row * size; h < size; h += W, at += W) {
            int64_t left = size - h;
            vec in = load_part(g + h, left), forget = load_part(g + size + h, left);
            vec out = load_part(g + 2 * size + h, left), new = load_part(g + 3 * size + h, left);
            vec t = load_part(tanh_cell + at, left), d_h = load_part(d_hidden + at, left);
            vec d_c = load_part(d_cell + at, left) + d_h * out * (1.0f - t * t);
            store_part(d + h, d_c * new * in * (1.0f - in), left);
            store_part(d + size + h, d_c * load_part(previous_cell + at, left) * forget * (1.0f - forget), left);
            store_part(d + 2 * size + h, d_h * t * out * (1.0f - out), left);
            store_part(d + 3 * size + h, d_c * in * (1.0f - new * new), left);
            store_part(d_cell + at, d_c * forget, left);
        }
    }
}

/* Products of few rows -------------------------------------------------------------------------------------------- */

#define PANEL 16 /* columns that are stored together: a cache line */
#define V (PANEL / W)
#define ROWS 6 /* rows that are multiplied together */
#define PANELS(R) (12 / ((R)*V) > 4 ? 4 : 12 / ((R)*V) > 1 ? 12 / ((R)*V) : 1) /* with so many: 12 sums at a time */

/* Add to c, or put there, R rows of a times P panels of b: row k of a panel begins at b + k * ldb. */
INLINE void tile(const int R, const int P, int64_t K, const float *a, int64_t lda, const float *b, int64_t ldb,
                 int64_t panel_stride, float *c, int64_t ldc, int add)
{
    vec sum[ROWS][4 * V];
    UNROLL for (int r = 0; r < R; r++)
        UNROLL for (int v = 0; v < P * V; v++) sum[r][v] = (vec){0};
    for (int64_t k = 0; k < K; k++) {
        vec column[4 * V];
        UNROLL for (int v = 0; v < P * V; v++)
            column[v] = load(b + v / V * panel_stride + k * ldb + v % V * W);
        UNROLL for (int r = 0; r < R; r++) {
            vec left = all(a[r * lda + k]);
            UNROLL for (int v = 0; v < P * V; v++) sum[r][v] += left * column[v];
        }
    }
    UNROLL for (int r = 0; r < R; r++)
        UNROLL for (int v = 0; v < P * V; v++) {
            float *to = c + r * ldc + v * W;
            store(to, add ? load(to) + sum[r][v] : sum[r][v]);
        }
}

/* The columns after the last whole panel, one at a time. */
static void narrow(int64_t n, int64_t K, int64_t X, const float *a, int64_t lda, const float *b, int64_t ldb, float *c,
                   int64_t ldc, int add)
{
    for (int64_t r = 0; r < n; r++)
        for (int64_t x = 0; x < X; x++) {
            float sum = 0;
            for (int64_t k = 0; k < K; k++)
                sum = fmaf(a[r * lda + k], b[k * ldb + x], sum);
            c[r * ldc + x] = add ? c[r * ldc + x] + sum : sum;
        }
}

#define TILES(R)                                                                                                      \
    case R:                                                                                                           \
        for (; x + PANELS(R) * PANEL <= X; x += PANELS(R) * PANEL)                                                    \
            tile(R, PANELS(R), K, a, lda, b + x / PANEL * panel_stride, ldb, panel_stride, c + x, ldc, add);                   \
        for (; x + PANEL <= X; x += PANEL)                                                                            \
            tile(R, 1, K, a, lda, b + x / PANEL * panel_stride, ldb, panel_stride, c + x, ldc, add);                   \
        break;

/* At most ROWS rows a times X columns of b: as many panels together as there are registers for their sums. */
static void block(int64_t R, int64_t K, int64_t X, const float *a, int64_t lda, const float *b, int64_t ldb,
                  int64_t panel_stride, float *c, int64_t ldc, int add)
{
    int64_t x = 0;
    switch (R) {
        TILES(1)
        TILES(2)
        TILES(3)
        TILES(4)
        TILES(5)
        TILES(6)
    }
    if (x < X)
        narrow(R, K, X - x, a, lda, b + x / PANEL * panel_stride, ldb, c + x, ldc, add);
}

/* Lay out a matrix K X as panels: PANEL columns of all K rows, then the next. The last panel is filled with zeros. */
void trdec_pack(int64_t K, int64_t X, const float *matrix, int64_t stride_k, int64_t stride_x, float *panels)
{
    for (int64_t x = 0; x < X; x += PANEL)
        for (int64_t k = 0; k < K; k++, panels += PANEL)
            for (int64_t c = 0; c < PANEL; c++)
                panels[c] = x + c < X ? matrix[k * stride_k + (x + c) * stride_x] : 0;
}

/* Rows n K times panels K X, put into n X or added to it. */
void trdec_product(int64_t n, int64_t K, int64_t X, const float *rows, int64_t rows_stride, const float *panels,
                   float *out, int64_t out_stride, int32_t add)
{
    int64_t blocks = (n + ROWS - 1) / ROWS;
    int64_t at_once = n <= ROWS ? X : 4 * PANEL; /* panels that stay in the cache for all rows */
    for (int64_t x = 0; x < X; x += at_once) {
        int64_t columns = X - x < at_once ? X - x : at_once;
        for (int64_t b = 0; b < blocks; b++) {
            int64_t first = b * n / blocks, last = (b + 1) * n / blocks;
            block(last - first, K, columns, rows + first * rows_stride, rows_stride, panels + x * K, PANEL, K * PANEL,
                  out + first * out_stride + x, out_stride, add);
        }
    }
}

/* Products in int8: rows of numbers in [-1, 1] as 127ths, columns each with its own scale ---------------------------- */

typedef int16_t pairs_vec __attribute__((vector_size(4 * W)));
typedef int8_t bytes_vec __attribute__((vector_size(2 * W), aligned(1), may_alias));

/* The sums of W pairs of products: pair w of the weights with the same pair of a row. */
INLINE ivec multiply_pairs(pairs_vec weights, int32_t pair)
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

/* Lay out a matrix K X as panels: for each pair of rows, both numbers of PANEL columns. Scales are those of products. */
void trdec_pack_int8(int64_t K, int64_t X, const float *matrix, int64_t stride_k, int64_t stride_x, int8_t *panels,
                     float *scales)
{
    for (int64_t x = 0; x < X; x++) {
        const float *column = matrix + x * stride_x;
        int8_t *to = panels + x / PANEL * PANEL * (K + K % 2) + x % PANEL * 2;
        float largest = 0;
        for (int64_t k = 0; k < K; k++)
            largest = fmaxf(largest, fabsf(column[k * stride_k]));
        for (int64_t k = 0; k < K; k++)
            to[k / 2 * 2 * PANEL + k % 2] = largest > 0 ? (int8_t)lrintf(column[k * stride_k] / largest * 127) : 0;
        scales[x] = largest / (127 * 127);
    }
}

INLINE void tile_int8(const int R, int64_t pairs, int64_t columns, const int16_t *rows, const int8_t *panel,
                      const float *scales, float *out, int64_t out_stride, int add)
{
    ivec sum[ROWS][V];
    UNROLL for (int r = 0; r < R; r++)
        UNROLL for (int v = 0; v < V; v++) sum[r][v] = (ivec){0};
    for (int64_t k = 0; k < pairs; k++) {
        pairs_vec weights[V];
        UNROLL for (int v = 0; v < V; v++)
            weights[v] = __builtin_convertvector(*(const bytes_vec *)(panel + k * 2 * PANEL + v * 2 * W), pairs_vec);
        UNROLL for (int r = 0; r < R; r++) {
            int32_t pair;
            memcpy(&pair, rows + 2 * (r * pairs + k), sizeof pair);
            UNROLL for (int v = 0; v < V; v++) sum[r][v] += multiply_pairs(weights[v], pair);
        }
    }
    UNROLL for (int r = 0; r < R; r++)
        UNROLL for (int v = 0; v < V; v++) {
            int64_t left = columns - v * W;
            if (left > 0) {
                float *to = out + r * out_stride + v * W;
                vec product = __builtin_convertvector(sum[r][v], vec) * load_part(scales + v * W, left);
                store_part(to, add ? load_part(to, left) + product : product, left);
            }
        }
}

/* Rows n K times panels K X, put into n X or added to it; `scratch` has room for n times K, made even, int16_t. */
void trdec_product_int8(int64_t n, int64_t K, int64_t X, const float *rows, const int8_t *panels, const float *scales,
                        int16_t *scratch, float *out, int64_t out_stride, int32_t add)
{
    int64_t pairs = (K + 1) / 2, blocks = (n + ROWS - 1) / ROWS;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < 2 * pairs; k++) {
            float x = k < K ? rows[i * K + k] * 127 : 0;
            scratch[i * 2 * pairs + k] = (int16_t)rintf(x > 127 ? 127 : x < -127 ? -127 : x);
        }
    for (int64_t x = 0; x < X; x += PANEL)
        for (int64_t b = 0; b < blocks; b++) {
            int64_t first = b * n / blocks, last = (b + 1) * n / blocks;
            const int16_t *from = scratch + first * 2 * pairs;
            const int8_t *panel = panels + x * 2 * pairs;
            float *to = out + first * out_stride + x;
#define TILE_INT8(R)                                                                                                  \
    case R:                                                                                                           \
        tile_int8(R, pairs, X - x, from, panel, scales + x, to, out_stride, add);                                     \
        break;
            switch (last - first) {
                TILE_INT8(1)
                TILE_INT8(2)
                TILE_INT8(3)
                TILE_INT8(4)
                TILE_INT8(5)
                TILE_INT8(6)
            }
        }
}

/* Vectors at source places: row i reads those of the sentence numbers[i], from offsets[s] to offsets[s + 1] ---------- */

/* How many of the rows from `first` on read the same sentence, at most ROWS. */
INLINE int64_t run_of(const int64_t *numbers, int64_t first, int64_t n)
{
    int64_t end = first + 1;
    while (end < n && end < first + ROWS && numbers[end] == numbers[first])
        end++;
    return end - first;
}

/* Add to out n X the sums of the vectors by weight n S, or put them there. */
void trdec_sums(int64_t n, int64_t X, const int64_t *numbers, const int64_t *offsets, const float *vectors,
                const float *weights, int64_t weights_stride, float *out, int64_t out_stride, int32_t add)
{
    for (int64_t row = 0, count; row < n; row += count) {
        count = run_of(numbers, row, n);
        int64_t begin = offsets[numbers[row]], length = offsets[numbers[row] + 1] - begin;
        block(count, length, X, weights + row * weights_stride, weights_stride, vectors + begin * X, X, PANEL,
              out + row * out_stride, out_stride, add);
    }
}

/* Add to out n S the product of each row n X with each vector of its sentence, or put it there. */
void trdec_dots(int64_t n, int64_t X, const int64_t *numbers, const int64_t *offsets, const float *vectors,
                const float *rows, int64_t rows_stride, float *out, int64_t out_stride, int32_t add)
{
    for (int64_t i = 0; i < n; i++) {
        const float *row = rows + i * rows_stride;
        int64_t begin = offsets[numbers[i]], length = offsets[numbers[i] + 1] - begin;
        for (int64_t j = 0; j < length; j++) {
            const float *vector = vectors + (begin + j) * X;
            vec sum[4] = {{0}, {0}, {0}, {0}};
            int64_t x = 0;
            for (; x + 4 * W <= X; x += 4 * W)
                UNROLL for (int v = 0; v < 4; v++) sum[v] += load(row + x + v * W) * load(vector + x + v * W);
            for (; x < X; x += W)
                sum[0] += load_part(row + x, X - x) * load_part(vector + x, X - x);
            float dot = sum_of((sum[0] + sum[1]) + (sum[2] + sum[3]));
            float *to = out + i * out_stride + j;
            *to = add ? *to + dot : dot;
        }
    }
}

/* Add weight n S times row n X to the vectors of each row's sentence. */
void trdec_add_outer(int64_t n, int64_t X, const int64_t *numbers, const int64_t *offsets, float *vectors,
                     const float *weights, int64_t weights_stride, const float *rows)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t begin = offsets[numbers[i]], length = offsets[numbers[i] + 1] - begin;
        for (int64_t j = 0; j < length; j++) {
            float weight = weights[i * weights_stride + j], *vector = vectors + (begin + j) * X;
            for (int64_t x = 0; x < X; x += W)
                store_part(vector + x, load_part(vector + x, X - x) + weight * load_part(rows + i * X + x, X - x), X - x);
        }
    }
}

/* Attention ------------------------------------------------------------------------------------------------------- */

/* 1 + e^2(q + k), given e^2q and e^2k, or 2q and 2k if they are not exponentiated apart. A denominator of 2^60 is as
 * good as infinity, and two of them can be multiplied. */
INLINE vec denominator(const int apart, vec query, vec key)
{
    return at_most(1.0f + (apart ? query * key : exponential(query + key)), 0x1p60f);
}

INLINE void additive_scores(const int apart, int64_t n, int64_t size, const int64_t *numbers, const int64_t *offsets,
                            const float *keys, const float *queries, const float *weight, float *scores,
                            int64_t scores_stride)
{
    for (int64_t i = 0; i < n; i++) {
        const float *query = queries + i * size;
        int64_t begin = offsets[numbers[i]], length = offsets[numbers[i] + 1] - begin;
        for (int64_t j = 0; j < length; j++) {
            const float *key = keys + (begin + j) * size;
            vec sum = {0};
            int64_t h = 0;
            for (; h + 2 * W <= size; h += 2 * W) { /* one division for two quotients: a / b + c / d */
                vec one = denominator(apart, load(query + h), load(key + h));
                vec two = denominator(apart, load(query + h + W), load(key + h + W));
                sum += (load(weight + h) * two + load(weight + h + W) * one) / (one * two);
            }
            for (; h < size; h += W) {
                int64_t left = size - h;
                sum += load_part(weight + h, left) /
                       denominator(apart, load_part(query + h, left), load_part(key + h, left));
            }
            scores[i * scores_stride + j] = sum_of(sum);
        }
    }
}

/* scores n S = sum over h of weight / (1 + e^2(q + k)). */
void trdec_additive_scores(int64_t n, int64_t size, const int64_t *numbers, const int64_t *offsets, const float *keys,
                           int32_t apart, const float *queries, const float *weight, float *scores,
                           int64_t scores_stride)
{
    if (apart)
        additive_scores(1, n, size, numbers, offsets, keys, queries, weight, scores, scores_stride);
    else
        additive_scores(0, n, size, numbers, offsets, keys, queries, weight, scores, scores_stride);
}

/* What the place j of a sentence adds to the gradients at W numbers, given r = 1 / (1 + e^2(q + k)). */
INLINE void add_gradients(vec r, float d_score, vec *d_query, vec *d_weight, float *d_key, int64_t left)
{
    vec scaled = d_score * r;
    vec slope = scaled - scaled * r;
    *d_weight += scaled;
    *d_query += slope;
    store_part(d_key, load_part(d_key, left) + slope, left);
}

INLINE void additive_backward(const int apart, int64_t n, int64_t size, const int64_t *numbers, const int64_t *offsets,
                              const float *keys, const float *queries, const float *d_scores, int64_t scores_stride,
                              float *d_queries, float *d_keys, float *d_weight)
{
    for (int64_t i = 0; i < n; i++) {
        const float *query = queries + i * size, *d_score = d_scores + i * scores_stride;
        int64_t begin = offsets[numbers[i]], length = offsets[numbers[i] + 1] - begin;
        int64_t h = 0;
        for (; h + 2 * W <= size; h += 2 * W) {
            vec q1 = load(query + h), q2 = load(query + h + W);
            vec d_q1 = {0}, d_q2 = {0}, d_w1 = {0}, d_w2 = {0};
            for (int64_t j = 0; j < length; j++) {
                int64_t at = (begin + j) * size + h;
                vec one = denominator(apart, q1, load(keys + at));
                vec two = denominator(apart, q2, load(keys + at + W));
                vec both = 1.0f / (one * two);
                add_gradients(both * two, d_score[j], &d_q1, &d_w1, d_keys + at, W);
                add_gradients(both * one, d_score[j], &d_q2, &d_w2, d_keys + at + W, W);
            }
            store(d_queries + i * size + h, d_q1);
            store(d_queries + i * size + h + W, d_q2);
            store(d_weight + h, load(d_weight + h) + d_w1);
            store(d_weight + h + W, load(d_weight + h + W) + d_w2);
        }
        for (; h < size; h += W) {
            int64_t left = size - h;
            vec q = load_part(query + h, left), d_q = {0}, d_w = {0};
            for (int64_t j = 0; j < length; j++) {
                int64_t at = (begin + j) * size + h;
                vec r = 1.0f / denominator(apart, q, load_part(keys + at, left));
                add_gradients(r, d_score[j], &d_q, &d_w, d_keys + at, left);
            }
            store_part(d_queries + i * size + h, d_q, left);
            store_part(d_weight + h, load_part(d_weight + h, left) + d_w, left);
        }
    }
}

/* With r = 1 / (1 + e^2(q + k)): put the sums of d_score (r - r^2) over the places into d_queries n H, add the same
 * numbers to d_keys and those of d_score r to d_weight H. */
void trdec_additive_backward(int64_t n, int64_t size, const int64_t *numbers, const int64_t *offsets, const float *keys,
                             int32_t apart, const float *queries, const float *d_scores, int64_t scores_stride,
                             float *d_queries, float *d_keys, float *d_weight)
{
    if (apart)
        additive_backward(1, n, size, numbers, offsets, keys, queries, d_scores, scores_stride, d_queries, d_keys,
                          d_weight);
    else
        additive_backward(0, n, size, numbers, offsets, keys, queries, d_scores, scores_stride, d_queries, d_keys,
                          d_weight);
}

/* The softmax of scores n S over the places of each row's sentence, in place; 0 after its last place. */
void trdec_softmax(int64_t n, int64_t width, const int64_t *numbers, const int64_t *offsets, float *scores)
{
    for (int64_t i = 0; i < n; i++) {
        float *row = scores + i * width;
        int64_t length = offsets[numbers[i] + 1] - offsets[numbers[i]];
        float largest = row[0], total = 0;
        for (int64_t j = 1; j < length; j++)
            largest = row[j] > largest ? row[j] : largest;
        for (int64_t j = 0; j < length; j += W)
            store_part(row + j, exponential(load_part(row + j, length - j) - largest), length - j);
        for (int64_t j = 0; j < length; j++)
            total += row[j];
        for (int64_t j = 0; j < length; j++)
            row[j] /= total;
        memset(row + length, 0, (size_t)(width - length) * sizeof(float));
    }
}

/* The gradient n S of the scores, given the weights and their gradient. */
void trdec_softmax_backward(int64_t n, int64_t width, const float *weights, const float *d_weights, float *d_scores)
{
    for (int64_t i = 0; i < n; i++) {
        float total = 0;
        for (int64_t j = i * width; j < (i + 1) * width; j++)
            total += weights[j] * d_weights[j];
        for (int64_t j = i * width; j < (i + 1) * width; j++)
            d_scores[j] = weights[j] * (d_weights[j] - total);
    }
}
