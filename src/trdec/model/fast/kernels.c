/* The kernels of kernels.py, compiled: single-threaded, float32, for one processor.
 *
 * Every function takes row-major matrices whose rows are contiguous, and changes nothing but its outputs. Sizes and
 * indices are int64_t. A number of a result depends on its own row only, never on which rows come with it: sums run in
 * the same order however many rows there are. `setup.py` compiles this file once for each kind of processor; W is how
 * many numbers the processor computes at once.
 */

#include "vectors.h"

/* Changes with the arguments of any function: a library that is older than compiled.py is not used. */
int32_t trdec_interface(void) { return 3; }

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
