/* Sequences of times: the Whittaker smoother, the nearest monotone sequence, the fewest lines. */

#include "kernels.h"

/* w that minimizes sum of weights (w - values)^2 + bending (second difference of w)^2, into out (count,), in
   O(count). The normal equations have five diagonals; they are solved by LDL'. */
EXPORT int64_t whittaker(const double *values, const double *weights, int64_t count, double bending, double *out) {
    double *pivots = calloc(3 * count + 4, sizeof(double)), *near = pivots + count + 2, *far = near + count + 1;
    if (!pivots) return -1;
    for (int64_t k = 0; k < count; k++) {
        pivots[k] += weights[k];
        out[k] = weights[k] * values[k];
        if (k + 2 >= count) continue;
        pivots[k] += bending;
        pivots[k + 1] += 4 * bending;
        pivots[k + 2] += bending;
        near[k] -= 2 * bending;
        near[k + 1] -= 2 * bending;
        far[k] = bending;
    }
    for (int64_t k = 0; k + 1 < count; k++) {
        pivots[k + 1] -= near[k] / pivots[k] * near[k];
        near[k + 1] -= near[k] / pivots[k] * far[k];
        out[k + 1] -= near[k] / pivots[k] * out[k];
        pivots[k + 2] -= far[k] / pivots[k] * far[k];
        if (k + 2 < count) out[k + 2] -= far[k] / pivots[k] * out[k];
    }
    for (int64_t k = count - 1; k >= 0; k--) {
        if (k + 1 < count) out[k] -= near[k] * out[k + 1];
        if (k + 2 < count) out[k] -= far[k] * out[k + 2];
        out[k] /= pivots[k];
    }
    free(pivots);
    return 0;
}

/* The non-decreasing sequence nearest to values in weighted least squares, into out (count,): pool adjacent
   violators. */
EXPORT int64_t monotone(const double *values, const double *weights, int64_t count, double *out) {
    double *means = malloc(2 * count * sizeof(double)), *masses = means + count;
    int64_t *sizes = malloc(count * sizeof(int64_t)), pools = 0, at = 0;
    if (!means || !sizes) return free(means), free(sizes), -1;
    for (int64_t k = 0; k < count; k++) {
        means[pools] = values[k];
        masses[pools] = weights[k];
        sizes[pools++] = 1;
        for (; pools > 1 && means[pools - 2] > means[pools - 1]; pools--) {
            const int64_t a = pools - 2, b = pools - 1;
            const double mass = masses[a] + masses[b];
            means[a] = (means[a] * masses[a] + means[b] * masses[b]) / mass;
            masses[a] = mass;
            sizes[a] += sizes[b];
        }
    }
    for (int64_t pool = 0; pool < pools; pool++)
        for (int64_t k = 0; k < sizes[pool]; k++) out[at++] = means[pool];
    free(means);
    free(sizes);
    return 0;
}

/* A polyline of knots (times, values), which lines must pass within `bound`. */
typedef struct {
    const double *times, *values;
    double bound;
} Polyline;

/* Least and greatest slope of lines from (times[first], value) that pass all knots up to `last`; gives the room
   between them. */
static double slopes(const Polyline *line, int64_t first, int64_t last, double value, double *low, double *high) {
    *low = 0;
    *high = INFINITY;
    for (int64_t k = first + 1; k <= last; k++) {
        const double run = line->times[k] - line->times[first], rise = line->values[k] - value;
        *low = fmax(*low, (rise - line->bound) / run);
        *high = fmin(*high, (rise + line->bound) / run);
    }
    return *high - *low;
}

/* The start value nearest to `wanted` whence one line passes knots first to last; NaN if there is none. The room
   between the two slopes is concave in the start value: first its peak, then the nearest edge. */
static double start_value(const Polyline *line, int64_t first, int64_t last, double wanted) {
    const double lowest = line->values[first] - line->bound, highest = line->values[first] + line->bound;
    double left = lowest, right = highest, low, high;
    for (int round = 0; round < 80; round++) {
        const double third = (right - left) / 3;
        const double a = slopes(line, first, last, left + third, &low, &high);
        if (a < slopes(line, first, last, right - third, &low, &high))
            left += third;
        else
            right -= third;
    }
    double peak = (left + right) / 2, goal = fmin(fmax(wanted, lowest), highest);
    if (slopes(line, first, last, peak, &low, &high) < 0) return NAN;
    if (slopes(line, first, last, goal, &low, &high) >= 0) return goal;
    for (int round = 0; round < 80; round++) {
        const double middle = (peak + goal) / 2;
        if (slopes(line, first, last, middle, &low, &high) >= 0)
            peak = middle;
        else
            goal = middle;
    }
    return peak;
}

/* Break a polyline (count,) at knots into the fewest parts that one line each follows within `bound`; gives how
   many. Whatever a line can follow, it can follow any part of: so reaching as far as possible each time is best,
   and how far can be searched by doubling and halving. A line starts where the last one ended if it can.
   knots (count,) and ends (count, 2), written: the first knot of each line and the last of all, and the values at
   both ends of each line. */
EXPORT int64_t fewest_lines(const double *times, const double *values, int64_t count, double bound, int64_t *knots,
                            double *ends) {
    const Polyline line = {times, values, bound};
    int64_t lines = 0;
    double value = values[0], low, high;
    knots[0] = 0;
    for (int64_t first = 0; first < count - 1; first = knots[lines]) {
        int64_t good = first + 1, bad = count, step = 1;
        while (bad - good > 1) {
            const int64_t probe = bad == count ? smaller(good + step, bad - 1) : (good + bad) / 2;
            if (isnan(start_value(&line, first, probe, value))) {
                bad = probe;
            } else {
                good = probe;
                step *= 2;
            }
        }
        value = start_value(&line, first, good, value);
        slopes(&line, first, good, value, &low, &high);
        const double run = times[good] - times[first], straight = (values[good] - value) / run;
        ends[2 * lines] = value;
        value += fmin(fmax(straight, low), high) * run;
        ends[2 * lines++ + 1] = value;
        knots[lines] = good;
    }
    return lines;
}
