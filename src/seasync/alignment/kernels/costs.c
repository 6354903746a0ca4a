/* Costs of pairs of clips, from the products of their frames.

   State, context and change are linear in the features, and so is the interpolation to the grid: products of grid
   points are sums of shifted, summed or averaged entries of one Gram matrix of plain frame features. */

#include "kernels.h"

#ifdef __clang__ /* costs of one pair and of many then have the same digits; `multiply` is for speed */
#pragma clang fp contract(off)
#endif

/* Rows, and panels of LANES columns, whose products fill the registers. */
#if defined(__AVX512F__)
enum { HEIGHT = 8, PANELS = 2 };
#elif defined(__AVX2__) || defined(__aarch64__)
enum { HEIGHT = 6, PANELS = 1 };
#else
enum { HEIGHT = 3, PANELS = 1 };
#endif

/* Rows from `first` on of others (m, width), LANES of them as columns of each of the panels (PANELS, width *
   LANES). Where there are fewer, the last one is repeated. */
static void pack(const float *others, int64_t m, int64_t width, int64_t first, float *panels) {
    for (int p = 0; p < PANELS; p++, first += LANES, panels += width * LANES) {
        const float *starts[LANES];
        for (int r = 0; r < LANES; r++) starts[r] = others + smaller(first + r, m - 1) * width;
        const int64_t whole = width / SIDE * SIDE;
        for (int64_t k = 0; k < whole; k += SIDE)
            for (int r = 0; r < LANES; r += SIDE) transpose(starts + r, k, panels + k * LANES + r);
        for (int64_t k = whole; k < width; k++)
            for (int r = 0; r < LANES; r++) panels[k * LANES + r] = starts[r][k];
    }
}

/* Products of `height` rows with the panels into out (height, stride); all sums stay in registers. */
INLINE void multiply(const int height, const float *rows, int64_t width, const float *panels, float *out,
                     int64_t stride) {
#ifdef __clang__
#pragma clang fp contract(fast)
#endif
    floats sums[HEIGHT][PANELS];
    for (int r = 0; r < height; r++)
        for (int p = 0; p < PANELS; p++) sums[r][p] = (floats){0};
    for (int64_t k = 0; k < width; k++) {
        floats columns[PANELS];
        for (int p = 0; p < PANELS; p++) columns[p] = load(panels + (p * width + k) * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < height; r++)
#pragma GCC unroll 8
            for (int p = 0; p < PANELS; p++) sums[r][p] += rows[r * width + k] * columns[p];
    }
    for (int r = 0; r < height; r++)
        for (int p = 0; p < PANELS; p++) store(out + r * stride + p * LANES, sums[r][p]);
}

/* rows (n, width) times others (m, width) transposed, into out (n, m), in this thread: BLAS spreads products of
   this size over threads, which wait for each other longer than they work. */
EXPORT int64_t products(const float *rows, int64_t n, const float *others, int64_t m, int64_t width, float *out) {
    void *owned;
    float *panels = allocate(PANELS * width * LANES, &owned), sums[HEIGHT * PANELS * LANES];
    if (!owned) return -1;
    for (int64_t first = 0; first < m; first += PANELS * LANES) {
        pack(others, m, width, first, panels);
        const int64_t count = smaller(PANELS * LANES, m - first);
        for (int64_t i = 0; i < n;) {
            const int64_t height = i + HEIGHT <= n ? HEIGHT : n < HEIGHT ? 1 : HEIGHT;
            i = smaller(i, n - height); /* the last rows again rather than one by one */
            const int direct = count == PANELS * LANES;
            float *to = direct ? out + i * m + first : sums;
            const int64_t stride = direct ? m : PANELS * LANES;
            if (height == 1)
                multiply(1, rows + i * width, width, panels, to, stride);
            else
                multiply(HEIGHT, rows + i * width, width, panels, to, stride);
            for (int64_t r = 0; r < height && !direct; r++)
                memcpy(out + (i + r) * m + first, sums + r * stride, count * sizeof(float));
            i += height;
        }
    }
    free(owned);
    return 0;
}

/* Products of a pair's rows: frames of the query from `first` on (gram) and its further rows
   (extra), each with all rows of the match. Working memory: sums (columns,) of the rows so far, for context;
   moved (length of the match,). */
