/* A dictionary of words that a model may not know: hashes of their spellings. The layout is that at the top of
   src/tacit/keyboard/dictionary.py, and so are the plurals and possessives that count as words. */

#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 24 };

static uint32_t number(const uint8_t *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t bit(const uint8_t *bits, uint64_t i) { return bits[i >> 3] >> (i & 7) & 1; }

int tacit_read_hashes(const uint8_t *data, size_t size, struct tacit_hashes *hashes) {
    if (size < HEADER || memcmp(data, "TACITDIC", 8) || number(data + 8) != 1) return 0;
    uint64_t count = number(data + 12), wide = number(data + 20), ones = 0, at = 0, sum = 0;
    if (!number(data + 16) || !wide || wide > 31 || (count * wide + 7) / 8 > size - HEADER) return 0;
    const uint8_t *low = data + HEADER, *rest = low + (count * wide + 7) / 8;
    uint64_t bits = 8 * (uint64_t)(size - (size_t)(rest - data));
    for (uint64_t i = 0; i < bits; i++) ones += bit(rest, i);
    if (ones != count) return 0;
    struct tacit_hashes found = {calloc((size_t)count + 1, sizeof *found.list), number(data + 16), 0};
    if (!found.list) return -1;
    for (uint64_t i = 0; i < count; i++) { /* a gap: how many zeros before a one, and then its low bits */
        uint64_t gap = 0;
        for (; !bit(rest, at++); gap++) continue;
        if (gap > UINT32_MAX >> wide) break; /* no spelling has a hash that large, and none that follows */
        gap <<= wide;
        for (uint64_t k = 0; k < wide; k++) gap |= bit(low, i * wide + k) << k;
        if ((sum += gap) > UINT32_MAX) break;
        found.list[found.count++] = (uint32_t)sum;
    }
    *hashes = found;
    return 1;
}

static int by_number(const void *a, const void *b) {
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    return (one > other) - (one < other);
}

int tacit_has_hash(const struct tacit_hashes *hashes, const char *text, size_t size) {
    uint32_t h = 0x811c9dc5;
    if (!hashes->count) return 0;
    for (size_t i = 0; i < size; i++) h = (h ^ (uint8_t)text[i]) * 0x01000193u;
    h = (h ^ h >> 16) * 0x85ebca6bu, h = (h ^ h >> 13) * 0xc2b2ae35u, h ^= h >> 16;
    h %= hashes->range;
    return bsearch(&h, hashes->list, hashes->count, sizeof h, by_number) != NULL;
}

static int ends(const char *text, size_t size, const char *with) {
    size_t length = strlen(with);
    return size >= length && !memcmp(text + size - length, with, length);
}

size_t tacit_stem(const char *text, size_t size) {
    static const char *const no_plain_s[] = {"s", "x", "z", "ch", "sh", "o"};
    if (!ends(text, size, "s")) return 0;
    int possessive = ends(text, size, "'s");
    size_t stem = size - (possessive ? 2 : 1), letters = 0;
    for (size_t i = 0; i < stem; i++) letters += ((uint8_t)text[i] & 0xc0) != 0x80;
    if (letters < 3) return 0;
    for (int i = 0; i < 6 && !possessive; i++)
        if (ends(text, stem, no_plain_s[i])) return 0;
    return !possessive && text[stem - 1] == 'y' && !strchr("aeiou", text[stem - 2]) ? 0 : stem;
}
