/* correct.h says what this is for. The words are sorted by their keys, so that words with a common prefix share the
   columns of the table D(letters, taps) of it; a prefix that costs too much ends all words that begin with it. */

#include "correct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { MOST_TAPS = 48, LONGEST_SPELT = 256, SPECIALS = 3 };

struct entry { const uint8_t *keys; uint32_t id; uint16_t size, shared; }; /* `shared`: keys of the entry before */
struct letter { uint32_t letter; uint8_t key; };

struct tacit_keys {
    const tacit_model *model;
    struct tacit_forms forms;
    tacit_key *keys;        /* one for each place, in the order in which they were given */
    struct letter *letters; /* what types which letter, sorted */
    size_t count, letter_count, entries;
    tacit_taps taps;
    uint8_t *pool;
    struct entry *list; /* the words that can be typed, in the order of their keys */
    uint32_t *triples;  /* of keys in these spellings, [count + 1]³; 0 is the boundary */
    double total;
    struct tacit_hashes dictionary;
};

tacit_taps tacit_default_taps(void) { /* tools/native_taps.py writes the numbers of tacit.keyboard.parameters */
    tacit_taps taps = {
        /* numbers: begin */
        0.56, 0.68, 0.43, 0.83, 4.13, 2.15, 3.96, 6.66, 4.28, 3.46, 4.44, 8.35, 8.88, 8.38, 10.71, 6.36, 6.99, 18.0,
        9.7, 0.48, 8.29, 0.31, 6.19, 0.88,
        /* numbers: end */
    };
    return taps;
}

static int by_letter(const void *a, const void *b) {
    uint32_t one = ((const struct letter *)a)->letter, other = ((const struct letter *)b)->letter;
    return (one > other) - (one < other);
}

static int compare(const uint8_t *one, size_t size, const uint8_t *other, size_t length) {
    int order = memcmp(one, other, size < length ? size : length);
    return order ? order : (size > length) - (size < length);
}

static int by_keys(const void *a, const void *b) {
    const struct entry *one = a, *other = b;
    int order = compare(one->keys, one->size, other->keys, other->size);
    return order ? order : (one->id > other->id) - (one->id < other->id);
}

/* Writes the key that types a letter; returns 0 if there is none. */
static int key_of(const tacit_keys *keys, uint32_t code, uint8_t *to) {
    struct letter wanted = {code, 0};
    const struct letter *found = bsearch(&wanted, keys->letters, keys->letter_count, sizeof wanted, by_letter);
    if (found) *to = found->key;
    return found != NULL;
}

/* Writes the keys that type a word, in lower case; returns how many, 0 if a character has no key. A letter without a
   key is typed without its accents, and a hyphen inside a word takes none. `meant`: whether a letter is not the one of
   its key. `room` has 6 bytes for each of the word, and 8 more; `to` has room for LONGEST_SPELT. */
static size_t spell(const tacit_keys *keys, const char *word, size_t size, char *room, uint8_t *to, int *meant) {
    size_t count = 0;
    tacit_lower(keys->model, word, size, room);
    const uint8_t *at = (uint8_t *)room, *end = at + strlen(room);
    *meant = 0;
    while (at < end) {
        uint32_t parts[4];
        int inside = at > (uint8_t *)room && at[-1] != '-' && at[1] && at[1] != '-';
        int32_t code = tacit_next_code(&at, end);
        if (code < 0 || count > LONGEST_SPELT - 4) return 0;
        if (code == 0x2019) code = '\'';
        if (code == '-' && inside) {
            *meant = 1;
        } else if (key_of(keys, (uint32_t)code, to + count)) {
            *meant |= keys->keys[to[count++]].letter != (uint32_t)code;
        } else {
            size_t n = tacit_take_apart(&keys->forms, (uint32_t)code, parts);
            for (size_t i = 0; i < n; i++)
                if (!tacit_is_accent(parts[i]) && !key_of(keys, parts[i], to + count++)) return 0;
            *meant = 1;
        }
    }
    return count;
}

