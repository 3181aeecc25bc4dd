/* tacit.h says what this is for. In order: numbers, JSON, the model and its sections, inflate, words, the compact file
   (opening, asking, judging), the network (opening, computing), the calls.

   The layouts are those at the top of src/tacit/ngram/compact/reader.py and src/tacit/lm/network8/reader.py, the
   judgement that of compact/checks.py and above_one.py, the answers those of compact/search.py and network8/forward.py.
   Sums are made in the same order as there, in double for n-grams, so that they are the same to the last bit. */

#include "tacit.h"

#include "internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BOS, EOS, UNK, SPECIALS };
enum { RANK = 512, PICK = 64, BLOCK = 16, FAVOURITES = 4096 };
enum { MOST_SECTIONS = 4096, MOST_NESTED = 200, MOST_CONTEXT = 4096 };
static const double TOLERANCE = 1e-4, MOST_SUM = 1e15, MOST_WORK = 4294967296.0;
static const uint32_t MOST_TEXT = 1u << 26;
static const char *const SPECIAL[] = {"<s>", "</s>", "<unk>"};

int tacit_fail(tacit_error *error, int code, const char *format, ...) {
    if (error) {
        va_list list;
        va_start(list, format);
        vsnprintf(error->message, sizeof error->message, format, list);
        va_end(list);
    }
    return code;
}

int tacit_no_memory(tacit_error *error) { return tacit_fail(error, TACIT_NO_MEMORY, "there is too little memory"); }

/* The file is little-endian and may lie anywhere: numbers are read byte by byte, which compilers turn into one load. */
static uint32_t u16(const uint8_t *at) { return (uint32_t)at[0] | (uint32_t)at[1] << 8; }
static uint32_t u32(const uint8_t *at) { return u16(at) | u16(at + 2) << 16; }
static uint32_t bit(const uint8_t *bits, uint32_t i) { return (uint32_t)(bits[i >> 3] >> (i & 7)) & 1; }
static uint32_t over(uint32_t count, uint32_t by) { return count / by + (count % by > 0); } /* rounded up */

static float f32(const uint8_t *at) {
    uint32_t bits = u32(at);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float f16(const uint8_t *at) { /* finite ones */
    uint32_t bits = u16(at), exponent = bits >> 10 & 31, rest = bits & 1023;
    float value = exponent ? ldexpf((float)(rest | 1024), (int)exponent - 25) : ldexpf((float)rest, -24);
    return bits >> 15 ? -value : value;
}

static uint32_t crc32(const uint8_t *data, size_t size) { /* of all but bytes 20 to 23 */
    uint32_t table[256], crc = 0xffffffff;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int k = 0; k < 8; k++) value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0);
        table[i] = value;
    }
    for (size_t i = 0; i < size; i++)
        if (i < 20 || i > 23) crc = table[(crc ^ data[i]) & 255] ^ crc >> 8;
    return ~crc;
}

static int is_utf8(const uint8_t *at, const uint8_t *end) {
    while (at < end) {
        int32_t code = tacit_next_code(&at, end);
        if (code < 0 || (code >= 0xd800 && code < 0xe000)) return 0;
    }
    return 1;
}

/* ---- JSON: the section "meta" ---------------------------------------------------------------------------------- */

struct json { const uint8_t *at, *end; int whole, nested; }; /* `whole`: numbers must be */
struct value { int type; const uint8_t *at, *end; }; /* type: { [ " i (whole number) f t F n (null), 0 (none) */

static void blanks(struct json *j) {
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r')) j->at++;
}

static int starts(struct json *j, const char *text) {
    size_t size = strlen(text);
    if ((size_t)(j->end - j->at) < size || memcmp(j->at, text, size)) return 0;
    j->at += size;
    return 1;
}

static size_t digits(struct json *j) {
    const uint8_t *first = j->at;
    while (j->at < j->end && *j->at >= '0' && *j->at <= '9') j->at++;
    return (size_t)(j->at - first);
}

static int skip_string(struct json *j) { /* at the quotation mark */
    for (j->at++; j->at < j->end && *j->at != '"'; j->at++) {
        if (*j->at < 32) return 0;
        if (*j->at != '\\') continue;
        if (++j->at >= j->end || !memchr("\"\\/bfnrtu", *j->at, 9)) return 0;
        for (int left = *j->at == 'u' ? 4 : 0; left; left--)
            if (++j->at >= j->end || !memchr("0123456789abcdefABCDEF", *j->at, 22)) return 0;
    }
    return j->at < j->end && j->at++;
}

static struct value skip_value(struct json *j) {
    struct value none = {0, NULL, NULL}, found = none;
    blanks(j);
    if (j->at >= j->end) return none;
    found.type = *j->at;
    found.at = j->at;
    if (*j->at == '{' || *j->at == '[') {
        uint8_t closing = *j->at == '{' ? '}' : ']';
        if (++j->nested > MOST_NESTED) return none;
        j->at++;
        blanks(j);
        for (int first = 1; !(j->at < j->end && *j->at == closing && first); first = 0) {
            blanks(j);
            if (closing == '}') {
                if (j->at >= j->end || *j->at != '"' || !skip_string(j)) return none;
                blanks(j);
                if (!starts(j, ":")) return none;
            }
            if (!skip_value(j).type) return none;
            blanks(j);
            if (j->at < j->end && *j->at == closing) break;
            if (!starts(j, ",")) return none;
        }
        j->at++;
        j->nested--;
    } else if (*j->at == '"') {
        if (!skip_string(j)) return none;
    } else if (starts(j, "true") || starts(j, "null")) {
    } else if (starts(j, "false")) {
        found.type = 'F';
    } else {
        found.type = 'i';
        starts(j, "-");
        if (!starts(j, "0") && !digits(j)) return none;
        struct json ahead = *j;
        if (starts(&ahead, ".") && digits(&ahead)) *j = ahead, found.type = 'f';
        ahead = *j;
        if (starts(&ahead, "e") || starts(&ahead, "E")) {
            if (!starts(&ahead, "-")) starts(&ahead, "+");
            if (digits(&ahead)) *j = ahead, found.type = 'f';
        }
    }
    if (found.type == 'i' && j->at - found.at > 4300) return none; /* Python reads no longer ones either */
    if (found.type == 'f' && j->whole) return none;
    found.end = j->at;
    return found;
}

/* The next item of an object or an array, from `j->at` after its bracket; the whole text has been checked before. */
static int next_item(struct json *j, struct value *key, struct value *item) {
    blanks(j);
    if (starts(j, ",")) blanks(j);
    if (*j->at == '}' || *j->at == ']') return 0;
    if (key) {
        *key = skip_value(j);
        blanks(j);
        j->at++;
    }
    *item = skip_value(j);
    return 1;
}

static int is_text(struct value value, const char *text) { /* whether it is this string, written without escapes */
    size_t size = strlen(text);
    return value.type == '"' && (size_t)(value.end - value.at) == size + 2 && !memcmp(value.at + 1, text, size);
}

static struct value member(struct value object, const char *name) { /* of several the last, as in Python */
    struct value found = {0, NULL, NULL}, key, item;
    if (object.type != '{') return found;
    struct json j = {object.at + 1, object.end, 0, 0};
    while (next_item(&j, &key, &item))
        if (is_text(key, name)) found = item;
    return found;
}

static double number(struct value value) { /* a whole number; what is none is NaN */
    double found = 0, sign = value.type == 'i' && *value.at == '-' ? -1 : 1;
    if (value.type != 'i') return NAN;
    for (const uint8_t *at = value.at + (sign < 0); at < value.end; at++) found = found * 10 + (*at - '0');
    return sign * found;
}

static int is_option(struct value value) { return value.type == 't' || value.type == 'F'; }

static uint32_t size_of(struct value value) { /* a whole number below 2³², or 0 */
    double found = value.type == 'i' ? number(value) : 0;
    return found >= 1 && found < 4294967296.0 ? (uint32_t)found : 0;
}

/* ---- the model, and the sections of its file ------------------------------------------------------------------- */

struct level { /* the n-grams of one order from 2 on, and which of them are histories */
    const uint8_t *labels, *p, *deep, *rank, *backoff, *head, *pick;
    uint32_t count, histories;
    double table[256], backoff_table[256];
};

struct matrix { const int8_t *codes; const uint8_t *rows; uint32_t outputs, inputs; float scale[256]; };

struct layer { /* of a GRU: `a`, `b`, or `a`, `b`, `c` if it is as printed; of an LSTM: input, recurrent, projection */
    struct matrix a, b, c;
    const uint8_t *bias, *bias_b, *gate_gain, *gate_shift, *cell_gain, *cell_shift;
};

