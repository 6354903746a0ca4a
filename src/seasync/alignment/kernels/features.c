/* What a cost matrix needs of one clip: rows for the Gram matrix, scales, norms and motion. */

#include "kernels.h"

#ifdef __clang__ /* sums may be reordered */
#pragma clang fp reassociate(on) contract(fast)
#endif

#define ROUNDING 1e-12 /* energy below this share of the raw features' is rounding, not movement */

/* Half precision (bits) to single, exactly. */
EXPORT void widen(const uint16_t *halves, int64_t count, float *out) {
    for (int64_t k = 0; k < count; k++) {
        const uint32_t half = halves[k], magnitude = (half & 0x7FFF) << 13;
        float scaled;
        uint32_t bits;
        memcpy(&scaled, &magnitude, 4);
        scaled *= 0x1p112f; /* between the exponents of the two formats */
        memcpy(&bits, &scaled, 4);
        bits |= ((half & 0x7C00) == 0x7C00 ? 0x7F800000u : 0) | (half & 0x8000) << 16;
        memcpy(out + k, &bits, 4);
    }
}

/* See `clock_of` in __init__.py; out (4,): what it returns. */
EXPORT void clock_of(const double *seconds, int64_t length, double limit, double *out) {
    double shortest = INFINITY, longest = 0, total = 0, off = 0;
    int64_t ordinary = 0;
    out[0] = out[1] = out[2] = 1;
    out[3] = 0;
    if (length == 1) return;
    for (int64_t t = 1; t < length; t++) {
        const double step = seconds[t] - seconds[t - 1];
        shortest = step < shortest ? step : shortest;
        longest = step > longest ? step : longest;
        if (step >= limit) continue;
        total += step;
        ordinary++;
    }
    const double rate = (double)ordinary / total;
    const double count = rint((seconds[length - 1] - seconds[0]) * rate) + 1;
    for (int64_t t = 0; t < length; t++) {
        const double apart = fabs(seconds[t] - (seconds[0] + (double)t / rate)) * rate;
        off = apart > off ? apart : off;
    }
    out[0] = longest / shortest;
    out[1] = rate;
    out[2] = count;
    out[3] = count == (double)length ? off : INFINITY;
}

/* Features (length, width) at the times of a uniform clock, linear between frames, into out (count, width). */
void resample(const double *seconds, const float *features, int64_t length, int64_t width, double rate,
              int64_t count, float *out) {
#ifdef __clang__ /* the same digits as numpy */
#pragma clang fp contract(off)
#endif
    int64_t place = 0;
    for (int64_t t = 0; t < count; t++) {
        const double wanted = seconds[0] + (double)t / rate;
        while (place < length - 2 && seconds[place + 1] <= wanted) place++;
        const double way = (wanted - seconds[place]) / (seconds[place + 1] - seconds[place]);
        const float weight = (float)fmin(fmax(way, 0), 1), *lower = features + place * width;
        for (int64_t k = 0; k < width; k++)
            out[t * width + k] = lower[k] + weight * (lower[width + k] - lower[k]);
    }
}

static float dot(const float *a, const float *b, int64_t width) {
    float total = 0;
    for (int64_t k = 0; k < width; k++) total += a[k] * b[k];
    return total;
}

/* vector (width,) times rows of others (count, width), into out (count,). */
EXPORT void dots(const float *vector, const float *others, int64_t count, int64_t width, float *out) {
    for (int64_t i = 0; i < count; i++) out[i] = dot(vector, others + i * width, width);
}

/* Rows: features minus the mean of their scene; means (scenes, width) and counts (scenes,), zero before, are written.
   Gives the mean energy of a frame before centring. */
static double center(const float *features, const Windows *windows, double *means, double *counts, const Stream *out) {
    const int64_t width = out->width;
    double energy = 0;
    for (int64_t t = 0; t < out->length; t++) {
        double *mean = means + windows->scene[t] * width;
        counts[windows->scene[t]]++;
        for (int64_t k = 0; k < width; k++) mean[k] += features[t * width + k];
    }
    for (int64_t s = 0; s < windows->scenes; s++)
        for (int64_t k = 0; k < width; k++) means[s * width + k] /= counts[s];
    for (int64_t t = 0; t < out->length; t++) {
        const float *from = features + t * width;
        const double *mean = means + windows->scene[t] * width;
        energy += dot(from, from, width);
        for (int64_t k = 0; k < width; k++) out->rows[t * width + k] = (float)(from[k] - mean[k]);
    }
    return energy / (double)out->length;
}

