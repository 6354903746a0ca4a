/* Paths through cost matrices: DTW, the mean cost of random paths, and priced paths with jumps. */

#include "kernels.h"

#ifdef __clang__
#pragma clang fp contract(on)
#endif

enum { DIAGONAL, UP, LEFT, JUMP, START };                                 /* moves */
#define CLOSED -1e9f /* the price of rows and columns that are none */
enum { MEAN = 1, MOVES = 2, PRICED = 4, FREE = 8, FILM = 16, HELD = 32 }; /* flags of `advance` */

/* What row.h is written with: vectors of WIDTH numbers, whole numbers and bytes. */
#define FILL(value) ((value) - (NUMBER){0})
#define WHOLES(value) ((value) + (WHOLE){0})
#define LOAD(from) ({ NUMBER loaded; memcpy(&loaded, from, sizeof loaded); loaded; })
#define LOAD_WHOLE(from) ({ WHOLE loaded; memcpy(&loaded, from, sizeof loaded); loaded; })
#define STORE(to, value) ({ const __typeof__(value) stored = value; memcpy(to, &stored, sizeof stored); })
/* By a branch where it is foreseen: DTW of one matrix takes .85 of the time then, a priced path 2.3 times. */
#define CHOOSE(mask, chosen, other) (WIDTH == 1 && !(flags & FREE) ? (WHOLE){(mask)[0] ? (chosen)[0] : (other)[0]} \
                                                                   : ((mask) & (chosen)) | (~(mask) & (other)))
#define SELECT(mask, chosen, other) ((NUMBER)CHOOSE(mask, (WHOLE)(chosen), (WHOLE)(other)))
typedef uint8_t bytes __attribute__((vector_size(LANES)));
typedef float one_float __attribute__((vector_size(4)));
typedef int32_t one_int __attribute__((vector_size(4)));
typedef uint8_t one_byte __attribute__((vector_size(1)));

#define NUMBER floats
#define WHOLE ints
#define BYTES bytes
#define WIDTH LANES
#define NAME(name) name##_lanes
#include "row.h"

#define NUMBER one_float
#define WHOLE one_int
#define BYTES one_byte
#define WIDTH 1
#define NAME(name) name##_alone
#include "row.h"

/* How often a random path at row i (from 0) comes diagonally, from above and from the left: (3, stride). */
static void put_shares(int64_t i, int64_t m, float *shares, int64_t stride) {
    float *diagonal = shares, *up = shares + stride, *left = up + stride;
    const double a = (double)(i + 1);
    for (int64_t j = 0; j < m; j++) {
        const double b = (double)(j + 1), scale = 1.0 / (a * a + a * b + b * b);
        diagonal[j] = (float)(a * b * scale);
        up[j] = (float)(a * a * scale);
        left[j] = (float)(b * b * scale);
    }
    for (int64_t j = 0; j < (i ? 1 : m); j++) {
        diagonal[j] = 0;
        up[j] = i > 0;
        left[j] = j > 0;
    }
}

/* `put_shares` of all rows of a square matrix, (size, 3, size). */
EXPORT void share_table(int64_t size, float *out) {
    for (int64_t i = 0; i < size; i++) put_shares(i, size, out + i * 3 * size, size);
}