struct tacit_model {
    int network, cased, turkish;
    char language[16];
    uint32_t count;  /* of words, the specials too */
    uint8_t *hidden; /* bits: never suggested */
    /* words from id 3 on: front-coded in blocks (a compact file), or lines of text at offsets (a network) */
    const uint8_t *text, *blocks;
    uint32_t text_size, *offsets, longest;
    /* n-grams */
    uint32_t order, common_count, favourite_count;
    const uint8_t *p, *common, *starts, *backoff;
    double table[256], backoff_table[256];
    struct level *levels;
    uint32_t *favourites; /* the likeliest unigrams that may be suggested, best first */
    int32_t *places;      /* their indices among the common words */
    /* network */
    uint8_t *lines;
    int lstm, printed, coupled, normal, residual;
    uint32_t embedding, units, depth, groups, context;
    struct matrix embed, out; /* `out` is `embed` if they are tied */
    const uint8_t *out_bias;
    struct layer *layers;
};

struct file { const uint8_t *data; size_t size, name; uint32_t count; char why[96]; }; /* while it is opened */

static int wrong(struct file *file, const char *format, ...) { /* notes what does not fit; returns 0 */
    va_list list;
    va_start(list, format);
    vsnprintf(file->why, sizeof file->why, format, list);
    va_end(list);
    return 0;
}

/* Finds the section of a name, with n in it; of several the last. `count` items of `width` bytes; NULL: any number. */
static const uint8_t *array(struct file *file, const char *name, uint32_t n, uint32_t width, const uint32_t *count,
                            uint32_t *items) {
    char padded[33] = {0};
    size_t entry = file->name + 8;
    int length = snprintf(padded, sizeof padded, name, n);
    for (uint32_t i = (size_t)length <= file->name ? file->count : 0; i-- > 0;) {
        const uint8_t *at = file->data + 24 + i * entry;
        if (memcmp(at, padded, file->name)) continue;
        uint32_t offset = u32(at + file->name), size = u32(at + file->name + 4);
        if (file->name == 8 && offset % 8) return wrong(file, "'%s' does not begin at a multiple of 8", padded), NULL;
        if (offset > file->size || size > file->size - offset || size % width || (count && size / width != *count))
            return wrong(file, "'%s' has %u bytes from %u on", padded, size, offset), NULL;
        if (items) *items = size / width;
        return file->data + offset;
    }
    return wrong(file, "'%s' is missing", padded), NULL;
}

static int read_table(const uint8_t *at, double *table) {
    for (int i = 0; at && i < 256; i++) table[i] = (double)f32(at + 4 * i);
    return at != NULL;
}

/* The section "meta" as a JSON object. */
static int read_meta(struct file *file, int network, struct value *facts) {
    uint32_t size;
    const uint8_t *at = array(file, "meta", 0, 1, NULL, &size);
    if (!at) return 0;
    if (!is_utf8(at, at + size)) return wrong(file, "'meta' is no UTF-8");
    struct json j = {at, at + size, network, 0};
    *facts = skip_value(&j);
    blanks(&j);
    return (facts->type == '{' && j.at == j.end) || wrong(file, "'meta' is no JSON object");
}

/* Keeps the language that the facts name; without one it is English. */
static void read_language(tacit_model *m, struct value locale) {
    const char *code = locale.type == '"' ? (const char *)locale.at + 1 : "en";
    size_t size = locale.type == '"' ? (size_t)(locale.end - locale.at) - 2 : 2, most = sizeof m->language - 1;
    memcpy(m->language, code, size < most ? size : most);
    m->turkish = (code[0] | 32) == 't' && (code[1] | 32) == 'r' && (size == 2 || code[2] == '_' || code[2] == '-');
}

void tacit_lower(const tacit_model *m, const char *text, size_t size, char *to) {
    tacit_lower_text(text, size, m->turkish, to);
}

/* ---- inflate (RFC 1950 and 1951): the words of a network ------------------------------------------------------- */

struct inflate { const uint8_t *in, *end; uint8_t *out; uint32_t size, most, bits; int count, bad; };
struct code { uint16_t count[16], symbol[288]; };

static uint32_t take(struct inflate *s, int wanted) {
    for (; s->count < wanted; s->count += 8) {
        if (s->in >= s->end) return s->bad = 1, 0u;
        s->bits |= (uint32_t)*s->in++ << s->count;
    }
    uint32_t value = s->bits & ((1u << wanted) - 1);
    s->bits >>= wanted, s->count -= wanted;
    return value;
}

static int symbol(struct inflate *s, const struct code *code) {
    int32_t value = 0, first = 0, index = 0;
    for (int length = 1; length < 16 && !s->bad; length++) {
        int32_t count = code->count[length];
        value |= (int32_t)take(s, 1);
        if (value - first < count) return code->symbol[index + value - first];
        index += count, first = (first + count) << 1, value <<= 1;
    }
    return s->bad = 1, 0;
}

/* Makes the code of these lengths; returns how many codes of its longest length are left over, < 0 if too many. */
static int make_code(struct code *code, const uint8_t *lengths, int count) {
    uint16_t place[16];
    memset(code->count, 0, sizeof code->count);
    for (int i = 0; i < count; i++) code->count[lengths[i]]++;
    int left = 1;
    for (int i = 1; i < 16; i++)
        if ((left = 2 * left - code->count[i]) < 0) return left;
    place[1] = 0;
    for (int i = 1; i < 15; i++) place[i + 1] = (uint16_t)(place[i] + code->count[i]);
    for (int i = 0; i < count; i++)
        if (lengths[i]) code->symbol[place[lengths[i]]++] = (uint16_t)i;
    if (code->count[0] == count) return 0;                               /* none: an error if it is used */
    code->count[0] = (uint16_t)(count - code->count[0]);                 /* codes in use */
    return left && !(code->count[0] == 1 && code->count[1] == 1) ? left : 0; /* one code of one bit is allowed */
}

static int make_codes(struct inflate *s, struct code *words, struct code *distances) {
    static const uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[320] = {0};
    int literals = (int)take(s, 5) + 257, far = (int)take(s, 5) + 1, some = (int)take(s, 4) + 4;
    if (literals > 286 || far > 30) return 0;
    for (int i = 0; i < some; i++) lengths[order[i]] = (uint8_t)take(s, 3);
    if (make_code(words, lengths, 19) || words->count[0] < 2) return 0; /* must be complete */
    memset(lengths, 0, sizeof lengths);
    for (int i = 0; i < literals + far && !s->bad;) {
        int kind = symbol(s, words), times, value = 0;
        if (kind < 16) {
            lengths[i++] = (uint8_t)kind;
            continue;
        }
        if (kind == 16 && i == 0) return 0;
        if (kind == 16) value = lengths[i - 1];
        times = kind == 16 ? 3 + (int)take(s, 2) : kind == 17 ? 3 + (int)take(s, 3) : 11 + (int)take(s, 7);
        if (i + times > literals + far) return 0;
        while (times--) lengths[i++] = (uint8_t)value;
    }
    if (s->bad || !lengths[256]) return 0;
    return !make_code(words, lengths, literals) && !make_code(distances, lengths + literals, far);
}

/* Unpacks into `out`, or only counts if it is NULL: nothing is allocated before its size is known. Returns whether the
   text is whole and of at most `most` bytes. */