/* The mean of each window's rows into the row length + w; the mean squared distance from it into spread. */
static void window_means(const Windows *windows, double *spread, const Stream *out) {
    const int64_t width = out->width;
    for (int64_t w = 0; w < windows->count; w++) {
        float *mean = out->rows + (out->length + w) * width;
        const float share = (float)(1.0 / (double)(windows->stops[w] - windows->starts[w]));
        memset(mean, 0, width * sizeof(float));
        for (int64_t at = windows->starts[w]; at < windows->stops[w]; at++) {
            const float *row = out->rows + windows->order[at] * width;
            for (int64_t k = 0; k < width; k++) mean[k] += share * row[k];
        }
        for (int64_t at = windows->starts[w]; at < windows->stops[w]; at++) {
            const float *row = out->rows + windows->order[at] * width;
            float total = 0;
            for (int64_t k = 0; k < width; k++) total += (row[k] - mean[k]) * (row[k] - mean[k]);
            spread[w] += total * share;
        }
    }
}

/* The time mean of the running sums over length into the row length, the mean of all frames into the next. */
static void context_rows(const double *mean, const Stream *out) {
    const int64_t length = out->length, width = out->width;
    float *sums = out->rows + length * width;
    memset(sums, 0, width * sizeof(float));
    for (int64_t t = 0; t < length; t++) {
        const float share = (float)((double)(length - t) / (double)(length * length));
        for (int64_t k = 0; k < width; k++) sums[k] += share * out->rows[t * width + k];
    }
    for (int64_t k = 0; k < width; k++) sums[width + k] = (float)mean[k];
}

/* Squared norms and neighbor products of state and change, into out (4, length). */
static int64_t energies(const Stream *stream, int64_t context, double *out) {
    const int64_t length = stream->length, width = stream->width, wide = context ? 2 * width : width;
    float *memory = calloc(2 * wide + 3 * width, sizeof(float)), *sums = memory + 2 * wide + 2 * width;
    if (!memory) return -1;
    const float *last = NULL, *mean = stream->rows + length * width;
    for (int64_t t = 0; t < length; t++) {
        float *own = memory + t % 2 * wide, *change = memory + 2 * wide + t % 2 * width;
        const float *row = stream->rows + t * width, *state = own;
        const float *ahead = stream->rows + stream->links[t] * width, *unlike = memory + 2 * wide + (t + 1) % 2 * width;
        const float *behind = stream->rows + stream->links[length + t] * width;
        const int32_t window = stream->links[2 * length + t];
        for (int64_t k = 0; k < width; k++) change[k] = ahead[k] - behind[k];
        if (window >= length) {
            for (int64_t k = 0; k < width; k++) own[k] = row[k] - stream->rows[window * width + k];
        } else if (context) {
            const double whole = (double)length;
            const float ramp = (float)((double)(t + 1) / whole - (whole + 1) / (2 * whole)), share = (float)(1 / whole);
            for (int64_t k = 0; k < width; k++) {
                own[k] = row[k];
                sums[k] += row[k] * share;
                own[width + k] = sums[k] - mean[k] + ramp * mean[width + k];
            }
        } else {
            state = row;
        }
        out[t] = dot(state, state, wide);
        out[2 * length + t] = dot(change, change, width);
        if (t) out[length + t - 1] = dot(state, last, wide);
        if (t) out[3 * length + t - 1] = dot(change, unlike, width);
        last = state;
    }
    free(memory);
    return 0;
}

/* The mean of the values at order[first] to order[stop - 1]; from first to stop - 1 if there is no order. */
static double mean_of(const double *values, const int64_t *order, int64_t first, int64_t stop) {
    double total = 0;
    for (int64_t at = first; at < stop; at++) total += values[order ? order[at] : at];
    return total / (double)(stop - first);
}

/* The scales (length,) of state or change: 1 / rms of each frame's window; local (windows,): their mean squares. Add
   the products (2, length), scaled, to own and lag. Gives whether nothing moves. */