typedef struct {
    const float *gram, *extra;
    int64_t first, columns;
    double *sums;
    float *moved;
    int64_t reach;
} Gram;

/* How far ahead and behind the change of a clip looks, if it has one shot and one mean; else 0. */
static int64_t plain_reach(const Stream *stream) {
    const int64_t m = stream->length, reach = stream->links[0];
    for (int64_t j = 0; j < m; j++)
        if (stream->links[j] != smaller(j + reach, m - 1) || stream->links[m + j] != larger(j - reach, 0) ||
            stream->links[2 * m + j] >= m)
            return 0;
    return m > 2 * reach ? reach : 0;
}

/* Add the products of the query's context at frame i with that of all frames of the match; frames in order. */
static void add_context(int64_t i, int64_t n, int64_t m, const float *row, const float *extra, double *sums,
                        float *out) {
    const float *offsets = extra + m + 2;
    for (int64_t j = 0; j < m + 2; j++) sums[j] += row[j];
    const double rows = (double)n, columns = (double)m;
    const double ramp = (double)(i + 1) / rows - (rows + 1) / (2 * rows);
    const double by_mean = sums[m] / rows, by_offset = sums[m + 1] / rows - extra[m + 1];
    double both = 0, mean_with = 0, offset_with = 0;
    for (int64_t j = 0; j < m; j++) {
        both += sums[j];
        mean_with += extra[j];
        offset_with += offsets[j];
        const double along = (double)(j + 1) / columns - (columns + 1) / (2 * columns);
        const double summed = both / (rows * columns) - by_mean - mean_with / columns + extra[m];
        out[j] += (float)(summed + ramp * (offset_with / columns - offsets[m]) + along * by_offset +
                          ramp * along * offsets[m + 1]);
    }
}

/* Products of query frame i with all frames of the match, into out (m + 1,). */
static void base_row(int64_t i, const Gram *gram, const Stream *query, const Stream *match, int context,
                     float *restrict out) {
    const int64_t n = query->length, m = match->length, c = gram->columns, reach = gram->reach;
    const int32_t *ahead = match->links, *behind = ahead + m, *means = behind + m;
    const float *states = match->scales, *changes = states + m;
    const float *row = gram->gram + (i - gram->first) * c;
    const float state = query->scales[i], change = query->scales[n + i];
    const int32_t own = query->links[2 * n + i];
    float *restrict moved = gram->moved;
    if (change > 0) {
        const float *later = gram->gram + (query->links[i] - gram->first) * c;
        const float *earlier = gram->gram + (query->links[n + i] - gram->first) * c;
        for (int64_t j = 0; j < m; j++) moved[j] = later[j] - earlier[j];
    }
    if (reach > 0 && own < n && change > 0 && !context) {
        /* No windows, and the match has one shot: most of it is read in order. */
        for (int64_t j = 0; j < reach; j++)
            out[j] = row[j] * (state * states[j]) + (moved[j + reach] - moved[0]) * (change * changes[j]);
        for (int64_t j = reach; j < m - reach; j++)
            out[j] = row[j] * (state * states[j]) + (moved[j + reach] - moved[j - reach]) * (change * changes[j]);
        for (int64_t j = m - reach; j < m; j++)
            out[j] = row[j] * (state * states[j]) + (moved[m - 1] - moved[j - reach]) * (change * changes[j]);
        out[m] = out[m - 1];
        return;
    }
    memcpy(out, row, m * sizeof(float));
    const float *mean = own >= n ? gram->extra + (own - n) * c : NULL;
    for (int64_t j = 0; j < m && mean; j++) out[j] -= mean[j];
    for (int64_t j = 0; j < m && means[0] >= m; j++) out[j] -= row[means[j]] - (mean ? mean[means[j]] : 0);
    if (context) add_context(i, n, m, row, gram->extra, gram->sums, out);
    for (int64_t j = 0; j < m; j++) out[j] *= state * states[j];
    for (int64_t j = 0; j < m && change > 0; j++)
        out[j] += (moved[ahead[j]] - moved[behind[j]]) * (change * changes[j]);
    out[m] = out[m - 1];
}