static int inflate(const uint8_t *in, uint32_t size, uint8_t *out, uint32_t *unpacked, uint32_t most) {
    static const uint16_t base[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                    31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint16_t way[] = {1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
                                   193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385,
                                   24577};
    struct inflate s = {in + 2, in + size, out, 0, most, 0, 0, 0};
    struct code words, distances;
    if (size < 2 || (in[0] & 15) != 8 || in[0] >> 4 > 7 || (in[0] << 8 | in[1]) % 31 || in[1] & 32) return 0;
    for (uint32_t last = 0; !last && !s.bad;) {
        last = take(&s, 1);
        uint32_t kind = take(&s, 2);
        if (kind == 0) {
            s.bits = 0, s.count = 0;
            if (s.end - s.in < 4) return 0;
            uint32_t length = u16(s.in);
            if (length != (u16(s.in + 2) ^ 65535) || (size_t)(s.end - s.in) < 4 + length || length > most - s.size)
                return 0;
            if (out) memcpy(out + s.size, s.in + 4, length);
            s.in += 4 + length, s.size += length;
            continue;
        }
        if (kind == 1) {
            uint8_t lengths[288];
            for (int i = 0; i < 288; i++) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
            make_code(&words, lengths, 288);
            memset(lengths, 5, 30);
            make_code(&distances, lengths, 30);
        } else if (kind == 3 || !make_codes(&s, &words, &distances)) {
            return 0;
        }
        for (int next; !s.bad && (next = symbol(&s, &words)) != 256 && !s.bad;) {
            if (next < 256) {
                if (s.size == most) return 0;
                if (out) out[s.size] = (uint8_t)next;
                s.size++;
                continue;
            }
            next -= 257;
            if (next > 28) return 0;
            uint32_t length = base[next] + take(&s, next < 8 || next == 28 ? 0 : (next - 4) / 4);
            int far = symbol(&s, &distances);
            if (far > 29) return 0;
            uint32_t back = way[far] + take(&s, far < 4 ? 0 : (far - 2) / 2);
            if (s.bad || back > s.size || length > most - s.size) return 0;
            for (; length; length--, s.size++)
                if (out) out[s.size] = out[s.size - back];
        }
    }
    if (s.bad || s.end - s.in != 4) return 0;
    uint32_t a = 1, b = 0;
    for (uint32_t i = 0; out && i < s.size; i++) a = (a + out[i]) % 65521, b = (b + a) % 65521;
    *unpacked = s.size;
    return !out || (s.in[0] == b >> 8 && s.in[1] == (b & 255) && s.in[2] == a >> 8 && s.in[3] == (a & 255));
}

/* ---- words ----------------------------------------------------------------------------------------------------- */

struct cursor { const tacit_model *model; uint32_t next, in_block, length; const uint8_t *at, *end; };

static int varint(const uint8_t **at, const uint8_t *end, uint32_t *value) {
    *value = 0;
    for (int shift = 0; shift < 28 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;
        *value |= (uint32_t)(byte & 127) << shift;
        if (byte < 128) return 1;
    }
    return 0;
}

/* The next word of a block of a compact file: how many bytes it shares with the one before, and the others. */
static int next_coded(struct cursor *c, uint32_t *shared, const uint8_t **rest, uint32_t *size) {
    *shared = 0;
    if (c->in_block++ && !varint(&c->at, c->end, shared)) return 0;
    if (!varint(&c->at, c->end, size) || *shared > c->length || *size > (size_t)(c->end - c->at)) return 0;
    *rest = c->at;
    c->at += *size, c->length = *shared + *size;
    return 1;
}

static struct cursor at_block(const tacit_model *m, uint32_t block) {
    const uint8_t *starts = m->blocks + 4 * (size_t)block;
    struct cursor c = {m, block * BLOCK, 0, 0, m->text + u32(starts), m->text + u32(starts + 4)};
    return c;
}

static const uint8_t *line(const tacit_model *m, uint32_t number, uint32_t *length) { /* a word of a network */
    *length = m->offsets[number + 1] - m->offsets[number] - 1;
    return m->text + m->offsets[number];
}

/* Writes the next word, of at most m->longest bytes, and its length; returns 0 after the last. */
static int next_word(struct cursor *c, char *word, size_t *length) {
    const tacit_model *m = c->model;
    uint32_t number = c->next++, shared = 0, size;
    const uint8_t *rest;
    if (number >= m->count - SPECIALS) return 0;
    if (m->network) {
        rest = line(m, number, &size);
        memcpy(word, rest, *length = size);
        return 1;
    }
    if (number % BLOCK == 0) *c = at_block(m, number / BLOCK), c->next = number + 1;
    if (!next_coded(c, &shared, &rest, &size)) return 0;
    memcpy(word + shared, rest, size);
    *length = c->length;
    return 1;
}

/* Returns how many words sort before a key, and whether the next one is the key itself. */
static uint32_t before(const tacit_model *m, const uint8_t *key, size_t size, int *is_key) {
    uint32_t low = 0, high = m->network ? m->count - SPECIALS : over(m->count - SPECIALS, BLOCK);
    *is_key = 0;
    while (low < high) { /* the first word, or block, that begins after the key; equal ones begin before it */
        uint32_t middle = low + (high - low) / 2, length;
        const uint8_t *word;
        if (m->network) {
            word = line(m, middle, &length);
        } else {
            struct cursor c = at_block(m, middle);
            uint32_t shared;
            if (!next_coded(&c, &shared, &word, &length)) return 0;
        }
        int order = memcmp(word, key, length < size ? length : size);
        if (order < 0 || (!order && length <= size)) low = middle + 1;
        else high = middle;
        if (m->network && !order && length == size) return *is_key = 1, middle;
    }
    if (m->network || !low) return low;
    struct cursor c = at_block(m, low - 1);
    uint32_t same = 0, found = (low - 1) * BLOCK, shared, length; /* `same`: bytes in which word and key agree */
    const uint8_t *rest;
    while (c.at < c.end && next_coded(&c, &shared, &rest, &length)) {
        if (shared <= same) { /* otherwise it is before the key, as the word before it */
            uint32_t i = 0;
            same = shared; /* a crafted file may share less than it could */
            while (i < length && same < size && rest[i] == key[same]) i++, same++;
            if (i == length && same == size) return *is_key = 1, found;
            if (same == size || (i < length && rest[i] > key[same])) return found;
        }
        found++;
    }
    return found;
}

static uint32_t id_of(const tacit_model *m, const char *word, size_t size) {
    int is_key;
    uint32_t number = before(m, (const uint8_t *)word, size, &is_key);
    return is_key ? number + SPECIALS : UNK;
}

uint32_t tacit_id(const tacit_model *model, const char *word) { return id_of(model, word, strlen(word)); }

size_t tacit_word(const tacit_model *m, uint32_t id, char *text, size_t size) {
    const uint8_t *part = (const uint8_t *)(id < SPECIALS ? SPECIAL[id] : "");
    uint32_t length = (uint32_t)strlen((const char *)part), shared = 0;
    struct cursor c = {m, 0, 0, 0, NULL, NULL};
    int inside = id >= SPECIALS && id < m->count, coded = inside && !m->network;
    if (inside && m->network) part = line(m, id - SPECIALS, &length);
    if (coded) c = at_block(m, (id - SPECIALS) / BLOCK);
    for (uint32_t left = coded ? (id - SPECIALS) % BLOCK + 1 : 1; left; left--) {
        if (coded) next_coded(&c, &shared, &part, &length);
        size_t most = size && shared < size - 1 ? size - 1 - shared : 0;
        if (most) memcpy(text + shared, part, length < most ? length : most);
    }
    length += shared;
    if (size) text[length < size - 1 ? length : size - 1] = 0;
    return length;
}

/* The id of a word of a context; `room` is 3 bytes for each of it, and one more. */
static uint32_t context_id(const tacit_model *m, const char *word, char *room) {
    size_t size = strlen(word);
    uint32_t id = id_of(m, word, size);
    if (id != UNK || size > m->longest * (size_t)3) return id; /* lower case makes no word that much shorter */
    tacit_lower(m, word, size, room);
    return tacit_id(m, room);
}

/* Reads all words once: whether they are UTF-8 and in order, each once. */
static int check_order(struct file *file, const tacit_model *m) {
    char *word = calloc(2, (size_t)m->longest + 1), *last = word ? word + m->longest + 1 : NULL;
    struct cursor c = {m, 0, 0, 0, NULL, NULL};
    int fits = word ? 1 : -1;
    for (size_t length, size = 0; fits > 0 && next_word(&c, word, &length); size = length) {
        int order = memcmp(last, word, size < length ? size : length);
        fits = c.next == 1 || order < 0 || (!order && size < length);
        if (!fits) wrong(file, "its words are not in order");
        else if (!is_utf8((uint8_t *)word, (uint8_t *)word + length)) fits = wrong(file, "a word is no UTF-8");
        memcpy(last, word, length);
    }
    free(word);
    return fits;
}

/* Walks over the blocks: whether they hold whole words, and as many as there should be. */
static int check_words(struct file *file, tacit_model *m, uint32_t block_count) {
    uint32_t count = m->count - SPECIALS, last = 0, shared, size;
    const uint8_t *rest;
    for (uint32_t i = 0; i < block_count; i++) {
        uint32_t start = u32(m->blocks + 4 * (size_t)i);
        if (start < last || start > m->text_size) return wrong(file, "'blocks' is not in order");
        last = start;
    }
    if (!block_count || last != m->text_size) return wrong(file, "'blocks' does not cover the words");
    if (block_count - 1 != over(count, BLOCK)) return wrong(file, "the number of words does not match 'meta'");
    for (uint32_t b = 0; b + 1 < block_count; b++) {
        struct cursor c = at_block(m, b);
        uint32_t words = 0;
        for (; c.at < c.end; words++) {
            if (!next_coded(&c, &shared, &rest, &size)) return wrong(file, "a word is cut short");
            if (c.length > m->longest) m->longest = c.length;
        }
        if (words != (count - b * BLOCK < BLOCK ? count - b * BLOCK : BLOCK))
            return wrong(file, "the number of words does not match 'meta'");
    }
    return check_order(file, m);
}

/* ---- the compact file: opening --------------------------------------------------------------------------------- */

static uint32_t at_least(const uint8_t *sorted, uint32_t first, uint32_t last, uint32_t value, int wide) {
    while (first < last) { /* the first place whose number is not less */
        uint32_t middle = first + (last - first) / 2;
        if ((wide ? u32(sorted + 4 * (size_t)middle) : u16(sorted + 2 * (size_t)middle)) < value) first = middle + 1;
        else last = middle;
    }
    return first;
}

static uint32_t common_id(const tacit_model *m, uint32_t place) { return u32(m->common + 4 * (size_t)place); }
static uint32_t label(const struct level *level, uint32_t row) { return u16(level->labels + 2 * (size_t)row); }
static uint32_t start(const tacit_model *m, uint32_t place) { return u32(m->starts + 4 * (size_t)place); }

static int32_t place_of(const tacit_model *m, uint32_t id) { /* among the common words; −1 if it is none */
    uint32_t at = at_least(m->common, 0, m->common_count, id, 1);
    return at < m->common_count && common_id(m, at) == id ? (int32_t)at : -1;
}

/* Finds the row of a word among rows first … last − 1 of an order; −1 if it is not there. */
static int64_t row_of(const struct level *level, uint32_t first, uint32_t last, int32_t place) {
    if (place < 0 || first == last) return -1;
    uint32_t row = at_least(level->labels, first, last, (uint32_t)place, 0);
    return row < last && label(level, row) == (uint32_t)place ? (int64_t)row : -1;
}

static uint32_t next_bit(const uint8_t *bits, uint32_t at, uint32_t end) { /* the next that is set, or `end` */
    while (at < end && !bit(bits, at)) at += at % 8 == 0 && !bits[at >> 3] ? 8 : 1;
    return at < end ? at : end;
}

static int view_level(struct file *file, tacit_model *m, uint32_t n, const uint32_t *counts) {
    struct level *level = m->levels + n - 2;
    uint32_t count = counts[n - 2], bytes = over(count, 8), blocks = over(count, RANK), all = 256, picks;
    level->count = count;
    if (!(level->labels = array(file, "label%u", n, 2, &count, NULL)) ||
        !(level->p = array(file, "p%u", n, 1, &count, NULL)) ||
        !read_table(array(file, "tp%u", n, 4, &all, NULL), level->table))
        return 0;
    if (n == m->order) return 1;
    uint32_t after = over(counts[n - 1], 8);
    if (!(level->deep = array(file, "deep%u", n, 1, &bytes, NULL)) ||
        !(level->rank = array(file, "rank%u", n, 4, &blocks, NULL)) ||
        !(level->backoff = array(file, "b%u", n, 1, NULL, &level->histories)) ||
        !read_table(array(file, "tb%u", n, 4, &all, NULL), level->backoff_table) ||
        !(level->head = array(file, "head%u", n + 1, 1, &after, NULL)) ||
        !(level->pick = array(file, "pick%u", n + 1, 4, NULL, &picks)))
        return 0;
    return picks == over(level->histories, PICK) + 1 || wrong(file, "'pick%u' has %u items", n + 1, picks);
}

/* Labels rise within each history; `deep`, `rank`, `head` and `pick` tell the same. */
static int check_level(struct file *file, const tacit_model *m, uint32_t n) {
    const struct level *level = m->levels + n - 2, *before = n > 2 ? level - 1 : NULL;
    for (uint32_t row = 0, place = 0; row < level->count; row++) {
        if (label(level, row) >= m->common_count) return wrong(file, "'label%u' refers to words outside 'common'", n);
        while (!before && place < m->common_count && start(m, place) < row) place++;
        int first = before ? (int)bit(before->head, row) : place < m->common_count && start(m, place) == row;
        if (row && !first && label(level, row - 1) >= label(level, row))
            return wrong(file, "'label%u' is not in order", n);
    }
    if (n == m->order) return 1;
    uint32_t histories = 0, heads = 0, after = m->levels[n - 1].count;
    for (uint32_t row = 0; row < level->count; row++) {
        if (row % RANK == 0 && u32(level->rank + row / RANK * 4) != histories)
            return wrong(file, "'rank%u' does not match 'deep%u'", n, n);
        histories += bit(level->deep, row);
    }
    for (uint32_t row = next_bit(level->head, 0, after); row < after; row = next_bit(level->head, row + 1, after)) {
        if (heads % PICK == 0 && (heads >= level->histories || u32(level->pick + heads / PICK * 4) != row))
            return wrong(file, "'pick%u' does not match 'head%u'", n + 1, n + 1);
        if (!heads++ && row) return wrong(file, "'head%u' does not begin with a history", n + 1);
    }
    if (histories != level->histories || heads != histories) return wrong(file, "'b%u' has %u histories", n, histories);
    if (u32(level->pick + (size_t)over(histories, PICK) * 4) != after)
        return wrong(file, "'pick%u' does not cover the n-grams", n + 1);
    return 1;
}

static int check_tables(struct file *file, const tacit_model *m) {
    for (uint32_t n = 1; n <= m->order; n++) {
        const double *p = n > 1 ? m->levels[n - 2].table : m->table;
        const double *b = n > 1 ? m->levels[n - 2].backoff_table : m->backoff_table;
        for (int i = 0; i < 256; i++) {
            if (!(p[i] <= TOLERANCE)) return wrong(file, "'tp%u' has NaN or a probability above one", n);
            if ((n == 1 || n < m->order) && !(b[i] < INFINITY)) return wrong(file, "'tb%u' has NaN or infinity", n);
        }
    }
    return 1;
}

/* ---- the compact file: asking ---------------------------------------------------------------------------------- */

int tacit_hidden(const tacit_model *m, uint32_t id) { return id >= m->count || bit(m->hidden, id); }

/* Collects the unigrams that suggestions without a history come from: the likeliest, ties by lower id. */
static void collect_favourites(tacit_model *m) {
    uint32_t first[256] = {0}, rank[256] = {0}, all = 0;
    for (int c = 0; c < 256; c++)
        for (int other = 1; other < 256; other++) rank[c] += m->table[other] > m->table[c];
    for (uint32_t i = 0; i < m->count; i++) first[rank[m->p[i]]] += m->p[i] && !tacit_hidden(m, i);
    for (int r = 0; r < 256; r++) all += first[r], first[r] = all - first[r];
    m->favourite_count = all < FAVOURITES ? all : FAVOURITES;
    for (uint32_t i = 0; i < m->count; i++) {
        uint32_t at = m->p[i] && !tacit_hidden(m, i) ? first[rank[m->p[i]]]++ : FAVOURITES;
        if (at < FAVOURITES) m->favourites[at] = i, m->places[at] = place_of(m, i);
    }
}

struct node { const struct level *level; uint32_t first, last; double backoff; };

/* The rows that follow a history: of the j-th history of one order, the n-grams of the next. */
static void follow(struct node *node, uint32_t row) {
    const struct level *level = node->level;
    uint32_t from = row / RANK * RANK, history = u32(level->rank + row / RANK * 4), end = level[1].count;
    for (; from + 8 <= row; from += 8) {
        uint32_t bits = level->deep[from >> 3];
        bits -= bits >> 1 & 0x55, bits = (bits & 0x33) + (bits >> 2 & 0x33), history += (bits + (bits >> 4)) & 15;
    }
    for (; from < row; from++) history += bit(level->deep, from);
    uint32_t first = u32(level->pick + history / PICK * 4);
    for (uint32_t left = history % PICK; left; left--) first = next_bit(level->head, first + 1, end);
    node->first = first, node->last = next_bit(level->head, first + 1, end), node->level = level + 1;
    node->backoff = level->backoff_table[level->backoff[history]];
}

/* The history of these common words, the last word first; 0 if the file does not have it. */
static int find_history(const tacit_model *m, const int32_t *places, uint32_t count, struct node *node) {
    int32_t place = places[count - 1];
    if (place < 0 || start(m, (uint32_t)place) == start(m, (uint32_t)place + 1)) return 0;
    node->level = m->levels, node->backoff = m->backoff_table[m->backoff[place]];
    node->first = start(m, (uint32_t)place), node->last = start(m, (uint32_t)place + 1);
    for (uint32_t i = count - 1; i-- > 0;) {
        int64_t row = row_of(node->level, node->first, node->last, places[i]);
        if (row < 0 || node->level == m->levels + m->order - 2 || !bit(node->level->deep, (uint32_t)row)) return 0;
        follow(node, (uint32_t)row);
    }
    return 1;
}

/* The best so far, in order, in the caller's array of k. A keyboard's k is small, so each moves up step by step. */
struct best { tacit_suggestion *list; size_t room, count; };

static int is_late(const struct best *best, double log_p) { /* whether no word with this log p is among the best */
    return best->count == best->room && log_p < best->list[best->room - 1].log_p;
}

static void offer(struct best *best, double log_p, uint32_t id) {
    tacit_suggestion new = {log_p, id}, *list = best->list;
    size_t at = best->count < best->room ? best->count++ : best->room;
    for (; at && (list[at - 1].log_p < log_p || (list[at - 1].log_p == log_p && list[at - 1].id > id)); at--)
        if (at < best->room) list[at] = list[at - 1];
    if (at < best->room) list[at] = new;
}

/* Offers the words with ids first … last − 1 after a history: nodes from the longest on. Labels are nested, so a word
   is counted at the longest history that has it: `taken` are the rows of the one before. */
static void best_ngrams(const tacit_model *m, const struct node *nodes, uint32_t count, uint32_t first, uint32_t last,
                        struct best *best) {
    int everything = first <= SPECIALS && last == m->count;
    uint32_t low = at_least(m->common, 0, m->common_count, first, 1), begin = 0, end = 0;
    uint32_t high = at_least(m->common, 0, m->common_count, last, 1), seen = 0;
    const struct level *taken = NULL;
    double spent = 0;
    for (uint32_t n = 0; n < count; n++) {
        const struct level *level = nodes[n].level;
        uint32_t row = nodes[n].first, stop = nodes[n].last, old = begin, old_end = end;
        if (!everything)
            row = at_least(level->labels, row, stop, low, 0), stop = at_least(level->labels, row, stop, high, 0);
        begin = row, end = stop;
        for (; row < stop; row++) {
            uint8_t code = level->p[row];
            double log_p = spent + level->table[code];
            if (!code || is_late(best, log_p)) continue;
            uint32_t place = label(level, row), id = common_id(m, place);
            while (taken && old < old_end && label(taken, old) < place) old++;
            if ((taken && old < old_end && label(taken, old) == place) || tacit_hidden(m, id)) continue;
            offer(best, log_p, id);
        }
        taken = level, spent += nodes[n].backoff;
    }
    for (uint32_t i = 0; everything && i < m->favourite_count && seen < best->room; i++)
        seen += row_of(taken, begin, end, m->places[i]) < 0;
    if (everything && (seen >= best->room || m->favourite_count < FAVOURITES)) {
        for (uint32_t i = 0; seen; i++) {
            if (row_of(taken, begin, end, m->places[i]) >= 0) continue;
            offer(best, spent + m->table[m->p[m->favourites[i]]], m->favourites[i]);
            seen--;
        }
        return;
    }
    for (uint32_t id = first; id < last; id++) {
        double log_p = spent + m->table[m->p[id]];
        if (!m->p[id] || tacit_hidden(m, id) || is_late(best, log_p)) continue;
        if (row_of(taken, begin, end, place_of(m, id)) < 0) offer(best, log_p, id);
    }
}

static double ngram_log_p(const tacit_model *m, const struct node *nodes, uint32_t count, uint32_t id) {
    int32_t place = place_of(m, id);
    double spent = 0;
    for (uint32_t n = 0; n < count; n++) {
        int64_t row = row_of(nodes[n].level, nodes[n].first, nodes[n].last, place);
        if (row >= 0) return spent + nodes[n].level->table[nodes[n].level->p[row]];
        spent += nodes[n].backoff;
    }
    return spent + m->table[m->p[id]];
}

/* ---- the compact file: no probability above one (checks.py, above_one.py) -------------------------------------- */

/* Whether a weight could give a probability above one, by bounds over the last word of a history. −1: no memory. */
static int is_suspicious(const tacit_model *m) {
    uint32_t common = m->common_count;
    double most = -INFINITY, *bound = calloc((size_t)common + 1, 2 * sizeof *bound), *higher = bound + common;
    if (!bound) return -1;
    for (uint32_t i = 1; i < m->count; i++) most = fmax(most, m->table[m->p[i]]);
    for (uint32_t i = 0; i < common; i++) bound[i] = most;
    int found = 0;
    for (uint32_t n = 2; n <= m->order && common && !found; n++) {
        const struct level *level = m->levels + n - 2, *below = n > 2 ? level - 1 : NULL;
        uint32_t histories = below ? below->histories : common, row = 0, end = below ? 0 : start(m, 0);
        memcpy(higher, bound, common * sizeof *bound);
        for (uint32_t i = 0; i < histories && !found; i++) {
            uint32_t first = end, last = i;
            double taken = below ? below->backoff_table[below->backoff[i]] : m->backoff_table[m->backoff[i]];
            if (below) {
                row = next_bit(below->deep, row, below->count), last = label(below, row++);
                end = next_bit(below->head, first + 1, level->count);
            } else if ((end = start(m, i + 1)) == first) {
                continue; /* a word without bigrams is no history */
            }
            taken += bound[last];
            found = !(taken <= TOLERANCE);
            for (uint32_t r = first; r < end; r++) taken = fmax(taken, level->table[level->p[r]]);
            higher[last] = fmax(higher[last], taken);
        }
        memcpy(bound, higher, common * sizeof *bound);
    }
    free(bound);
    return found;
}

struct judge { tacit_model *model; struct node *nodes; int32_t *places; double work; };

/* Judges a history, whose words end at j->places + order, the last word first, and all that begin with it: no n-gram
   lacks the one without its first word, and the likeliest word has a probability of at most one. */
static int judge_history(struct file *file, struct judge *j, uint32_t words) {
    const tacit_model *m = j->model;
    int32_t *places = j->places + m->order - words;
    struct node node, shorter;
    tacit_suggestion likeliest;
    struct best best = {&likeliest, 1, 0};
    for (uint32_t i = 1; i <= words; i++) {
        if (!find_history(m, places, i, j->nodes + words - i))
            return wrong(file, "an n-gram of order %u lacks the one without its first word", words + 1);
        j->work += j->nodes[words - i].last - j->nodes[words - i].first + 1;
    }
    if (j->work > MOST_WORK) return wrong(file, "its weights take too long to judge");
    best_ngrams(m, j->nodes, words, 0, m->count, &best);
    if (best.count && !(likeliest.log_p <= TOLERANCE)) return wrong(file, "a log p is %g, above 0", likeliest.log_p);
    node = j->nodes[0], shorter = j->nodes[words > 1];
    for (uint32_t row = node.first; row < node.last; row++) {
        places[-1] = (int32_t)label(node.level, row);
        if (words > 1 && row_of(shorter.level, shorter.first, shorter.last, places[-1]) < 0)
            return wrong(file, "an n-gram of order %u lacks the one without its first word", words + 1);
        if (words + 1 < m->order && bit(node.level->deep, row) && judge_history(file, j, words + 1) <= 0) return 0;
    }
    return 1;
}

static int check_sums(struct file *file, tacit_model *m) {
    int fits = is_suspicious(m);
    if (fits <= 0) return fits < 0 ? fits : 1;
    if (start(m, 0)) return wrong(file, "'start2' does not begin with the first bigram");
    struct judge j = {m, calloc(m->order, sizeof *j.nodes), calloc(m->order, sizeof *j.places), 0};
    if (!j.nodes || !j.places) fits = -1;
    m->hidden[0] = 1; /* `<s>` is no word */
    collect_favourites(m);
    for (uint32_t i = 0; fits > 0 && i < m->common_count; i++) {
        j.places[m->order - 1] = (int32_t)i;
        if (start(m, i) < start(m, i + 1)) fits = judge_history(file, &j, 1);
    }
    free(j.nodes), free(j.places);
    return fits;
}

static int open_compact(struct file *file, tacit_model *m) {
    struct value facts, item;
    uint32_t all = 256, bytes, blocks, counts[1000] = {0};
    if (!read_meta(file, 0, &facts)) return 0;
    struct value sizes = member(facts, "ngrams");
    struct json j = {sizes.type == '[' ? sizes.at + 1 : NULL, sizes.end, 0, 0};
    if (!j.at || !next_item(&j, NULL, &item)) return wrong(file, "'meta' has no list 'ngrams'");
    m->count = size_of(item);
    for (m->order = 1; next_item(&j, NULL, &item); m->order++) {
        double count = number(item);
        if (m->order > 999 || !(count >= 0 && count < 4294967295.0)) return wrong(file, "'ngrams' has no numbers");
        counts[m->order - 1] = (uint32_t)count;
    }
    if (m->count <= SPECIALS || number(member(facts, "order")) != m->order)
        return wrong(file, "'meta' has no words, or 'ngrams' does not match 'order'");
    struct value cased = member(facts, "cased");
    if (cased.type && !is_option(cased)) return wrong(file, "'cased' is neither true nor false");
    m->cased = cased.type == 't';
    read_language(m, member(facts, "locale"));
    bytes = over(m->count, 8);
    if (!(m->common = array(file, "common", 0, 4, NULL, &m->common_count))) return 0;
    uint32_t starts = m->common_count + 1;
    const uint8_t *hidden = array(file, "hidden", 0, 1, &bytes, NULL);
    if (!(m->starts = array(file, "start2", 0, 4, &starts, NULL)) || !hidden ||
        !(m->text = array(file, "text", 0, 1, NULL, &m->text_size)) ||
        !(m->blocks = array(file, "blocks", 0, 4, NULL, &blocks)) || !(m->p = array(file, "p1", 0, 1, &m->count, NULL)) ||
        !read_table(array(file, "tp1", 0, 4, &all, NULL), m->table) ||
        !(m->backoff = array(file, "b1", 0, 1, &m->common_count, NULL)) ||
        !read_table(array(file, "tb1", 0, 4, &all, NULL), m->backoff_table))
        return 0;
    m->levels = calloc(m->order, sizeof *m->levels);
    m->hidden = calloc(bytes, 1);
    m->favourites = calloc(FAVOURITES, sizeof *m->favourites);
    m->places = calloc(FAVOURITES, sizeof *m->places);
    if (!m->levels || !m->hidden || !m->favourites || !m->places) return -1;
    for (uint32_t n = 2; n <= m->order; n++)
        if (!view_level(file, m, n, counts)) return 0;
    if (start(m, m->common_count) != counts[0]) return wrong(file, "'start2' does not cover the bigrams");
    int fits = check_words(file, m, blocks);
    if (fits <= 0) return fits;
    for (uint32_t i = 0; i < m->common_count; i++) {
        if (common_id(m, i) >= m->count || (i && common_id(m, i - 1) >= common_id(m, i)))
            return wrong(file, "'common' is not in order");
        if (start(m, i) > start(m, i + 1)) return wrong(file, "'start2' is not in order");
    }
    for (uint32_t n = 2; n <= m->order; n++)
        if (!check_level(file, m, n)) return 0;
    if (!check_tables(file, m) || (fits = check_sums(file, m)) <= 0) return fits < 0 ? fits : 0;
    memcpy(m->hidden, hidden, bytes);
    collect_favourites(m);
    return 1;
}

/* ---- the network ----------------------------------------------------------------------------------------------- */

static int open_matrix(struct file *file, const char *name, uint32_t n, uint64_t outputs, uint64_t inputs,
                       struct matrix *m) {
    char scale[32];
    uint64_t size = outputs * inputs;
    uint32_t all = (uint32_t)size, rows = (uint32_t)outputs + 8;
    m->outputs = (uint32_t)outputs, m->inputs = (uint32_t)inputs;
    if (size > UINT32_MAX || outputs > UINT32_MAX - 8) return wrong(file, "the sizes make no network");
    snprintf(scale, sizeof scale, "%s.scale", name);
    const uint8_t *codes = array(file, name, n, 1, &all, NULL), *at = array(file, scale, n, 1, &rows, NULL);
    if (!at || !codes) return 0;
    m->codes = (const int8_t *)codes, m->rows = at + 8;
    double low = f32(at), high = f32(at + 4);
    if (!(0 < low && low <= high && high < INFINITY)) return wrong(file, "scales go from %g to %g", low, high);
    for (int i = 0; i < 256; i++) m->scale[i] = (float)(low * pow(high / low, i / 255.0));
    return 1;
}

static int open_vector(struct file *file, const char *name, uint32_t n, uint64_t count, const uint8_t **vector) {
    uint32_t all = (uint32_t)count;
    if (count > UINT32_MAX || !(*vector = array(file, name, n, 2, &all, NULL))) return 0;
    for (uint32_t i = 0; i < all; i++)
        if ((u16(*vector + 2 * (size_t)i) >> 10 & 31) == 31) return wrong(file, "a number is not finite");
    return 1;
}

static double largest(const struct matrix *m) {
    double most = 0;
    for (uint32_t i = 0; i < m->outputs; i++) most = fmax(most, 128 * (double)m->scale[m->rows[i]]);
    return most;
}

static int open_layer(struct file *file, tacit_model *m, uint32_t d) {
    struct layer *l = m->layers + d;
    uint64_t h = m->units, e = m->embedding, gates = (m->coupled ? 3 : 4) * h, s = d ? h : e;
    if (m->lstm)
        return open_matrix(file, "lstm%u/input", d, gates, e / m->groups, &l->a) &&
               open_matrix(file, "lstm%u/recurrent", d, gates, e / m->groups, &l->b) &&
               open_matrix(file, "lstm%u/projection", d, e, h, &l->c) &&
               ((!m->coupled && m->normal) || open_vector(file, "lstm%u/bias", d, gates, &l->bias)) &&
               (!m->normal || (open_vector(file, "lstm%u/gate_gain", d, gates, &l->gate_gain) &&
                               open_vector(file, "lstm%u/gate_shift", d, gates, &l->gate_shift) &&
                               open_vector(file, "lstm%u/cell_gain", d, h, &l->cell_gain) &&
                               open_vector(file, "lstm%u/cell_shift", d, h, &l->cell_shift)));
    if (m->printed)
        return open_matrix(file, "gru%u/update", d, h, h + s, &l->a) &&
               open_matrix(file, "gru%u/reset", d, h, h + s, &l->b) &&
               open_matrix(file, "gru%u/candidate", d, h, h + s, &l->c);
    return open_matrix(file, "gru%u/input", d, 3 * h, s, &l->a) &&
           open_matrix(file, "gru%u/recurrent", d, 3 * h, h, &l->b) &&
           open_vector(file, "gru%u/input_bias", d, 3 * h, &l->bias) &&
           open_vector(file, "gru%u/recurrent_bias", d, 3 * h, &l->bias_b);
}

/* Scales so large that a product might overflow are refused, as in `_check_sums` of the reader. */
static int check_scales(struct file *file, const tacit_model *m) {
    double inputs = m->depth + largest(&m->embed);
    for (uint32_t d = 0; m->lstm && d < m->depth; d++) inputs += m->units * largest(&m->layers[d].c);
    for (uint32_t i = 0; i < 2 + 3 * m->depth; i++) {
        const struct layer *l = i < 2 ? NULL : m->layers + (i - 2) / 3;
        const struct matrix *w = !l ? i ? &m->out : &m->embed : i % 3 == 2 ? &l->a : i % 3 ? &l->c : &l->b;
        if (w->codes && !(w->inputs * largest(w) * inputs <= MOST_SUM))
            return wrong(file, "its scales are so large that probabilities may be no numbers");
    }
    return 1;
}

static int open_lines(struct file *file, tacit_model *m) {
    uint32_t packed, size, lines = 0;
    const uint8_t *words = array(file, "words", 0, 1, NULL, &packed);
    if (!words) return 0;
    if (!inflate(words, packed, NULL, &size, MOST_TEXT)) return wrong(file, "its words are truncated, or too long");
    m->lines = calloc((size_t)size + 1, 1);
    m->offsets = calloc((size_t)m->count - SPECIALS + 1, sizeof *m->offsets);
    if (!m->lines || !m->offsets) return -1;
    if (!inflate(words, packed, m->lines, &size, size)) return wrong(file, "its words are damaged");
    m->text = m->lines, m->text_size = size;
    for (uint32_t i = 0; i < size; i++) {
        if (m->lines[i] != '\n') continue;
        if (++lines > m->count - SPECIALS) break;
        m->offsets[lines] = i + 1;
        uint32_t length = i - m->offsets[lines - 1];
        if (length > m->longest) m->longest = length;
    }
    if (lines != m->count - SPECIALS) return wrong(file, "its number of words does not match 'vocabulary'");
    if (m->offsets[lines] != size || m->lines[0] == '\n') return wrong(file, "its words are not in order");
    return check_order(file, m);
}

static int open_network(struct file *file, tacit_model *m) {
    struct value facts;
    if (!read_meta(file, 1, &facts)) return 0;
    struct value table = member(facts, "model"), kind = member(table, "kind"), variant = member(table, "variant");
    struct value options[] = {member(table, "tied"), member(table, "coupled"), member(table, "layer_norm"),
                              member(table, "residual")};
    for (int i = 0; i < 4; i++)
        if (!is_option(options[i])) return wrong(file, "an option is neither true nor false");
    int tied = options[0].type == 't', fits;
    m->coupled = options[1].type == 't', m->normal = options[2].type == 't', m->residual = options[3].type == 't';
    m->embedding = size_of(member(table, "embedding")), m->units = size_of(member(table, "hidden"));
    m->depth = size_of(member(table, "layers")), m->groups = size_of(member(table, "groups"));
    m->lstm = is_text(kind, "lstm"), m->printed = is_text(variant, "printed");
    if (!m->embedding || !m->units || !m->depth || !m->groups || m->embedding % m->groups || m->units % m->groups ||
        m->depth > file->count)
        return wrong(file, "the sizes make no network");
    if (!(m->lstm ? is_text(variant, "common") : is_text(kind, "gru") && (m->printed || is_text(variant, "common"))))
        return wrong(file, "no network of this kind and variant");
    m->count = size_of(member(facts, "vocabulary"));
    read_language(m, member(facts, "locale"));
    double context = number(member(facts, "max_words"));
    if (m->count <= SPECIALS) return wrong(file, "its number of words does not match 'vocabulary'");
    struct value letters = member(facts, "case");
    if (!(is_text(letters, "lower") || is_text(letters, "keep")) || !(context >= 0 && context < 2147483648.0))
        return wrong(file, "its 'case' or 'max_words' is not valid");
    m->context = context < 1 ? 1000 : (uint32_t)context;
    if ((tied ? m->embedding : m->units) != (m->lstm ? m->embedding : m->units))
        return wrong(file, "the output does not fit the last layer");
    if (!open_matrix(file, "embedding", 0, m->count, m->embedding, &m->embed)) return 0;
    if ((fits = open_lines(file, m)) <= 0) return fits;
    if (!open_vector(file, "output_bias", 0, m->count, &m->out_bias)) return 0;
    m->out = m->embed;
    if (!tied && !open_matrix(file, "output", 0, m->count, m->units, &m->out)) return 0;
    m->layers = calloc(m->depth, sizeof *m->layers);
    m->hidden = calloc(over(m->count, 8), 1);
    char *word = calloc(5, (size_t)m->longest + 1), *plain = word ? word + m->longest + 1 : NULL;
    for (uint32_t d = 0; m->layers && d < m->depth; d++)
        if (!open_layer(file, m, d)) return free(word), 0;
    if (!m->layers || !m->hidden || !word) return free(word), -1;
    m->hidden[0] = 7; /* the specials */
    struct cursor c = {m, 0, 0, 0, NULL, NULL};
    for (size_t length; !m->cased && next_word(&c, word, &length);) {
        tacit_lower_text(word, length, 0, plain);
        m->cased = strlen(plain) != length || memcmp(word, plain, length) != 0;
    }
    free(word);
    return check_scales(file, m);
}

struct tacit_session {
    const tacit_model *model;
    char *room;         /* for a word in lower case */
    struct node *nodes; /* n-grams: the known histories, longest first */
    int32_t *places;
    uint32_t node_count;
    /* network: the last context, and what came of it */
    uint32_t *context, known; /* its ids; how many there are, UINT32_MAX: none yet */
    size_t words;             /* of the whole context */
    float *state, *x, *gates, *other, *log_p;
};

static float dot(const int8_t *codes, const float *x, uint32_t count) {
    float sums[8] = {0}, rest = 0;
    uint32_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (uint32_t k = 0; k < 8; k++) sums[k] += (float)codes[i + k] * x[i + k];
    for (; i < count; i++) rest += (float)codes[i] * x[i];
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7])) + rest;
}

