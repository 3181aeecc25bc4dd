/* correct.h says what this is for. The words are sorted by their keys, so that words with a common prefix share the
   columns of the table D(letters, taps) of it; a prefix that costs too much ends all words that begin with it. */

#include "correct.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { MOST_TAPS = 48, LONGEST_SPELT = 256, SPECIALS = 3 };

static int fail(tacit_error *error, int code, const char *message) {
    if (error) snprintf(error->message, sizeof error->message, "%s", message);
    return code;
}

static int no_memory(tacit_error *error) { return fail(error, TACIT_NO_MEMORY, "there is too little memory"); }

struct entry { const uint8_t *keys; uint32_t id; uint16_t size, shared; }; /* `shared`: keys of the entry before */

struct tacit_keys {
    const tacit_model *model;
    struct tacit_forms forms;
    tacit_key *keys; /* by letter */
    size_t count, entries;
    tacit_taps taps;
    uint8_t *pool;
    struct entry *list; /* the words that can be typed, in the order of their letters */
};

tacit_taps tacit_default_taps(void) {
    tacit_taps taps = {0.42, 0.50, 4.6, 0.7, 6.9, 4.6, 17.0, 0.3, 4.0, 1.2, 8.0, 1.0};
    return taps;
}

static int by_key(const void *a, const void *b) {
    uint32_t one = ((const tacit_key *)a)->letter, other = ((const tacit_key *)b)->letter;
    return (one > other) - (one < other);
}

static int by_keys(const void *a, const void *b) {
    const struct entry *one = a, *other = b;
    int order = memcmp(one->keys, other->keys, one->size < other->size ? one->size : other->size);
    if (!order) order = (one->size > other->size) - (one->size < other->size);
    return order ? order : (one->id > other->id) - (one->id < other->id);
}

/* Writes one key that types a letter: of several in one place the first. Returns 0 if there is none. */
static int key_of(const tacit_keys *keys, uint32_t letter, uint8_t *to) {
    tacit_key wanted = {letter, 0, 0};
    const tacit_key *key = bsearch(&wanted, keys->keys, keys->count, sizeof wanted, by_key);
    for (const tacit_key *first = keys->keys; key && first <= key; first++)
        if (first->x == key->x && first->y == key->y) return *to = (uint8_t)(first - keys->keys), 1;
    return 0;
}

/* Writes the keys that type a word, in lower case; returns how many, 0 if a character has no key. A letter without a
   key is typed without its accents, and a hyphen inside a word takes none. `room` has 6 bytes for each of the word,
   and 8 more; `to` has room for LONGEST_SPELT. */
static size_t spell(const tacit_keys *keys, const char *word, size_t size, char *room, uint8_t *to) {
    size_t count = 0;
    tacit_lower(keys->model, word, size, room);
    const uint8_t *at = (uint8_t *)room, *end = at + strlen(room);
    while (at < end) {
        uint32_t parts[4];
        int inside = at > (uint8_t *)room && at[-1] != '-' && at[1] && at[1] != '-';
        int32_t code = tacit_next_code(&at, end);
        if (code < 0 || count > LONGEST_SPELT - 4) return 0;
        if (code == '-' && inside) continue;
        if (code == 0x2019) code = '\'';
        if (key_of(keys, (uint32_t)code, to + count) && ++count) continue;
        size_t n = tacit_take_apart(&keys->forms, (uint32_t)code, parts);
        for (size_t i = 0; i < n; i++)
            if (!tacit_is_accent(parts[i]) && !key_of(keys, parts[i], to + count++)) return 0;
    }
    return count;
}

void tacit_keys_close(tacit_keys *keys) {
    if (keys) free(keys->forms.list), free(keys->keys), free(keys->pool), free(keys->list), free(keys);
}