void tacit_keys_close(tacit_keys *keys) {
    if (!keys) return;
    free(keys->forms.list), free(keys->keys), free(keys->letters), free(keys->pool), free(keys->list);
    free(keys->triples), free(keys->dictionary.list), free(keys);
}

int tacit_keys_dictionary(tacit_keys *keys, const void *data, size_t size, tacit_error *error) {
    struct tacit_hashes hashes;
    int done = tacit_read_hashes(data, size, &hashes);
    if (done < 0) return tacit_no_memory(error);
    if (!done) return tacit_fail(error, TACIT_BAD_FILE, "no dictionary, or a damaged one; copy it again");
    free(keys->dictionary.list);
    keys->dictionary = hashes;
    return TACIT_OK;
}

/* Takes the keys of a layout: a key in the place of an earlier one is another letter of that one. */
static int take_keys(tacit_keys *keys, const tacit_key *given, size_t count) {
    static const char *const rows[] = {"qwertyuiop", "asdfghjkl", "zxcvbnm", "'"};
    static const double left[] = {0.5, 1.0, 2.0, 7.0};
    tacit_key own[27];
    for (size_t row = 0, i = 0; row < 4; row++)
        for (size_t x = 0; rows[row][x]; x++, i++) {
            tacit_key key = {(uint8_t)rows[row][x], left[row] + (double)x, 0.75 + 1.5 * (double)row};
            own[i] = key;
        }
    if (!given) given = own, count = 27;
    if (!(keys->keys = calloc(count, sizeof *keys->keys)) || !(keys->letters = calloc(count, sizeof *keys->letters)))
        return 0;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < keys->count && (keys->keys[k].x != given[i].x || keys->keys[k].y != given[i].y)) k++;
        if (k == keys->count) keys->keys[keys->count++] = given[i];
        struct letter letter = {given[i].letter, (uint8_t)k};
        keys->letters[i] = letter;
    }
    keys->letter_count = count;
    qsort(keys->letters, count, sizeof *keys->letters, by_letter);
    return 1;
}

/* Counts the keys of spellings, each once, as spelling.py does. */
static int count_triples(tacit_keys *keys) {
    size_t k = keys->count + 1;
    if (!(keys->triples = calloc(k * k * k, sizeof *keys->triples))) return 0;
    for (size_t i = 0; i < keys->entries; i++) {
        const struct entry *entry = keys->list + i;
        if (i && entry->shared == entry->size && entry[-1].size == entry->size) continue;
        size_t a = 0, b = 0;
        for (size_t j = 0; j <= entry->size; j++) {
            size_t c = j < entry->size ? entry->keys[j] + (size_t)1 : 0;
            keys->triples[(a * k + b) * k + c]++, keys->total++, a = b, b = c;
        }
    }
    return 1;
}