/* y += rows first … of the matrix times x; with `bias`, plus a float16 for each row. */
static void add_product(const struct matrix *m, uint32_t first, uint32_t rows, const float *x, const uint8_t *bias,
                        float *y) {
    for (uint32_t i = 0; i < rows; i++) {
        size_t row = (size_t)first + i;
        float sum = dot(m->codes + row * m->inputs, x, m->inputs) * m->scale[m->rows[row]];
        y[i] += sum + (bias ? f16(bias + 2 * row) : 0);
    }
}

static float sigmoid(float x) { return 0.5f * (tanhf(0.5f * x) + 1); }

static void normalise(float *x, uint32_t count, const uint8_t *gain, const uint8_t *shift) {
    double mean = 0, square = 0;
    for (uint32_t i = 0; i < count; i++) mean += (double)x[i];
    mean /= count;
    for (uint32_t i = 0; i < count; i++) square += ((double)x[i] - mean) * ((double)x[i] - mean);
    float scale = sqrtf((float)(square / count) + 1e-5f);
    for (uint32_t i = 0; i < count; i++)
        x[i] = (x[i] - (float)mean) / scale * f16(gain + 2 * (size_t)i) + f16(shift + 2 * (size_t)i);
}

/* One layer: `in` is its input, `state` its h, or r and c, which it replaces. */
static void run_layer(const tacit_model *m, const struct layer *l, const float *in, float *state, float *gates,
                      float *other) {
    uint32_t h = m->units, e = m->embedding, g = m->groups;
    if (!m->lstm && m->printed) { /* `other` is h and then the input */
        memset(gates, 0, 3 * (size_t)h * sizeof *gates);
        memcpy(other, state, h * sizeof *other), memcpy(other + h, in, (l->a.inputs - h) * sizeof *other);
        add_product(&l->a, 0, h, other, NULL, gates);
        add_product(&l->b, 0, h, other, NULL, gates + h);
        for (uint32_t i = 0; i < h; i++) other[i] *= sigmoid(gates[h + i]);
        add_product(&l->c, 0, h, other, NULL, gates + 2 * (size_t)h);
        for (uint32_t i = 0; i < h; i++) {
            float z = sigmoid(gates[i]);
            state[i] = (1 - z) * state[i] + z * tanhf(gates[2 * (size_t)h + i]);
        }
        return;
    }
    if (!m->lstm) {
        memset(gates, 0, 3 * (size_t)h * sizeof *gates), memset(other, 0, 3 * (size_t)h * sizeof *other);
        add_product(&l->a, 0, 3 * h, in, l->bias, gates);
        add_product(&l->b, 0, 3 * h, state, l->bias_b, other);
        for (uint32_t i = 0; i < h; i++) {
            float r = sigmoid(gates[i] + other[i]), z = sigmoid(gates[h + i] + other[h + i]);
            float new = tanhf(gates[2 * (size_t)h + i] + r * other[2 * (size_t)h + i]);
            state[i] = (1 - z) * new + z * state[i];
        }
        return;
    }
    uint32_t count = m->coupled ? 3 : 4, part = h / g, inputs = e / g;
    float *r = state, *c = state + e;
    memset(other, 0, (size_t)count * h * sizeof *other);
    for (uint32_t k = 0; k < g; k++) { /* rows by group, then gate, then unit; `gates` by gate, then unit */
        uint32_t first = k * count * part;
        add_product(&l->a, first, count * part, in + k * inputs, NULL, other + first);
        add_product(&l->b, first, count * part, r + k * inputs, NULL, other + first);
        for (uint32_t gate = 0; gate < count; gate++)
            memcpy(gates + (size_t)gate * h + k * part, other + first + gate * part, part * sizeof *gates);
    }
    for (uint32_t i = 0; l->bias && i < count * h; i++) gates[i] += f16(l->bias + 2 * (size_t)i);
    for (uint32_t gate = 0; m->normal && gate < count; gate++)
        normalise(gates + gate * h, h, l->gate_gain + 2 * (size_t)gate * h, l->gate_shift + 2 * (size_t)gate * h);
    for (uint32_t i = 0; i < h; i++) {
        float in_gate = sigmoid(gates[i]), keep = m->coupled ? 1 - in_gate : sigmoid(gates[3 * (size_t)h + i] + 1);
        c[i] = keep * c[i] + in_gate * tanhf(gates[2 * (size_t)h + i]);
    }
    memcpy(other, c, h * sizeof *other);
    if (m->normal) normalise(other, h, l->cell_gain, l->cell_shift);
    for (uint32_t i = 0; i < h; i++) other[i] = sigmoid(gates[h + i]) * tanhf(other[i]);
    memset(r, 0, e * sizeof *r);
    add_product(&l->c, 0, e, other, NULL, r);
}