/* Products of the query's frames first to stop - 1 with those of the match, into rows of out, `stride` apart. */
static int64_t frame_rows(const Stream *query, const Stream *match, int64_t context, int64_t first, int64_t stop,
                          int64_t stride, double *sums, float *out) {
    const int64_t n = query->length, m = match->length, columns = m + match->extra, width = query->width;
    int64_t low = first, high = stop;
    for (int64_t i = first; i < stop; i++) {
        low = smaller(low, query->links[n + i]);
        high = larger(high, query->links[i] + 1);
    }
    /* The further rows follow the last frame's: then one product is enough. */
    const int64_t rows = high - low, further = query->extra, joined = high == n ? further : 0;
    float *gram = malloc(((rows + further) * columns + m) * sizeof(float)), *extra = gram + rows * columns;
    if (!gram || products(query->rows + low * width, rows + joined, match->rows, columns, width, gram) ||
        (joined < further && products(query->rows + n * width, further, match->rows, columns, width, extra)))
        return free(gram), -1;
    const Gram all = {gram, extra, low, columns, sums, extra + further * columns, plain_reach(match)};
    for (int64_t i = first; i < stop; i++, out += stride) base_row(i, &all, query, match, (int)context, out);
    free(gram);
    return 0;
}

/* See `add_cosines` in __init__.py. */
EXPORT int64_t add_cosines(const Stream *query, const Stream *match, int64_t context, int64_t *done, float *carried,
                           double *sums, int64_t start, int64_t count, int64_t add, float *out) {
    const int64_t points = match->points, width = match->length + 1, first = *done + 1;
    const int64_t stop = larger(first, smaller(query->length, query->lower[start + count - 1] + 2));
    const float *weights = match->grid, *norms = weights + points;
    /* Rows of two frames that are done, and of the next ones; a mixed one. */
    float *frames = malloc((stop - first + 3) * width * sizeof(float)), *mixed = frames + (stop - first + 2) * width;
    if (!frames) return -1;
    memcpy(frames, carried, 2 * width * sizeof(float));
    if (stop > first && frame_rows(query, match, context, first, stop, width, sums, frames + 2 * width))
        return free(frames), -1;
    for (int64_t a = start; a < start + count; a++, out += points) {
        const float weight = query->grid[a], scale = query->grid[query->points + a];
        const float *row = frames + (query->lower[a] - first + 2) * width, *next = weight > 0 ? row + width : row;
        for (int64_t j = 0; j < width; j++) mixed[j] = scale * (row[j] + weight * (next[j] - row[j]));
        for (int64_t b = 0; b < points; b++) {
            const float *pair = mixed + match->lower[b];
            const float cosine = (pair[0] + weights[b] * (pair[1] - pair[0])) * norms[b];
            out[b] = add ? out[b] + cosine : cosine;
        }
    }
    memcpy(carried, frames + (stop - first) * width, 2 * width * sizeof(float));
    *done = stop - 1;
    free(frames);
    return 0;
}

/* Turn summed cosines of `streams` streams, out (n, m), into costs in place. */
EXPORT void finish_costs(float *out, int64_t n, int64_t m, int64_t streams, float power, float stillness,
                         const float *query_motion, const float *match_motion) {
    const float mean = 1.0f / (float)streams, half = (1 - stillness) / 2;
    for (int64_t i = 0; i < n; i++, out += m) {
        const float moving = stillness + half * query_motion[i];
        if (power == 2)
            for (int64_t j = 0; j < m; j++) {
                const float far = 1 - out[j] * mean, above = far > 0 ? far : 0;
                out[j] = above * above * (moving + half * match_motion[j]);
            }
        else
            for (int64_t j = 0; j < m; j++) {
                const float far = 1 - out[j] * mean, above = far > 0 ? far : 0;
                out[j] = (power == 1 ? above : powf(above, power)) * (moving + half * match_motion[j]);
            }
    }
}

/* Costs of LANES pairs together; see `Layout` in __init__.py. Sides: weight, 1 / norm and weight of motion. */
typedef struct {
    const int64_t *rows, *columns;
    float *planes, *sides, *cells;
    int64_t frames, width, factor, other, n, m;
    float stillness, power;
} Layout;

