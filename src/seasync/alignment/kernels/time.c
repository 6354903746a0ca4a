/* Sequences of times: the Whittaker smoother. */

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