int tacit_keys_open(const tacit_model *m, const tacit_key *given, size_t count, const tacit_taps *taps,
                    tacit_keys **opened, tacit_error *error) {
    static const char *const rows[] = {"qwertyuiop", "asdfghjkl", "zxcvbnm", "'"};
    static const double left[] = {0.5, 1.0, 2.0, 7.0};
    tacit_keys *keys = calloc(1, sizeof *keys);
    uint8_t spelt[LONGEST_SPELT];
    size_t used = 0;
    tacit_facts facts = tacit_about(m);
    *opened = NULL;
    if (given && (!count || count > 255)) return free(keys), fail(error, TACIT_BAD_CALL, "give 1 to 255 keys");
    char *word = calloc(7, facts.longest + 8), *room = word ? word + facts.longest + 8 : NULL;
    int done = keys && word && tacit_open_forms(&keys->forms);
    done = done && (keys->keys = calloc(given ? count : 27, sizeof *keys->keys));
    if (done) keys->model = m, keys->taps = taps ? *taps : tacit_default_taps(), keys->count = given ? count : 27;
    if (done && given) memcpy(keys->keys, given, count * sizeof *given);
    for (size_t row = 0, i = 0; done && !given && row < 4; row++)
        for (size_t x = 0; rows[row][x]; x++, i++) {
            tacit_key key = {(uint8_t)rows[row][x], left[row] + (double)x, 0.75 + 1.5 * (double)row};
            keys->keys[i] = key;
        }
    if (done) qsort(keys->keys, keys->count, sizeof *keys->keys, by_key);
    for (int filling = 0; done && filling < 2; filling++) { /* counts, then fills */
        for (uint32_t id = SPECIALS; id < facts.vocabulary; id++) {
            size_t length = tacit_word(m, id, word, facts.longest + 1);
            size_t size = tacit_hidden(m, id) ? 0 : spell(keys, word, length, room, spelt);
            if (size && filling) {
                struct entry entry = {keys->pool + used, id, (uint16_t)size, 0};
                memcpy(keys->pool + used, spelt, size);
                keys->list[keys->entries] = entry;
            }
            keys->entries += size > 0, used += size;
        }
        if (filling) break;
        done = (keys->pool = calloc(used + 1, 1)) && (keys->list = calloc(keys->entries + 1, sizeof *keys->list));
        used = 0, keys->entries = done ? 0 : keys->entries;
    }
    free(word);
    if (!done) return tacit_keys_close(keys), no_memory(error);
    qsort(keys->list, keys->entries, sizeof *keys->list, by_keys);
    for (size_t i = 1; i < keys->entries; i++) {
        struct entry *entry = keys->list + i, *last = entry - 1;
        size_t most = entry->size < last->size ? entry->size : last->size;
        while (entry->shared < most && entry->keys[entry->shared] == last->keys[entry->shared]) entry->shared++;
    }
    return *opened = keys, TACIT_OK;
}

/* The costs of taps that words share: of each tap for each key and for none, above the least that any word pays. */
struct tapped {
    size_t count;
    double cost[256][MOST_TAPS], spent[MOST_TAPS + 1], columns[LONGEST_SPELT + 1][MOST_TAPS + 1];
};

static double tap_cost(const tacit_keys *keys, size_t key, const double *point) {
    double x = (fmin(fmax(point[0], -1e4), 1e4) - keys->keys[key].x) / keys->taps.sigma_x;
    double y = (fmin(fmax(point[1], -1e4), 1e4) - keys->keys[key].y) / keys->taps.sigma_y;
    return 0.5 * (x * x + y * y);
}

/* Fills the column of the first `depth` keys of a word; returns whether a word that goes on from there may be near. */
static int next_column(const tacit_keys *keys, struct tapped *t, const uint8_t *spelt, size_t depth) {
    const tacit_taps *taps = &keys->taps;
    const double *above = t->columns[depth - 1], *tap = t->cost[spelt[depth - 1]];
    double *now = t->columns[depth], run = INFINITY, least = INFINITY, before = INFINITY;
    double omit = keys->keys[spelt[depth - 1]].letter == '\'' ? taps->apostrophe : taps->omission;
    for (size_t j = 0; j <= t->count; j++) {
        double cost = above[j] + omit;
        if (j > 0) cost = fmin(cost, above[j - 1] + tap[j - 1]);
        if (j > 1 && depth > 1)
            cost = fmin(cost, t->columns[depth - 2][j - 2] + tap[j - 2] + t->cost[spelt[depth - 2]][j - 1] +
                                  taps->transposition);
        run = fmin(run, cost - t->spent[j]); /* any number of taps that mean nothing */
        now[j] = run + t->spent[j];
        least = fmin(least, now[j]), before = fmin(before, above[j]);
    }
    return fmin(least, before + taps->transposition) <= taps->beam; /* a transposition may still need this column */
}