/* A clip's grid into a lane of a side (points, 3, LANES); where it is none, all costs are `keep`. */
static void put_side(const Stream *stream, int64_t lane, float keep, float half, int64_t points, float *side) {
    const int64_t count = stream ? stream->points : 0;
    for (int64_t a = 0; a < points; a++, side += 3 * LANES) {
        side[lane] = a < count ? stream->grid[a] : 0;
        side[LANES + lane] = a < count ? stream->grid[count + a] : 0;
        side[2 * LANES + lane] = keep + (a < count ? half * stream->grid[2 * count + a] : 0);
    }
}

/* What `lane_costs` needs of one pair, into one lane. If nothing moves, all its costs are one. */
static int64_t put_pair(const Stream *query, const Stream *match, int moving, int64_t context, int64_t lane,
                        const Layout *to) {
    const int64_t n = query->length, m = match->length;
    const float half = (1 - to->stillness) / 2, keep = moving ? to->stillness : 1;
    float *plane = to->planes + lane * to->frames * to->width;
    put_side(moving ? query : NULL, lane, keep, half, to->n, to->sides);
    put_side(moving ? match : NULL, lane, 0, half, to->m, to->sides + 3 * to->n * LANES);
    if (!moving) return memset(plane, 0, to->frames * to->width * sizeof(float)), 0;
    double *sums = calloc(m + 2, sizeof(double));
    const int64_t failed = !sums || frame_rows(query, match, context, 0, n, to->width, sums, plane);
    if (n < to->frames && !failed) /* what lies beyond is multiplied by zero, so it must be finite */
        memcpy(plane + n * to->width, plane + (n - 1) * to->width, (m + 1) * sizeof(float));
    free(sums);
    return -failed;
}

/* The costs of LANES pairs out of their products, zero beyond rows and columns of each. */
static int64_t lane_costs(const Layout *to) {
    const int64_t width = to->width, n = to->n, m = to->m;
    void *owned;
    float *ring = allocate(3 * width * LANES, &owned), *mixed = ring + 2 * width * LANES;
    if (!owned) return -1;
    int64_t done = -1, widths[LANES];
    for (int lane = 0; lane < LANES; lane++) widths[lane] = width;
    for (int64_t a = 0; a < n; a++) {
        const int64_t low = a / to->factor, high = smaller(low + 1, to->frames - 1);
        while (done < high) {
            const float *starts[LANES];
            done++;
            for (int lane = 0; lane < LANES; lane++) starts[lane] = to->planes + (lane * to->frames + done) * width;
            interleave(starts, widths, width, ring + done % 2 * width * LANES);
        }
        const float *lower = ring + low % 2 * width * LANES, *upper = ring + high % 2 * width * LANES;
        const float *own = to->sides + 3 * a * LANES;
        const floats weight = load(own), norm = load(own + LANES), moving = load(own + 2 * LANES);
        for (int64_t k = 0; k < width * LANES; k += LANES) {
            const floats value = load(lower + k);
            store(mixed + k, norm * (value + weight * (load(upper + k) - value)));
        }
        float *out = to->cells + a * m * LANES;
        for (int64_t b = 0; b < m; b++) {
            const float *side = to->sides + 3 * (n + b) * LANES, *frame = mixed + b / to->other * LANES;
            floats value = load(frame);
            value = (value + load(side) * (load(frame + LANES) - value)) * load(side + LANES);
            floats far = 1 - value;
            far = (floats)((ints)far & (far > 0));
            if (to->power == 2)
                far *= far;
            else if (to->power != 1)
                for (int lane = 0; lane < LANES; lane++) far[lane] = powf(far[lane], to->power);
            store(out + b * LANES, far * (moving + load(side + 2 * LANES)));
        }
        for (int lane = 0; lane < LANES; lane++)
            for (int64_t b = a < to->rows[lane] ? to->columns[lane] : 0; b < m; b++) out[b * LANES + lane] = 0;
    }
    free(owned);
    return 0;
}

/* The costs of `count` pairs of clips; moving (count,): whether something moves in each. */
EXPORT int64_t pair_costs(const Stream *const *queries, const Stream *const *matches, const uint8_t *moving,
                          int64_t count, int64_t context, const Layout *to) {
    for (int64_t lane = 0; lane < count; lane++)
        if (put_pair(queries[lane], matches[lane], moving[lane], context, lane, to)) return -1;
    return lane_costs(to);
}

/* Clips as a sea stores them. Those of one shot and one window, which most are, go from its bytes to costs without a
   step of Python; the steps are those of prepare.py. */