static void step(tacit_session *s, uint32_t id) {
    const tacit_model *m = s->model;
    uint32_t wide = m->lstm ? m->embedding : m->units, each = m->lstm ? m->embedding + m->units : m->units;
    for (uint32_t i = 0; i < m->embedding; i++)
        s->x[i] = (float)m->embed.codes[(size_t)id * m->embedding + i] * m->embed.scale[m->embed.rows[id]];
    for (uint32_t d = 0; d < m->depth; d++) {
        float *state = s->state + (size_t)d * each;
        run_layer(m, m->layers + d, s->x, state, s->gates, s->other);
        for (uint32_t i = 0; i < wide; i++) s->x[i] = m->residual && d ? s->x[i] + state[i] : state[i];
    }
}

static void score(tacit_session *s) { /* log p of every word, from the features in s->x */
    const tacit_model *m = s->model;
    double sum = 0;
    float most = -INFINITY;
    memset(s->log_p, 0, m->count * sizeof *s->log_p);
    add_product(&m->out, 0, m->count, s->x, m->out_bias, s->log_p);
    for (uint32_t i = 0; i < m->count; i++) most = fmaxf(most, s->log_p[i]);
    for (uint32_t i = 0; i < m->count; i++) s->log_p[i] -= most, sum += (double)expf(s->log_p[i]);
    float rest = (float)log(sum);
    for (uint32_t i = 0; i < m->count; i++) s->log_p[i] -= rest;
}

