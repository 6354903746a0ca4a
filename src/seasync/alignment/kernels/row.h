/* The recurrence of all paths, row by row. Included twice: for LANES matrices together and for one alone.

   V(i, j) = -C(i, j) + the greatest of
     diagonal  V(i-1, j-1) + r(i) + c(j)
     up        V(i-1, j) + r(i) - s
     left      V(i, j-1) + c(j) - s
     jump      V(i', j') - J + r(i) + c(j), for any i' < i and j' < j
     start     r(i) + c(j)
   with costs C, prices r of rows and c of columns, J of a jump and s of a step that is not diagonal. Of equal ways
   the first is taken. With r = c = s = 0 and no jumps, -V is the total of DTW. The mean cost of random paths runs in
   the same pass. Flags are constants, so that each use is compiled apart. */

typedef struct {
    float *values;       /* (m * WIDTH,), carried from row to row: V of the row above */
    float *means;        /* MEAN: mean cost of random paths */
    float *peaks;        /* FREE: the greatest V in all rows above, up to each column */
    int32_t *places;     /* FREE: where that is, as i * m + j */
    int32_t *since;      /* FILM: the row in which the path to each cell begins */
    const float *shares; /* MEAN (3, stride): how often random paths come diagonally, from above, from the left */
    int64_t stride;
    const float *columns; /* PRICED (m * WIDTH,): c */
    NUMBER price, jump;   /* PRICED: r; FREE: J */
    NUMBER border;        /* V left of the row above: 0 where a path may begin in the first column */
    float step;           /* HELD: s */
    int64_t low, high;    /* HELD: the columns that a path may use; */
    int64_t hold;         /* those beyond this one are only entered from the left */
    int32_t number;       /* FREE: i * m; FILM: i */
    uint8_t *moves;       /* MOVES (m * WIDTH,): how each cell is entered */
    int32_t *sources;     /* FREE (m * WIDTH,): where a jump to each cell would come from */
    NUMBER best;          /* FREE: the greatest V so far, and where it is */
    WHOLE end;
} NAME(Row);

INLINE void NAME(advance)(const int flags, const float *costs, int64_t m, NAME(Row) *row) {
    const NUMBER none = FILL(-INFINITY), price = row->price, jump = row->jump;
    const float *diagonal = row->shares, *upward = diagonal + row->stride, *leftward = upward + row->stride;
    NUMBER corner = row->border, left = none, mean_corner = {0}, mean_left = {0};
    NUMBER peak_corner = none, peak_left = none, best = row->best;
    WHOLE place_corner = {0}, place_left = {0}, end = row->end, since_corner = WHOLES(row->number), since_left = {0};
    for (int64_t j = 0; j < m; j++) {
        const int64_t k = j * WIDTH;
        const NUMBER cost = LOAD(costs + k), above = LOAD(row->values + k);
        NUMBER value = corner, up = above, sideways = left, both = {0};
        WHOLE move = WHOLES(DIAGONAL);
        if (flags & PRICED) {
            const NUMBER column = LOAD(row->columns + k);
            both = price + column;
            value = corner + both;
            up = above + price;
            sideways = left + column;
        }
        if (flags & HELD) {
            up -= row->step;
            sideways -= row->step;
        }
        WHOLE mask = up > value;
        if (flags & FILM) {
            const WHOLE since = LOAD_WHOLE(row->since + k);
            since_corner = CHOOSE(mask, since, since_corner);
            since_left = CHOOSE(sideways > SELECT(mask, up, value), since_left, since_corner);
            STORE(row->since + k, since_left);
            since_corner = since;
        }
        move = CHOOSE(mask, WHOLES(UP), move);
        value = SELECT(mask, up, value);
        mask = sideways > value;
        if (flags & HELD) mask |= -(j > row->hold);
        move = CHOOSE(mask, WHOLES(LEFT), move);
        value = SELECT(mask, sideways, value);
        if (flags & FREE) {
            const NUMBER jumped = peak_corner - jump + both;
            mask = jumped > value;
            move = CHOOSE(mask, WHOLES(JUMP), move);
            value = SELECT(mask, jumped, value);
            mask = both > value;
            move = CHOOSE(mask, WHOLES(START), move);
            value = SELECT(mask, both, value);
            STORE(row->sources + k, place_corner);
        }
        if (flags & MOVES) STORE(row->moves + k, __builtin_convertvector(move, BYTES));
        value -= cost;
        if (flags & HELD) value = j < row->low || j > row->high ? none : value;
        corner = above;
        left = value;
        STORE(row->values + k, value);
        if (flags & FREE) {
            const WHOLE here = WHOLES(row->number + (int32_t)j);
            peak_corner = LOAD(row->peaks + k);
            place_corner = LOAD_WHOLE(row->places + k);
            mask = value > peak_left;
            place_left = CHOOSE(mask, here, place_left);
            peak_left = SELECT(mask, value, peak_left);
            mask = peak_left > peak_corner;
            STORE(row->places + k, CHOOSE(mask, place_left, place_corner));
            STORE(row->peaks + k, SELECT(mask, peak_left, peak_corner));
            mask = value > best;
            end = CHOOSE(mask, here, end);
            best = SELECT(mask, value, best);
        }
        if (flags & MEAN) {
            const NUMBER mean_above = LOAD(row->means + k);
            mean_left = cost + diagonal[j] * mean_corner + upward[j] * mean_above + leftward[j] * mean_left;
            mean_corner = mean_above;
            STORE(row->means + k, mean_left);
        }
    }
    row->best = best;
    row->end = end;
}

/* See `solve_priced` in path.c. */
static int64_t NAME(solve_priced)(const float *cells, int64_t n, int64_t m, const float *rows, const float *columns,
                                  const float *jumps, uint8_t *moves, int32_t *sources, float *best, int32_t *ends) {
    void *owned;
    float *memory = allocate(3 * m * WIDTH, &owned);
    if (!owned) return -1;
    const NUMBER none = FILL(-INFINITY);
    NAME(Row) row = {.values = memory, .peaks = memory + m * WIDTH, .places = (int32_t *)(memory + 2 * m * WIDTH),
                     .columns = columns, .jump = LOAD(jumps), .border = none, .best = none};
    for (int64_t k = 0; k < 2 * m * WIDTH; k++) memory[k] = -INFINITY;
    memset(row.places, 0, m * WIDTH * sizeof(int32_t));
    for (int64_t i = 0; i < n; i++) {
        row.price = LOAD(rows + i * WIDTH);
        row.number = (int32_t)(i * m);
        row.moves = moves + i * m * WIDTH;
        row.sources = sources + i * m * WIDTH;
        NAME(advance)(PRICED | FREE | MOVES, cells + i * m * WIDTH, m, &row);
    }
    STORE(best, row.best);
    STORE(ends, row.end);
    free(owned);
    return 0;
}
#undef NUMBER
#undef WHOLE
#undef BYTES
#undef WIDTH
#undef NAME
