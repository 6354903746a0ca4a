/* What a library says of itself, and of the processor it runs on. */

#include "kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* The hash of the sources it was compiled from. */
EXPORT const char *sources(void) { return SOURCES; }

/* The highest of the x86-64 levels 2, 3 and 4 that processor and system have; 0 elsewhere. */
EXPORT int64_t processor_level(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d, b7, c7, d7, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 2;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    const unsigned one = bit_AVX | bit_FMA | bit_F16C | bit_MOVBE, two = bit_AVX2 | bit_BMI | bit_BMI2;
    if (!__get_cpuid_count(7, 0, &a, &b7, &c7, &d7) || (c & one) != one || (b7 & two) != two) return 2;
    if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !(c & bit_LZCNT) || (low & 6) != 6) return 2;
    const unsigned wide = bit_AVX512F | bit_AVX512DQ | bit_AVX512CD | bit_AVX512BW | bit_AVX512VL;
    return (b7 & wide) == wide && (low & 0xe6) == 0xe6 ? 4 : 3;
#else
    return 0;
#endif
}