enum { PLAIN, SAMPLES, FACTOR, POINTS, RESAMPLED, PLAN };
typedef struct {
    double jitter, ordinary, window, window_fps, grid_fps, longest;
} Limits;

/* See `plan_clips` in __init__.py. */
EXPORT void plan_clips(const double *seconds, const int64_t *frames_of, const int64_t *shots_of, int64_t count,
                       const Limits *limits, int64_t *plans, double *rates) {
    for (int64_t b = 0; b < count; b++) {
        const int64_t length = frames_of[2 * b + 1] - frames_of[2 * b];
        double clock[4];
        clock_of(seconds + frames_of[2 * b], length, INFINITY, clock);
        if (shots_of[2 * b + 1] - shots_of[2 * b] != 1 || clock[0] >= limits->ordinary) continue;
        const int64_t resampled = clock[3] >= limits->jitter && clock[2] <= (double)(2 * length + 16);
        const int64_t samples = resampled ? (int64_t)clock[2] : length;
        const int64_t factor = (int64_t)fmax(1, rint(limits->grid_fps / clock[1]));
        const int64_t plan[PLAN] = {1, samples, factor, factor * (samples - 1) + 1, resampled};
        const double most = fmax(limits->window, rint(limits->window * clock[1] / limits->window_fps));
        if ((double)plan[POINTS] > limits->longest || (double)samples > most) continue;
        memcpy(plans + PLAN * b, plan, sizeof plan);
        rates[b] = clock[1];
    }
}

/* Prepare a plain clip and put it and the query into a lane; 1 if it is still, -1 if memory is short. */
static int64_t put_stored(const uint16_t *bits, const double *seconds, int64_t length, const int64_t *plan, double rate,
                          Settings settings, double change_seconds, const Stream *query, int64_t lane,
                          const Layout *to) {
    const int64_t width = query->width, samples = plan[SAMPLES], points = plan[POINTS], shot = 0;
    float *features = malloc((length * width + 2 * samples * (width + 1) + 3 * points) * sizeof(float));
    int32_t *links = calloc(4 * samples + points, sizeof(int32_t));
    int64_t *order = malloc(samples * sizeof(int64_t) + points * sizeof(double)), state = -1;
    if (features && links && order) {
        float *sampled = features + length * width, *rows = sampled + samples * width;
        int32_t *zeros = links + 3 * samples, *lower = zeros + samples;
        double *weight = (double *)(order + samples);
        widen(bits, length * width, features);
        if (plan[RESAMPLED])
            resample(seconds, features, length, width, rate, samples, sampled);
        for (int64_t a = 0; a < points; a++) {
            lower[a] = (int32_t)(a / plan[FACTOR]);
            weight[a] = (double)(a % plan[FACTOR]) / (double)plan[FACTOR];
        }
        for (int64_t t = 0; t < samples; t++) order[t] = t;
        const Windows one = {zeros, zeros, order, &shot, &samples, 1, 1};
        float *scales = rows + samples * width;
        const Stream match = {rows, links, scales, lower, scales + 2 * samples, samples, 0, width, points};
        settings.reach = (int64_t)fmax(1, rint(change_seconds * rate));
        state = prepare_frames(plan[RESAMPLED] ? sampled : features, &shot, 1, &one, &settings, weight, &match);
        if (state >= 0 && put_pair(query, &match, !state, 0, lane, to)) state = -1;
    }
    free(features);
    free(links);
    free(order);
    return state;
}

/* The costs of one query with stored clips; see `stored_costs` in __init__.py. */
EXPORT int64_t stored_costs(const uint16_t *bits, const double *seconds, const int64_t *frames_of,
                            const int64_t *plans, const double *rates, const int64_t *chosen, int64_t count,
                            const Settings *settings, double change_seconds, const Stream *query, uint8_t *moving,
                            const Layout *to) {
    for (int64_t lane = 0; lane < count; lane++) {
        const int64_t b = chosen[lane], first = frames_of[2 * b], length = frames_of[2 * b + 1] - first;
        const int64_t state = put_stored(bits + first * query->width, seconds + first, length, plans + PLAN * b,
                                         rates[b], *settings, change_seconds, query, lane, to);
        if (state < 0) return -1;
        moving[lane] = !state;
    }
    return lane_costs(to);
}