static int64_t weigh(const double *products, int64_t length, const double *local, const int32_t *window,
                     double nothing, double scale_floor, float *scales, double *own, double *lag) {
    const double whole = mean_of(products, NULL, 0, length);
    for (int64_t t = 0; t < length; t++)
        scales[t] = whole > nothing ? (float)(1 / sqrt(fmax(local[window[t]], scale_floor * whole))) : 0;
    for (int64_t t = 0; t < length; t++) {
        own[t] += products[t] * (double)scales[t] * (double)scales[t];
        if (t + 1 < length) lag[t] += products[length + t] * (double)scales[t] * (double)scales[t + 1];
    }
    return !(whole > nothing);
}

/* Scales, and norms and motion on the grid; raw: the energy of a frame before centring; spread (windows,): the mean
   square of the state in each window. */
static int64_t put_scales(const double *products, double raw, double *spread, const Windows *windows,
                          const Settings *settings, const double *weight, const Stream *out) {
    const int64_t length = out->length, points = out->points;
    double *own = calloc(3 * length, sizeof(double)), *lag = own + length, *motion = lag + length, total = 0;
    if (!own) return -1;
    const double *moved = products + 2 * length, nothing = raw * ROUNDING, floor = settings->scale_floor;
    float *change = out->scales + length;
    int64_t still = weigh(products, length, spread, windows->of, nothing, floor, out->scales, own, lag);
    memset(change, 0, length * sizeof(float));
    for (int64_t t = 0; t < length; t++) motion[t] = 1;
    if (settings->with_change) {
        for (int64_t w = 0; w < windows->count; w++)
            spread[w] = mean_of(moved, windows->order, windows->starts[w], windows->stops[w]);
        still = weigh(moved, length, spread, windows->of, nothing, floor, change, own, lag);
        for (int64_t t = 0; t < length && !still; t++)
            total += motion[t] = fmin(moved[t] * (double)change[t] * (double)change[t], settings->motion_cap);
        for (int64_t t = 0; t < length && !still; t++) motion[t] *= (double)length / total;
    }
    for (int64_t a = 0; a < points; a++) {
        const int64_t t = out->lower[a], u = smaller(t + 1, length - 1);
        const double w = weight[a], rest = 1 - w;
        const double norm = rest * rest * own[t] + w * w * own[u] + 2 * w * rest * lag[t];
        out->grid[a] = (float)w;
        out->grid[points + a] = norm > ROUNDING ? (float)(1 / sqrt(norm)) : 0;
        out->grid[2 * points + a] = (float)(rest * motion[t] + w * motion[u]);
    }
    free(own);
    return still;
}

/* Prepare features (length, width); see `prepare_frames` in __init__.py. All but `lower` of out is written. Gives 1 if
   nothing moves, -1 if memory is short. */
EXPORT int64_t prepare_frames(const float *features, const int64_t *shots, int64_t shot_count, const Windows *windows,
                              const Settings *settings, const double *weight, const Stream *out) {
    const int64_t length = out->length, width = out->width, windowed = windows->count > 1;
    double *means = calloc(windows->scenes * (width + 1) + windows->count + 4 * length, sizeof(double));
    if (!means) return -1;
    double *counts = means + windows->scenes * width, *spread = counts + windows->scenes;
    double *products = spread + windows->count;
    const double raw = center(features, windows, means, counts, out);
    if (settings->context)
        context_rows(means, out);
    else if (windowed)
        window_means(windows, spread, out);
    for (int64_t s = 0; s < shot_count; s++) {
        const int64_t first = shots[s], last = (s + 1 < shot_count ? shots[s + 1] : length) - 1;
        for (int64_t t = first; t <= last; t++) {
            out->links[t] = (int32_t)smaller(t + settings->reach, last);
            out->links[length + t] = (int32_t)larger(t - settings->reach, first);
            out->links[2 * length + t] = windowed ? (int32_t)(length + windows->of[t]) : 0;
        }
    }
    int64_t state = energies(out, settings->context, products);
    if (!windowed) spread[0] = mean_of(products, NULL, 0, length);
    if (!state) state = put_scales(products, raw, spread, windows, settings, weight, out);
    free(means);
    return state;
}
