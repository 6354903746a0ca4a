/* What all kernels share: vectors of LANES numbers, one for each of the matrices that are solved together. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LANES 16
#define SIDE 8 /* of the squares that `transpose` turns */
#ifdef _WIN32
#define EXPORT __declspec(dllexport) __attribute__((noinline))
#else
#define EXPORT __attribute__((visibility("default"), noinline))
#endif
#define INLINE static inline __attribute__((always_inline))

typedef float floats __attribute__((vector_size(4 * LANES)));
typedef int32_t ints __attribute__((vector_size(4 * LANES)));
typedef float square __attribute__((vector_size(4 * SIDE)));

INLINE floats load(const float *from) { floats out; memcpy(&out, from, sizeof out); return out; }
INLINE void store(float *to, floats values) { memcpy(to, &values, sizeof values); }
INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
INLINE int64_t largest(const int64_t *values) {
    int64_t found = 0;
    for (int lane = 0; lane < LANES; lane++) found = larger(found, values[lane]);
    return found;
}
/* Working memory that begins where a line of the cache does; `memory` is what to free. */
INLINE float *allocate(int64_t count, void **memory) {
    *memory = malloc(count * sizeof(float) + 63);
    return (float *)(((uintptr_t)*memory + 63) & ~(uintptr_t)63);
}

/* One stream of a clip, prepared; see `PreparedStream` in prepare.py. */
typedef struct {
    float *rows;    /* (length + extra, width) */
    int32_t *links; /* (3, length): frames ahead and behind, row of the frame's own mean */
    float *scales;  /* (2, length): of state and change */
    int32_t *lower; /* (points,) */
    float *grid;    /* (3, points): weight, 1 / norm, motion */
    int64_t length, extra, width, points;
} Stream;

/* The surroundings of the frames of a clip; see `Windows` in __init__.py. */
typedef struct {
    const int32_t *scene, *of;
    const int64_t *order, *starts, *stops;
    int64_t scenes, count;
} Windows;

typedef struct {
    int64_t reach, context, with_change;
    double motion_cap, scale_floor;
} Settings;

EXPORT void widen(const uint16_t *halves, int64_t count, float *out);
EXPORT void clock_of(const double *seconds, int64_t length, double limit, double *out);
void resample(const double *seconds, const float *features, int64_t length, int64_t width, double rate,
              int64_t count, float *out);
EXPORT int64_t prepare_frames(const float *features, const int64_t *shots, int64_t shot_count, const Windows *windows,
                              const Settings *settings, const double *weight, const Stream *out);
void transpose(const float *const *starts, int64_t offset, float *out);
void interleave(const float *const *starts, const int64_t *widths, int64_t m, float *out);