/* ---- the calls ------------------------------------------------------------------------------------------------- */

void tacit_close(tacit_model *m) {
    if (!m) return;
    free(m->hidden), free(m->levels), free(m->favourites), free(m->places);
    free(m->lines), free(m->offsets), free(m->layers), free(m);
}

int tacit_open(const void *data, size_t size, tacit_model **model, tacit_error *error) {
    const uint8_t *bytes = data;
    tacit_model *m = NULL;
    *model = NULL;
    if (!size) return tacit_fail(error, TACIT_BAD_FILE, "the file is empty; make it again");
    int network = !memcmp(bytes, "TacitNN\n", size < 8 ? size : 8) && size > 6;
    if (!network && memcmp(bytes, "TacitNG\n", size < 8 ? size : 8))
        return tacit_fail(error, TACIT_BAD_FILE, "not a model; it should begin with 'TacitNG' or 'TacitNN'");
    if (size < 24) return tacit_fail(error, TACIT_BAD_FILE, "cut short, %u bytes; copy it again", (unsigned)size);
    struct file file = {bytes, size, network ? 32 : 8, u32(bytes + 12), ""};
    if (u32(bytes + 8) != 1)
        return tacit_fail(error, TACIT_BAD_FILE, "format version %u; this reader reads version 1; update Tacit", u32(bytes + 8));
    if (u32(bytes + 16) != size || (uint64_t)file.count * (file.name + 8) + 24 > size)
        return tacit_fail(error, TACIT_BAD_FILE, "%lu bytes, not %u; copy it again", (unsigned long)size, u32(bytes + 16));
    if (crc32(bytes, size) != u32(bytes + 20))
        return tacit_fail(error, TACIT_BAD_FILE, "damaged (its CRC-32 differs from the header's); copy it again");
    int fits = file.count <= MOST_SECTIONS || wrong(&file, "%u sections", file.count);
    if (fits) {
        if (!(m = calloc(1, sizeof *m))) return tacit_no_memory(error);
        m->network = network;
        fits = network ? open_network(&file, m) : open_compact(&file, m);
    }
    if (fits > 0) return *model = m, TACIT_OK;
    tacit_close(m);
    if (fits < 0) return tacit_no_memory(error);
    return tacit_fail(error, TACIT_BAD_FILE, "its sections do not fit together (%s); make the model again", file.why);
}