/* SIDE numbers after each of SIDE starts + offset: number j of start r goes to out[j * LANES + r]. */
void transpose(const float *const *starts, int64_t offset, float *out) {
    square rows[SIDE], pairs[SIDE], fours[SIDE];
    for (int r = 0; r < SIDE; r++) memcpy(&rows[r], starts[r] + offset, sizeof rows[r]);
    /* Halves of 128 bits stay apart until the last step: shuffles across them are slow. */
    for (int r = 0; r < SIDE; r += 2) {
        pairs[r] = __builtin_shufflevector(rows[r], rows[r + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        pairs[r + 1] = __builtin_shufflevector(rows[r], rows[r + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int r = 0; r < SIDE; r += r % 2 ? 3 : 1) {
        fours[r / 4 * 4 + r % 4 * 2] = __builtin_shufflevector(pairs[r], pairs[r + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        fours[r / 4 * 4 + r % 4 * 2 + 1] = __builtin_shufflevector(pairs[r], pairs[r + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (int c = 0; c < 4; c++) {
        STORE(out + c * LANES, __builtin_shufflevector(fours[c], fours[c + 4], 0, 1, 2, 3, 8, 9, 10, 11));
        STORE(out + (c + 4) * LANES, __builtin_shufflevector(fours[c], fours[c + 4], 4, 5, 6, 7, 12, 13, 14, 15));
    }
}

/* A row of each lane, widths (LANES,) numbers from starts (LANES,) on, into out (m * LANES,); zeros follow. A lane of
   width 0 must start where another one does. */
void interleave(const float *const *starts, const int64_t *widths, int64_t m, float *out) {
    int64_t even = m;
    for (int lane = 0; lane < LANES; lane++) even = widths[lane] ? smaller(even, widths[lane]) : even;
    even -= even % SIDE;
    for (int64_t j = 0; j < even; j += SIDE)
        for (int lane = 0; lane < LANES; lane += SIDE) transpose(starts + lane, j, out + j * LANES + lane);
    for (int lane = 0; lane < LANES; lane++)
        for (int64_t j = widths[lane] ? even : 0; j < m; j++)
            out[j * LANES + lane] = j < widths[lane] ? starts[lane][j] : 0;
}

/* LANES matrices, rows x columns (LANES,) each, into cells (n, m * LANES), zero beyond each one's size. */
EXPORT void interleave_all(const float *const *matrices, const int64_t *rows, const int64_t *columns, float *cells) {
    const int64_t n = largest(rows), m = largest(columns);
    for (int64_t i = 0; i < n; i++) {
        const float *starts[LANES], *other = matrices[0];
        int64_t widths[LANES];
        for (int lane = 0; lane < LANES; lane++) {
            widths[lane] = i < rows[lane] ? columns[lane] : 0;
            starts[lane] = matrices[lane] + i * columns[lane];
            other = widths[lane] ? starts[lane] : other;
        }
        for (int lane = 0; lane < LANES; lane++) starts[lane] = widths[lane] ? starts[lane] : other;
        interleave(starts, widths, m, cells + i * m * LANES);
    }
}

/* Boxes of the matrices in cells (., width * LANES) into out (n, m * LANES), zero beyond each.
   boxes (5, LANES): lane, first row, first column, rows, columns. */
EXPORT void take_boxes(const float *cells, int64_t width, const int64_t *boxes, int64_t n, int64_t m, float *out) {
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < LANES; k++) {
            const int64_t *box = boxes + k, count = i < box[3 * LANES] ? box[4 * LANES] : 0;
            const int64_t first = (box[LANES] + (count ? i : 0)) * width + box[2 * LANES];
            for (int64_t j = 0; j < m; j++)
                out[(i * m + j) * LANES + k] = j < count ? cells[(first + j) * LANES + box[0]] : 0;
        }
}

/* The totals of lanes that end at row i. */
static void put_totals(int64_t i, const int64_t *rows, const int64_t *columns, const float *values, float sign,
                       float *out) {
    for (int lane = 0; lane < LANES; lane++)
        if (rows[lane] == i + 1) out[lane] = sign * values[(columns[lane] - 1) * LANES + lane];
}

/* DTW totals and mean costs of random paths of LANES matrices, cells (n, m * LANES), into totals (2, LANES).
   shares (size, 3, size) by `share_table`; moves (n, m * LANES), written for `trace`, or none. */
EXPORT int64_t solve_lanes(const float *cells, const int64_t *rows, const int64_t *columns, const float *shares,
                           int64_t size, float *totals, uint8_t *moves) {
    const int64_t n = largest(rows), m = largest(columns);
    void *owned;
    float *memory = allocate(2 * m * LANES, &owned);
    if (!owned) return -1;
    Row_lanes row = {.values = memory, .means = memory + m * LANES, .stride = size};
    for (int64_t k = 0; k < m * LANES; k++) row.values[k] = -INFINITY, row.means[k] = 0;
    for (int64_t i = 0; i < n; i++) {
        const float *costs = cells + i * m * LANES;
        row.shares = shares + i * 3 * size;
        row.moves = moves ? moves + i * m * LANES : NULL;
        if (moves)
            advance_lanes(MEAN | MOVES, costs, m, &row);
        else
            advance_lanes(MEAN, costs, m, &row);
        row.border = -INFINITY - (floats){0};
        put_totals(i, rows, columns, row.values, -1, totals);
        put_totals(i, rows, columns, row.means, 1, totals + LANES);
    }
    free(owned);
    return 0;
}

/* A row of cells with each lane's columns begun half-way, into out (m * LANES,). */
static void roll_row(const float *costs, const int64_t *columns, int64_t m, float *out) {
    int alike = 1;
    for (int lane = 0; lane < LANES; lane++) alike &= columns[lane] == m || columns[lane] == 0;
    if (alike) {
        memcpy(out, costs + (m - m / 2) * LANES, m / 2 * LANES * sizeof(float));
        memcpy(out + m / 2 * LANES, costs, (m - m / 2) * LANES * sizeof(float));
        return;
    }
    for (int lane = 0; lane < LANES; lane++)
        for (int64_t j = 0, half = columns[lane] / 2; j < columns[lane]; j++)
            out[j * LANES + lane] = costs[(j < half ? j + columns[lane] - half : j - half) * LANES + lane];
}

/* DTW totals of LANES matrices with the match backwards, and begun half-way, into totals (2, LANES). A path through
   the match backwards is one through the query backwards, seen from its other end: so all begin at column 0. */
EXPORT int64_t solve_disordered(const float *cells, const int64_t *rows, const int64_t *columns, float *totals) {
    const int64_t n = largest(rows), m = largest(columns);
    void *owned;
    float *memory = allocate(2 * m * LANES, &owned), *rolled = memory + m * LANES;
    if (!owned) return -1;
    Row_lanes row = {.values = memory};
    for (int64_t k = 0; k < m * LANES; k++) row.values[k] = -INFINITY, rolled[k] = 0;
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int lane = 0; lane < LANES; lane++) row.border[lane] = rows[lane] == i + 1 ? 0 : -INFINITY;
        advance_lanes(0, cells + i * m * LANES, m, &row);
    }
    for (int lane = 0; lane < LANES; lane++)
        if (rows[lane]) totals[lane] = -row.values[(columns[lane] - 1) * LANES + lane];
    for (int64_t k = 0; k < m * LANES; k++) row.values[k] = -INFINITY;
    row.border = (floats){0};
    for (int64_t i = 0; i < n; i++) {
        roll_row(cells + i * m * LANES, columns, m, rolled);
        advance_lanes(0, rolled, m, &row);
        row.border = -INFINITY - (floats){0};
        put_totals(i, rows, columns, row.values, -1, totals + LANES);
    }
    free(owned);
    return 0;
}

/* Carry the path of one matrix (n, m) over `count` rows from `first` on; see `solve_rows` in __init__.py. */
EXPORT int64_t solve_rows(const float *costs, int64_t first, int64_t count, int64_t n, int64_t m, float step,
                          const int32_t *limits, const int32_t *held, float *values, float *means, uint8_t *moves) {
    void *owned;
    float *shares = allocate(4 * m, &owned);
    if (!owned) return -1;
    Row_alone row = {.values = values, .means = means, .shares = shares, .stride = m, .step = step,
                     .moves = (uint8_t *)(shares + 3 * m)};
    for (int64_t i = first; i < first + count; i++) {
        put_shares(i, m, shares, m);
        row.border = (one_float){i == 0 ? 0 : -INFINITY};
        row.low = limits[i];
        row.high = limits[n + i];
        row.hold = held[i] >= 0 ? held[i] : m;
        advance_alone(MEAN | MOVES | HELD, costs + (i - first) * m, m, &row);
        for (int64_t j = 0; j < held[n + i]; j++) values[j] = -INFINITY;
        uint8_t *packed = moves + i * ((m + 3) / 4);
        memset(packed, 0, (m + 3) / 4);
        for (int64_t j = 0; j < m; j++) packed[j >> 2] |= row.moves[j] << 2 * (j & 3);
    }
    free(owned);
    return 0;
}

/* Prices of rows (n, lanes) and columns (m, lanes): `share` of what random paths would spend there, their mean cost
   times the mean number of cells that a random path has in a row. Beyond the heights and widths (lanes,) of the
   matrices, prices forbid entry. totals (lanes, 2): the sums of both. */
EXPORT void price_frames(const float *cells, int64_t n, int64_t m, int64_t lanes, const int64_t *heights,
                         const int64_t *widths, double share, float *rows, float *columns, double *totals) {
    memset(columns, 0, m * lanes * sizeof(float));
    for (int64_t i = 0; i < n; i++) {
        const float *costs = cells + i * m * lanes;
        floats total = {0};
        float alone = 0;
        for (int64_t j = 0; j < m && lanes == 1; j++) {
            alone += costs[j];
            columns[j] += costs[j];
        }
        for (int64_t k = 0; k < m * lanes && lanes > 1; k += LANES) {
            total += load(costs + k);
            store(columns + k, load(columns + k) + load(costs + k));
        }
        if (lanes == 1) total[0] = alone;
        memcpy(rows + i * lanes, &total, lanes * sizeof(float));
    }
    for (int64_t lane = 0; lane < lanes; lane++) {
        const int64_t height = heights[lane], width = widths[lane];
        const double across = height ? (double)height / (double)(height + width) : 0;
        const float factor = (float)(share * (1 - across * (1 - across)));
        double *sums = totals + 2 * lane;
        sums[0] = sums[1] = 0;
        for (int64_t i = lane; i < n * lanes; i += lanes) {
            rows[i] = i < height * lanes ? rows[i] * factor / (float)width : CLOSED;
            sums[0] += i < height * lanes ? rows[i] : 0;
        }
        for (int64_t j = lane; j < m * lanes; j += lanes) {
            columns[j] = j < width * lanes ? columns[j] * factor / (float)height : CLOSED;
            sums[1] += j < width * lanes ? columns[j] : 0;
        }
    }
}

/* The paths that gain most in 1 or LANES matrices; prices by `price_frames`, jumps (lanes,): what they gain into best,
   where they end (i * m + j) into ends (lanes,); moves and sources (n, m * lanes), written for `trace`. */
EXPORT int64_t solve_priced(const float *cells, int64_t n, int64_t m, int64_t lanes, const float *rows,
                            const float *columns, const float *jumps, uint8_t *moves, int32_t *sources, float *best,
                            int32_t *ends) {
    return (lanes == 1 ? solve_priced_alone : solve_priced_lanes)(cells, n, m, rows, columns, jumps, moves, sources,
                                                                  best, ends);
}

/* The path (L, 2) that ends at the cell `end`, into the last L rows of path (n + m, 2); gives L.

   moves: two bits a cell (n, (m + 3) / 4) if bits is 2, else bytes (n, m * lanes); sources: of jumps, or none
   breaks (n + 1,): where pieces begin, and L, into the last count + 1 of them; none if nothing jumps */
EXPORT int64_t trace(const uint8_t *moves, int64_t bits, const int32_t *sources, int64_t n, int64_t m,
                     int64_t lanes, int64_t lane, int64_t end, int32_t *path, int64_t *breaks, int64_t *count) {
    int64_t i = end / m, j = end % m, at = n + m, pieces = 0;
    for (;;) {
        at--;
        path[2 * at] = (int32_t)i;
        path[2 * at + 1] = (int32_t)j;
        const int64_t place = (i * m + j) * lanes + lane;
        int move = bits == 2 ? moves[i * ((m + 3) / 4) + (j >> 2)] >> 2 * (j & 3) & 3 : moves[place];
        if (i == 0 && j == 0) move = START;
        if (move >= JUMP && breaks) breaks[n - ++pieces] = at;
        if (move == START) break;
        if (move == JUMP) {
            const int32_t source = sources[place];
            i = source / m;
            j = source % m;
        } else if (move == DIAGONAL) { /* branches, so that the processor can run ahead */
            i--;
            j--;
        } else if (move == UP) {
            i--;
        } else {
            j--;
        }
    }
    if (breaks) {
        breaks[n] = n + m;
        for (int64_t p = n - pieces; p <= n; p++) breaks[p] -= at;
        *count = pieces;
    }
    return n + m - at;
}

/* The paths of all lanes by the moves of `solve_lanes`: the last lengths[lane] pairs of paths (LANES, n + m, 2). */
EXPORT void trace_lanes(const uint8_t *moves, const int64_t *rows, const int64_t *columns, int64_t n, int64_t m,
                        int32_t *paths, int64_t *lengths) {
    for (int lane = 0; lane < LANES; lane++) {
        const int64_t end = (rows[lane] - 1) * m + columns[lane] - 1;
        int32_t *path = paths + 2 * lane * (n + m);
        lengths[lane] = rows[lane] ? trace(moves, 8, NULL, n, m, LANES, lane, end, path, NULL, NULL) : 0;
    }
}

/* What a piece (length, 2) costs and the prices of the rows and of the columns it enters, into out (3,). */
EXPORT void measure(const float *cells, const float *rows, const float *columns, int64_t m, int64_t lanes,
                    int64_t lane, const int32_t *path, int64_t length, double *out) {
    out[0] = out[1] = out[2] = 0;
    for (int64_t at = 0; at < length; at++) {
        const int64_t i = path[2 * at], j = path[2 * at + 1];
        out[0] += cells[(i * m + j) * lanes + lane];
        if (at == 0 || i > path[2 * at - 2]) out[1] += rows[i * lanes + lane];
        if (at == 0 || j > path[2 * at - 1]) out[2] += columns[j * lanes + lane];
    }
}

/* The boxes (P, 5) around the pieces of the best paths in some lanes: lane, first row and column, rows, columns; and
   the measures (P, 3) of the pieces. Room for count * n of them. Gives P. */
EXPORT int64_t take_pieces(const float *cells, int64_t n, int64_t m, const float *rows, const float *columns,
                           const uint8_t *moves, const int32_t *sources, const int32_t *ends,
                           const int64_t *chosen, int64_t count, int64_t *boxes, double *measures) {
    int64_t *breaks = malloc((n + 1) * sizeof(int64_t) + 2 * (n + m) * sizeof(int32_t)), found = 0, pieces;
    int32_t *path = (int32_t *)(breaks + n + 1);
    if (!breaks) return -1;
    for (int64_t c = 0; c < count; c++) {
        const int64_t lane = chosen[c];
        const int64_t length = trace(moves, 8, sources, n, m, LANES, lane, ends[lane], path, breaks, &pieces);
        for (int64_t p = n - pieces; p < n; p++, found++) {
            const int32_t *first = path + 2 * (n + m - length + breaks[p]);
            const int64_t cells_of = breaks[p + 1] - breaks[p];
            const int32_t *last = first + 2 * (cells_of - 1);
            const int64_t box[5] = {lane, first[0], first[1], last[0] + 1 - first[0], last[1] + 1 - first[1]};
            memcpy(boxes + 5 * found, box, sizeof box);
            measure(cells, rows, columns, m, LANES, lane, first, cells_of, measures + 3 * found);
        }
    }
    free(breaks);
    return found;
}

/* Carry the best paths through a query (m samples) and part of a film over frames; see `solve_film` in __init__.py. */
EXPORT void solve_film(const float *costs, int64_t first, int64_t count, int64_t m, const float *prices,
                       float share, float *values, int32_t *since, float *gains, int32_t *starts) {
    Row_alone row = {.values = values, .since = since, .columns = prices};
    for (int64_t i = first; i < first + count; i++, costs += m) {
        float total = 0;
        for (int64_t j = 0; j < m; j++) total += costs[j];
        row.price = (one_float){share * total / (float)m};
        row.number = (int32_t)i;
        advance_alone(PRICED | FILM, costs, m, &row);
        gains[i] = values[m - 1];
        starts[i] = since[m - 1];
    }
}
