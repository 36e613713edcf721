/* Rows times panels of words: included once for each way to multiply. Before it, these are defined:
 *
 * NAME(part)               the functions' names
 * TARGET                   what instructions they may use, beyond those that the file is compiled for
 * ROW_WORDS                how many words of a row a word of a panel is multiplied by
 * SUM                      a vector of sums
 * START(starts, x)         what the sums of W columns from x on start with
 * DOT(sum, weights, row)   the sum with the products of W words of a panel and those ROW_WORDS words added
 * RESULT(sum, scales, x)   the numbers that those sums stand for
 */

TARGET INLINE void NAME(tile)(const int R, const int P, int64_t words, int64_t x, int64_t end, const int32_t *rows,
                              const int32_t *panels, const int32_t *starts, const float *scales, float *out,
                              int64_t out_stride, int add)
{
    SUM sum[ROWS][4 * V];
    UNROLL for (int r = 0; r < R; r++)
        UNROLL for (int v = 0; v < P * V; v++) sum[r][v] = START(starts, x + v * W);
    for (int64_t k = 0; k < words; k++) {
        ivec weights[4 * V];
        UNROLL for (int v = 0; v < P * V; v++)
            weights[v] = load_words(panels + x * words + (v / V * words + k) * PANEL + v % V * W);
        UNROLL for (int r = 0; r < R; r++) {
            const int32_t *row = rows + (r * words + k) * ROW_WORDS;
            UNROLL for (int v = 0; v < P * V; v++) sum[r][v] = DOT(sum[r][v], weights[v], row);
        }
    }
    UNROLL for (int r = 0; r < R; r++)
        UNROLL for (int v = 0; v < P * V; v++) {
            int64_t left = end - x - v * W;
            if (left > 0) {
                float *to = out + r * out_stride + x + v * W;
                vec product = RESULT(sum[r][v], scales, x + v * W);
                store_part(to, add ? load_part(to, left) + product : product, left);
            }
        }
}

#define TILES_OF_WORDS(R)                                                                                             \
    case R:                                                                                                           \
        for (; at + PANELS(R) * PANEL <= end; at += PANELS(R) * PANEL)                                                \
            NAME(tile)(R, PANELS(R), words, at, end, from, panels, starts, scales, to, out_stride, add);              \
        for (; at < end; at += PANEL)                                                                                 \
            NAME(tile)(R, 1, words, at, end, from, panels, starts, scales, to, out_stride, add);                      \
        break;

TARGET static void NAME(product)(int64_t n, int64_t words, int64_t X, const int32_t *rows, const int32_t *panels,
                                 const int32_t *starts, const float *scales, float *out, int64_t out_stride, int add)
{
    int64_t blocks = (n + ROWS - 1) / ROWS;
    int64_t at_once = n <= ROWS ? X : 4 * PANEL; /* panels that stay in the cache for all rows */
    for (int64_t x = 0; x < X; x += at_once)
        for (int64_t b = 0; b < blocks; b++) {
            int64_t first = b * n / blocks, last = (b + 1) * n / blocks;
            int64_t at = x, end = X - x < at_once ? X : x + at_once;
            const int32_t *from = rows + first * words * ROW_WORDS;
            float *to = out + first * out_stride;
            switch (last - first) {
                TILES_OF_WORDS(1)
                TILES_OF_WORDS(2)
                TILES_OF_WORDS(3)
                TILES_OF_WORDS(4)
                TILES_OF_WORDS(5)
                TILES_OF_WORDS(6)
            }
        }
}

#undef TILES_OF_WORDS
#undef NAME
#undef TARGET
#undef ROW_WORDS
#undef SUM
#undef START
#undef DOT
#undef RESULT