tacit_facts tacit_about(const tacit_model *m) {
    tacit_facts facts = {m->network, m->cased, m->count, m->network ? 0 : m->order, m->longest > 5 ? m->longest : 5, ""};
    memcpy(facts.language, m->language, sizeof facts.language);
    return facts;
}

static int by_codes(const void *a, const void *b) {
    const uint32_t *one = *(uint32_t *const *)a, *other = *(uint32_t *const *)b;
    while (*one && *one == *other) one++, other++;
    return (*one > *other) - (*one < *other);
}

int tacit_block(tacit_model *m, const char *const *words, size_t count, tacit_error *error) {
    struct tacit_forms forms = {NULL, 0};
    size_t all = 0, used = 0, kept = 0, length;
    for (size_t i = 0; i < count; i++) all += 4 * strlen(words[i]) + 1;
    char *word = calloc((size_t)m->longest + 1, 1);
    uint32_t *codes = calloc(all + 1, sizeof *codes), *folded = calloc(4 * (size_t)m->longest + 1, sizeof *folded);
    uint32_t **list = calloc(count + 1, sizeof *list);
    int done = word && codes && folded && list && tacit_open_forms(&forms);
    for (size_t i = 0; done && i < count; used += 4 * strlen(words[i++]) + 1)
        if (tacit_fold(&forms, words[i], strlen(words[i]), codes + used)) list[kept++] = codes + used;
    if (done) qsort(list, kept, sizeof *list, by_codes);
    struct cursor c = {m, 0, 0, 0, NULL, NULL};
    while (done && kept && next_word(&c, word, &length)) {
        uint32_t id = c.next - 1 + SPECIALS;
        if (tacit_fold(&forms, word, length, folded) && bsearch(&folded, list, kept, sizeof *list, by_codes))
            m->hidden[id >> 3] |= (uint8_t)(1 << (id & 7));
    }
    if (done && !m->network) collect_favourites(m);
    free(word), free(codes), free(folded), free(list), free(forms.list);
    return done ? TACIT_OK : tacit_no_memory(error);
}