int tacit_correct(tacit_session *s, const tacit_keys *keys, const char *const *context, size_t words, const char *typed,
                  const double *points, size_t count, size_t k, tacit_candidate *best, tacit_correction *result,
                  tacit_error *error) {
    const tacit_taps *taps = &keys->taps;
    size_t size = strlen(typed), near = 0, spelt_size, reach = 0, n = 0;
    uint8_t spelt[LONGEST_SPELT];
    double over = 0, same = -INFINITY, own[2 * MOST_TAPS];
    tacit_correction none = {1, 0, 0, TACIT_UNKNOWN, 0};
    *result = none;
    if (!k) return fail(error, TACIT_BAD_CALL, "k is 0; ask for at least 1 word");
    struct tapped *t = malloc(sizeof *t);
    char *room = calloc(6, size + 8);
    if (!t || !room) return free(t), free(room), no_memory(error);
    spelt_size = spell(keys, typed, size, room, spelt);
    if (!points) { /* the centres of the keys */
        count = spelt_size;
        for (size_t j = 0; j < count && j < MOST_TAPS; j++)
            own[2 * j] = keys->keys[spelt[j]].x, own[2 * j + 1] = keys->keys[spelt[j]].y;
        points = own;
    }
    uint32_t first = tacit_id(keys->model, typed), id = first;
    if (first == TACIT_UNKNOWN) tacit_lower(keys->model, typed, size, room), id = tacit_id(keys->model, room);
    result->word = id != TACIT_UNKNOWN && !tacit_hidden(keys->model, id) ? id : TACIT_UNKNOWN;
    t->count = count <= MOST_TAPS ? count : 0;
    t->spent[0] = 0;
    for (size_t j = 0; j < t->count; j++) {
        double least = INFINITY;
        if (!isfinite(points[2 * j]) || !isfinite(points[2 * j + 1]))
            return free(t), free(room), fail(error, TACIT_BAD_CALL, "a tap is no point; give finite numbers");
        for (size_t key = 0; key < keys->count; key++) {
            t->cost[key][j] = tap_cost(keys, key, points + 2 * j);
            least = fmin(least, t->cost[key][j]);
        }
        near += least <= taps->clear, over += fmax(least - taps->insertion, 0);
        least = fmin(least, taps->insertion);
        for (size_t key = 0; key < keys->count; key++) t->cost[key][j] -= least;
        t->spent[j + 1] = t->spent[j] + (taps->insertion - least);
    }
    result->clear = near == t->count;
    if (t->count) tacit_read_context(s, context, words);
    memcpy(t->columns[0], t->spent, (t->count + 1) * sizeof *t->spent);
    for (size_t i = 0; t->count && i < keys->entries; i++) { /* `reach`: columns that the word before has filled */
        const struct entry *entry = keys->list + i;
        size_t depth = entry->shared < reach ? entry->shared : reach;
        while (depth < entry->size && next_column(keys, t, entry->keys, depth + 1)) depth++;
        reach = depth;
        if (depth < entry->size) { /* no word that begins with these keys is near */
            while (i + 1 < keys->entries && keys->list[i + 1].shared > depth) i++;
            continue;
        }
        double cost = t->columns[depth][t->count];
        double log_p = cost <= taps->beam ? tacit_log_p_after(s, entry->id) : -INFINITY;
        if (!(log_p > -INFINITY)) continue;
        tacit_candidate new = {-cost + taps->language * log_p, cost, log_p, entry->id};
        if (spelt_size && entry->size == spelt_size && !memcmp(entry->keys, spelt, spelt_size)) {
            if (!result->known || new.score > same) same = new.score, id = entry->id;
            result->known = 1;
        }
        if (n == k && new.score <= best[n - 1].score) continue;
        size_t at = n < k ? n++ : n - 1;
        for (; at && best[at - 1].score < new.score; at--) best[at] = best[at - 1];
        best[at] = new;
    }
    double stays = -(taps->unknown + taps->letter * (double)near + taps->unclear * (double)(t->count - near) + over);
    uint32_t lower_id = (tacit_lower(keys->model, typed, size, room), tacit_id(keys->model, room));
    int blocked = (first != TACIT_UNKNOWN && tacit_hidden(keys->model, first)) ||
                  (lower_id != TACIT_UNKNOWN && tacit_hidden(keys->model, lower_id));
    if (!(result->clear && blocked) && n && (result->known || best[0].score > stays)) {
        result->literal = 0;
        result->word = result->known && result->clear ? id : best[0].id;
    }
    result->found = n;
    free(t), free(room);
    return TACIT_OK;
}