int tacit_keys_open(const tacit_model *m, const tacit_key *given, size_t count, const tacit_taps *taps,
                    tacit_keys **opened, tacit_error *error) {
    uint8_t spelt[LONGEST_SPELT];
    size_t used = 0;
    int meant;
    tacit_facts facts = tacit_about(m);
    *opened = NULL;
    if (given && (!count || count > 255)) return tacit_fail(error, TACIT_BAD_CALL, "give 1 to 255 keys");
    tacit_keys *keys = calloc(1, sizeof *keys);
    char *word = calloc(7, facts.longest + 8), *room = word ? word + facts.longest + 8 : NULL;
    int done = keys && word && tacit_open_forms(&keys->forms) && take_keys(keys, given, count);
    if (done) keys->model = m, keys->taps = taps ? *taps : tacit_default_taps();
    for (int filling = 0; done && filling < 2; filling++) { /* counts, then fills */
        for (uint32_t id = SPECIALS; id < facts.vocabulary; id++) {
            size_t length = tacit_word(m, id, word, facts.longest + 1);
            size_t size = tacit_hidden(m, id) ? 0 : spell(keys, word, length, room, spelt, &meant);
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
    if (done) qsort(keys->list, keys->entries, sizeof *keys->list, by_keys);
    for (size_t i = 1; done && i < keys->entries; i++) {
        struct entry *entry = keys->list + i, *last = entry - 1;
        size_t most = entry->size < last->size ? entry->size : last->size;
        while (entry->shared < most && entry->keys[entry->shared] == last->keys[entry->shared]) entry->shared++;
    }
    if (!done || !count_triples(keys)) return tacit_keys_close(keys), tacit_no_memory(error);
    return *opened = keys, TACIT_OK;
}

/* Writes the keys of those letters of a text that are keys; returns how many. */
static size_t letters_of(const tacit_keys *keys, const char *text, size_t size, uint8_t *to) {
    const uint8_t *at = (const uint8_t *)text, *end = at + size;
    size_t count = 0;
    while (at < end && count < LONGEST_SPELT) {
        int32_t code = tacit_next_code(&at, end);
        if (code < 0) at++;
        else if (key_of(keys, (uint32_t)code, to + count)) count += keys->keys[to[count]].letter == (uint32_t)code;
    }
    return count;
}

/* The natural log p of a spelling that nobody knows: a trigram model of its keys, as in spelling.py. */
static double log_p_of_keys(const tacit_keys *keys, const uint8_t *spelt, size_t size) {
    static const double smoothing = 3;
    size_t k = keys->count + 1, a = 0, b = 0;
    double sum = 0;
    for (size_t j = 0; j <= size; j++) {
        size_t c = j < size ? spelt[j] + (size_t)1 : 0;
        double single = 0, first = 0, after = 0, pair = 0;
        for (size_t x = 0; x < k; x++) {
            pair += keys->triples[(a * k + b) * k + x], after += keys->triples[(x * k + b) * k + c];
            for (size_t y = 0; y < k; y++)
                single += keys->triples[(x * k + y) * k + c], first += keys->triples[(x * k + b) * k + y];
        }
        double one = (single + 1) / (keys->total + (double)k), two = (after + smoothing * one) / (first + smoothing);
        sum += log((keys->triples[(a * k + b) * k + c] + smoothing * two) / (pair + smoothing));
        a = b, b = c;
    }
    return sum;
}

/* What taps cost that words share: of each tap for the key that was meant, for another one that was written, and for
   none, above the least that any word pays. */
struct tapped {
    size_t count;
    double hand[256][MOST_TAPS], mind[256][MOST_TAPS], spent[MOST_TAPS + 1];
    double columns[LONGEST_SPELT + 1][MOST_TAPS + 1], whole[LONGEST_SPELT + 1];
    double over; /* what taps cost above `insertion` */
};

static int is_vowel(uint32_t letter) { return letter && letter < 128 && strchr("aeiouy", (int)letter); }

static void tap(const tacit_keys *keys, const double *points, struct tapped *t) {
    const tacit_taps *taps = &keys->taps;
    double all = 0, least[MOST_TAPS];
    size_t nearest[MOST_TAPS];
    for (size_t j = 0; j < t->count; j++) {
        nearest[j] = 0;
        for (size_t key = 0; key < keys->count; key++) {
            double x = (fmin(fmax(points[2 * j], -1e4), 1e4) - keys->keys[key].x) / taps->sigma_x;
            double y = (fmin(fmax(points[2 * j + 1], -1e4), 1e4) - keys->keys[key].y) / taps->sigma_y;
            t->hand[key][j] = 0.5 * (x * x + y * y);
            if (t->hand[key][j] < t->hand[nearest[j]][j]) nearest[j] = key;
        }
        all += fmin(t->hand[nearest[j]][j], 4.5); /* a tap says no more than this about the spread of the others */
    }
    double spread = (taps->steady + 2 * all) / (taps->steady + taps->usual * (double)t->count);
    t->spent[0] = 0, t->over = 0;
    for (size_t j = 0; j < t->count; j++) {
        double vowel = INFINITY, alone = taps->insertion;
        const tacit_key *hit = keys->keys + nearest[j];
        least[j] = t->hand[nearest[j]][j] / spread;
        for (size_t key = 0; key < keys->count; key++) {
            t->hand[key][j] /= spread;
            if (hypot(keys->keys[key].x - hit->x, keys->keys[key].y - hit->y) <= 1.6) /* a neighbour */
                t->hand[key][j] = fmin(t->hand[key][j], least[j] + taps->slip);
            if (is_vowel(keys->keys[key].letter)) vowel = fmin(vowel, t->hand[key][j] + taps->vowel);
        }
        if (j && nearest[j] == nearest[j - 1]) alone = fmin(alone, taps->twice);
        double low = fmin(least[j], alone);
        for (size_t key = 0; key < keys->count; key++) {
            double other = fmin(t->hand[key][j], least[j] + taps->wrong);
            if (is_vowel(keys->keys[key].letter)) other = fmin(other, vowel);
            t->hand[key][j] -= low, t->mind[key][j] = other - low;
        }
        t->spent[j + 1] = t->spent[j] + (alone - low), t->over += fmax(least[j] - taps->insertion, 0);
    }
    for (size_t j = 0; j <= t->count; j++) t->columns[0][j] = t->spent[j] + (j ? taps->edge : 0);
}

/* Fills the column of the first `depth` keys of a word; returns whether a word that goes on from there may be near. */
static int next_column(const tacit_keys *keys, struct tapped *t, const uint8_t *spelt, size_t depth) {
    const tacit_taps *taps = &keys->taps;
    uint8_t key = spelt[depth - 1], last = depth > 1 ? spelt[depth - 2] : key;
    const double *one = depth > 2 ? t->hand[spelt[depth - 3]] : NULL, *two = t->hand[last], *three = t->hand[key];
    const double *above = t->columns[depth - 1], *written = depth > 1 ? t->mind[key] : t->hand[key];
    double *now = t->columns[depth], run = INFINITY, least = INFINITY, before = INFINITY,
           earlier = INFINITY;
    double lacking = keys->keys[key].letter == '\'' ? taps->apostrophe : taps->omission;
    if (depth > 1 && key == last) lacking = fmin(lacking, taps->single);
    if (depth == 1) lacking += taps->edge;
    for (size_t j = 0; j <= t->count; j++) {
        double cost = j ? above[j - 1] + written[j - 1] : INFINITY;
        if (j > 1 && depth > 1)
            cost = fmin(cost, t->columns[depth - 2][j - 2] + three[j - 2] + two[j - 1] + taps->transposition);
        if (j > 2 && depth > 2) /* the first of three tapped last, or the last first */
            cost = fmin(cost, t->columns[depth - 3][j - 3] + taps->move +
                                  fmin(two[j - 3] + three[j - 2] + one[j - 1], three[j - 3] + one[j - 2] + two[j - 1]));
        if (j == t->count) t->whole[depth] = cost; /* the last tap is for the last letter */
        cost = fmin(cost, above[j] + lacking);
        run = fmin(run, cost - t->spent[j]); /* any number of taps that mean nothing */
        now[j] = run + t->spent[j];
        least = fmin(least, now[j]), before = fmin(before, above[j]);
        if (depth > 1) earlier = fmin(earlier, t->columns[depth - 2][j]);
    }
    /* letters in the wrong order that begin one or two columns earlier may still need this one */
    return fmin(least, fmin(before + fmin(taps->transposition, taps->move), earlier + taps->move)) <= taps->beam;
}

/* The first place in the list whose word does not sort before these keys. */
static size_t place(const tacit_keys *keys, const uint8_t *spelt, size_t size) {
    size_t low = 0, high = keys->entries;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct entry *entry = keys->list + middle;
        if (compare(entry->keys, entry->size, spelt, size) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Finds the likeliest word with these keys; −infinity if there is none. */
static double likeliest(const tacit_session *s, const tacit_keys *keys, const uint8_t *spelt, size_t size, uint32_t *id) {
    double best = -INFINITY;
    for (size_t i = place(keys, spelt, size); i < keys->entries; i++) {
        const struct entry *entry = keys->list + i;
        if (compare(entry->keys, entry->size, spelt, size)) break;
        double log_p = tacit_log_p_after(s, entry->id);
        if (log_p > best) best = log_p, *id = entry->id;
    }
    return best;
}

static int only_adds_apostrophes(const tacit_keys *keys, const struct entry *entry, const uint8_t *spelt, size_t size) {
    size_t at = 0;
    for (size_t i = 0; i < entry->size; i++)
        if (keys->keys[entry->keys[i]].letter != '\'' && (at == size || entry->keys[i] != spelt[at++])) return 0;
    return at == size;
}

/* Whether a spelling that the model does not know is a word of the dictionary, or a regular form of a known one. */
static int is_listed(const tacit_keys *keys, const char *text, size_t size) {
    uint8_t spelt[LONGEST_SPELT];
    size_t stem = tacit_stem(text, size), letters = 0;
    if (tacit_has_hash(&keys->dictionary, text, size)) return 1;
    if (!stem || tacit_has_hash(&keys->dictionary, text, stem)) return stem > 0;
    for (size_t i = 0; i < stem; i++) letters += ((uint8_t)text[i] & 0xc0) != 0x80;
    if (letters_of(keys, text, stem, spelt) != letters) return 0;
    size_t at = place(keys, spelt, letters);
    return at < keys->entries && !compare(keys->list[at].keys, keys->list[at].size, spelt, letters);
}

int tacit_correct(tacit_session *s, const tacit_keys *keys, const char *const *context, size_t words, const char *typed,
                  const double *points, size_t count, size_t k, tacit_candidate *best, tacit_correction *result,
                  tacit_error *error) {
    const tacit_taps *taps = &keys->taps;
    size_t size = strlen(typed), reach = 0, n = 0;
    uint8_t spelt[LONGEST_SPELT];
    int meant;
    double own[2 * MOST_TAPS], same = -INFINITY, first = -INFINITY, ahead = -INFINITY, second = -INFINITY;
    double ahead_score = -INFINITY;
    uint32_t same_id = TACIT_UNKNOWN, first_id = TACIT_UNKNOWN, ahead_id = TACIT_UNKNOWN, one = 0, other = 0;
    tacit_correction none = {1, 0, 0, TACIT_UNKNOWN, TACIT_UNKNOWN, 0, INFINITY};
    *result = none;
    if (!k) return tacit_fail(error, TACIT_BAD_CALL, "k is 0; ask for at least 1 word");
    struct tapped *t = malloc(sizeof *t);
    char *text = calloc(7, size + 8), *room = text ? text + size + 8 : NULL;
    if (!t || !room) return free(t), free(text), tacit_no_memory(error);
    size = tacit_plain_text(typed, text);
    size_t spelt_size = spell(keys, text, size, room, spelt, &meant);
    if (!points) { /* the centres of the keys */
        count = spelt_size;
        for (size_t j = 0; j < count && j < MOST_TAPS; j++)
            own[2 * j] = keys->keys[spelt[j]].x, own[2 * j + 1] = keys->keys[spelt[j]].y;
        points = own;
    }
    tacit_lower(keys->model, text, size, room);
    uint32_t shown = tacit_id(keys->model, text), lower = tacit_id(keys->model, room);
    uint32_t id = shown != TACIT_UNKNOWN ? shown : lower;
    if (id != TACIT_UNKNOWN && !tacit_hidden(keys->model, id)) result->word = id;
    if (count > MOST_TAPS) return free(t), free(text), TACIT_OK;
    t->count = count;
    for (size_t j = 0; j < 2 * t->count; j++)
        if (!isfinite(points[j]))
            return free(t), free(text), tacit_fail(error, TACIT_BAD_CALL, "a tap is no point; give finite numbers");
    tap(keys, points, t);
    tacit_read_context(s, context, words);
    for (size_t i = 0; t->count && i < keys->entries; i++) { /* `reach`: columns that the word before has filled */
        const struct entry *entry = keys->list + i;
        size_t depth = entry->shared < reach ? entry->shared : reach;
        while (depth < entry->size && next_column(keys, t, entry->keys, depth + 1)) depth++;
        reach = depth;
        if (depth < entry->size) { /* no word that begins with these keys is near */
            while (i + 1 < keys->entries && keys->list[i + 1].shared > depth) i++;
            continue;
        }
        double cost = fmin(t->whole[depth], t->columns[depth][t->count] + taps->edge);
        double log_p = cost <= taps->beam ? tacit_log_p_after(s, entry->id) : -INFINITY;
        if (!(log_p > -INFINITY)) continue;
        tacit_candidate new = {-cost + taps->language * log_p, cost, log_p, entry->id};
        if (new.score > first) first = new.score, first_id = entry->id;
        if (spelt_size && !compare(entry->keys, entry->size, spelt, spelt_size)) {
            if (new.score > same) same = new.score, same_id = entry->id;
        } else {
            double lead = only_adds_apostrophes(keys, entry, spelt, spelt_size) ? 0 : fmin(cost, taps->stays);
            if (new.score - lead > ahead) ahead = new.score - lead, ahead_score = new.score, ahead_id = entry->id;
        }
        if (n == k && new.score <= best[n - 1].score) continue;
        size_t at = n < k ? n++ : n - 1;
        for (; at && best[at - 1].score < new.score; at--) best[at] = best[at - 1];
        best[at] = new;
    }
    double hidden = -INFINITY;
    for (int i = 0; i < 2; i++) {
        uint32_t form = i ? lower : shown;
        if (form != TACIT_UNKNOWN && tacit_hidden(keys->model, form)) hidden = fmax(hidden, tacit_log_p_after(s, form));
    }
    result->known = same > -INFINITY, result->hidden = hidden > -INFINITY, result->found = n;
    uint32_t write = TACIT_UNKNOWN, two = TACIT_UNKNOWN;
    double score = result->known ? same : taps->language * hidden - t->over;
    if (result->known || result->hidden) {
        int better = ahead > fmax(same, taps->language * hidden - t->over);
        write = better ? ahead_id : same_id, score = better ? ahead_score : score;
    } else {
        char *end = room;
        for (size_t i = 0; i < spelt_size; i++) end += tacit_put_code(keys->keys[spelt[i]].letter, end);
        int listed = spelt_size ? is_listed(keys, room, (size_t)(end - room)) : is_listed(keys, text, size);
        size_t some = spelt_size ? spelt_size : letters_of(keys, text, size, spelt);
        double log_p = (listed ? taps->spelt : taps->letter) * log_p_of_keys(keys, spelt, some);
        double stays = log_p - (listed ? taps->listed : taps->unknown) - t->over;
        for (size_t at = 1; at < spelt_size; at++) { /* two words without the space between them */
            double p = likeliest(s, keys, spelt, at, &one);
            if (p > -INFINITY) p += likeliest(s, keys, spelt + at, spelt_size - at, &other);
            if (p > -INFINITY && taps->language * p - taps->space > second)
                second = taps->language * p - taps->space, write = one, two = other;
        }
        if (listed) first = ahead, first_id = ahead_id, second -= fmin(taps->space, taps->stays);
        if (first >= second) write = first_id, two = TACIT_UNKNOWN;
        if (fmax(first, second) <= stays) write = two = TACIT_UNKNOWN;
        score = fmax(fmax(first, second), stays);
    }
    if (!meant) result->score = score;
    if (write != TACIT_UNKNOWN && !meant) result->literal = 0, result->word = write, result->second = two;
    free(t), free(text);
    return TACIT_OK;
}

int tacit_joins(const tacit_keys *keys, const tacit_correction *first, const tacit_correction *second,
                tacit_candidate *one) {
    int words = (first->known || first->hidden) && (second->known || second->hidden);
    one->cost += keys->taps.gap, one->score -= keys->taps.gap + first->score;
    double lead = words ? fmin(one->cost, keys->taps.stays) : 0;
    return first->second == TACIT_UNKNOWN && one->score - lead > second->score;
}