void tacit_session_close(tacit_session *s) {
    if (!s) return;
    free(s->room), free(s->nodes), free(s->places), free(s->context), free(s->state), free(s->x), free(s->gates);
    free(s->other), free(s->log_p), free(s);
}

int tacit_session_open(const tacit_model *m, tacit_session **session, tacit_error *error) {
    tacit_session *s = calloc(1, sizeof *s);
    *session = NULL;
    if (!s) return tacit_no_memory(error);
    size_t h = m->units, e = m->embedding, wide = h > e ? h : e;
    s->model = m, s->known = UINT32_MAX;
    int done = (s->room = calloc(4, 6 * (size_t)m->longest + 8)) && (s->nodes = calloc(m->order + 1, sizeof *s->nodes)) &&
               (s->places = calloc(m->order + 1, sizeof *s->places)) && (s->x = calloc(wide + 1, sizeof *s->x)) &&
               (s->context = calloc(m->network ? MOST_CONTEXT : 1, sizeof *s->context)) &&
               (s->state = calloc(m->depth + (size_t)1, (h + e + 1) * sizeof *s->state)) &&
               (s->gates = calloc(4 * h + 1, sizeof *s->gates)) && (s->other = calloc(4 * h + wide + 1, sizeof *s->other)) &&
               (s->log_p = calloc(m->network ? m->count : 1, sizeof *s->log_p));
    if (done) return *session = s, TACIT_OK;
    tacit_session_close(s);
    return tacit_no_memory(error);
}

/* Brings the session to a context: finds its histories, or runs the network over what is new of it. */
void tacit_read_context(tacit_session *s, const char *const *context, size_t words) {
    const tacit_model *m = s->model;
    s->node_count = 0;
    for (uint32_t i = 0; !m->network && i + 1 < m->order && i <= words; i++) {
        s->places[i] = place_of(m, i < words ? context_id(m, context[words - 1 - i], s->room) : BOS);
        if (!find_history(m, s->places, i + 1, s->nodes + i)) break; /* then the file has no longer history either */
        s->node_count = i + 1;
    }
    for (uint32_t i = 0; i < s->node_count / 2; i++) { /* the longest first */
        struct node node = s->nodes[i];
        s->nodes[i] = s->nodes[s->node_count - 1 - i], s->nodes[s->node_count - 1 - i] = node;
    }
    if (!m->network) return;
    uint32_t most = m->context < MOST_CONTEXT ? m->context : MOST_CONTEXT, same = 0;
    uint32_t count = words < most ? (uint32_t)words : most, known = s->known;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = context_id(m, context[words - count + i], s->room);
        if (known != UINT32_MAX && same == i && i < known && s->context[i] == id) same++;
        s->context[i] = id;
    }
    if (known == count && s->words == words && same == count) return;
    if (known != UINT32_MAX && words <= most && s->words + 1 == words && same == count - 1) {
        step(s, s->context[count - 1]);
    } else {
        memset(s->state, 0, m->depth * ((size_t)m->units + m->embedding) * sizeof *s->state);
        step(s, BOS);
        for (uint32_t i = 0; i < count; i++) step(s, s->context[i]);
    }
    s->known = count, s->words = words;
    score(s);
}

double tacit_log_p_after(const tacit_session *s, uint32_t id) {
    if (id >= s->model->count) return -INFINITY;
    return s->model->network ? (double)s->log_p[id] : ngram_log_p(s->model, s->nodes, s->node_count, id);
}

int tacit_log_p(tacit_session *s, const char *const *context, size_t words, const uint32_t *ids, size_t count,
                double *log_p, tacit_error *error) {
    (void)error; /* cannot fail */
    tacit_read_context(s, context, words);
    for (size_t i = 0; i < count; i++) log_p[i] = tacit_log_p_after(s, ids[i]);
    return TACIT_OK;
}

int tacit_complete(tacit_session *s, const char *const *context, size_t words, const char *typed, size_t k,
                   tacit_suggestion *list, size_t *found, tacit_error *error) {
    const tacit_model *m = s->model;
    size_t size = strlen(typed), each = 6 * (size_t)m->longest + 8;
    char *forms[4] = {s->room, s->room + each, s->room + 2 * each, s->room + 3 * each};
    struct best best = {list, k, 0};
    *found = 0;
    if (!k) return tacit_fail(error, TACIT_BAD_CALL, "k is 0; ask for at least 1 word");
    if (size > 3 * (size_t)m->longest) return TACIT_OK; /* longer than any word, in any case */
    tacit_read_context(s, context, words);
    tacit_lower(m, forms[0], tacit_plain_text(typed, forms[0]), forms[1]);
    tacit_raise_text(forms[1], 1, m->turkish, forms[2]);
    tacit_raise_text(forms[0], 2, m->turkish, forms[3]);
    for (int i = m->cased ? 0 : 1; i < (m->cased ? 4 : 2); i++) {
        int is_key, twice = 0;
        for (int j = m->cased ? 0 : 1; j < i; j++) twice |= !strcmp(forms[i], forms[j]);
        if (twice) continue;
        size_t length = strlen(forms[i]);
        uint32_t first = before(m, (uint8_t *)forms[i], length, &is_key) + SPECIALS;
        memcpy(forms[i] + length, "\xff", 2); /* never occurs in UTF-8 */
        uint32_t last = before(m, (uint8_t *)forms[i], length + 1, &is_key) + SPECIALS;
        forms[i][length] = 0;
        if (first < last && !m->network) best_ngrams(m, s->nodes, s->node_count, first, last, &best);
        for (uint32_t id = first; m->network && id < last; id++) {
            if (is_late(&best, (double)s->log_p[id])) continue;
            if (!tacit_hidden(m, id) && s->log_p[id] > -INFINITY) offer(&best, (double)s->log_p[id], id);
        }
    }
    *found = best.count;
    return TACIT_OK;
}

int tacit_suggest(tacit_session *s, const char *const *context, size_t words, size_t k, tacit_suggestion *best,
                  size_t *found, tacit_error *error) {
    return tacit_complete(s, context, words, "", k, best, found, error);
}
