/* Fuzzes the reader: hostile files and hostile questions. Two programs from one source:

     clang -fsanitize=fuzzer,address,undefined -DTACIT_LIBFUZZER …   libFuzzer, guided by coverage
     cc -fsanitize=address,undefined …                               its own mutator; any compiler

     fuzz SECONDS SEED FILE…     prints how many files it tried and how many of them were opened

   A changed file gets its length and its CRC-32 again, or the first bytes of a dictionary, most of the time, so that what
   lies behind them is reached. What a fault looks like is the sanitizers' affair; this program adds three: a suggestion
   with a probability that is none, a word of a model that the model does not find, and hashes that do not ascend.
   `make native-fuzz` runs it. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "correct.h"
#include "internal.h"

enum { MOST = 1 << 20, K = 5 };

static unsigned long opened, tried;

static uint32_t crc32(const uint8_t *data, size_t size) {
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < size; i++) {
        if (i >= 20 && i < 24) continue;
        crc ^= data[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void put32(uint8_t *to, uint32_t value) {
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(value >> 8 * i);
}

static int is_dictionary(const uint8_t *data, size_t size) { return size > 1 && data[0] == 'T' && data[1] == 'A'; }

static void seal(uint8_t *data, size_t size) {
    if (size < 24) return;
    if (is_dictionary(data, size)) {
        memcpy(data, "TACITDIC\1\0\0", 12);
        return;
    }
    memcpy(data, data[6] == 'N' ? "TacitNN\n" : "TacitNG\n", 8);
    put32(data + 8, 1), put32(data + 16, (uint32_t)size), put32(data + 20, crc32(data, size));
}

static const uint8_t *current;
static size_t current_size;

static void fault(const char *what) { /* keeps the file in fuzz.fault */
    FILE *file = fopen("fuzz.fault", "wb");
    if (file) fwrite(current, 1, current_size, file), fclose(file);
    fprintf(stderr, "fault: %s\n", what);
    abort();
}

static void ask(tacit_model *model, const uint8_t *data, size_t size) {
    tacit_session *session = NULL;
    tacit_keys *keys = NULL;
    tacit_error error;
    tacit_facts facts = tacit_about(model);
    static const char *const fixed[] = {"to", "be", "été", "Σ", "\xff\xfe", "", "the quick brown fox", "don’t"};
    char word[64], other[64];
    const char *context[4];
    if (tacit_session_open(model, &session, &error)) return;
    for (int round = 0; round < 8; round++) {
        uint32_t a = data[(size_t)round * 7919 % size], b = data[(size_t)round * 104729 % size];
        tacit_word(model, a * 257 % facts.vocabulary, word, sizeof word);
        tacit_word(model, b * 4099 % facts.vocabulary, other, a % sizeof other);
        context[0] = fixed[a & 7], context[1] = word, context[2] = a % sizeof other ? other : "", context[3] = fixed[b & 7];
        tacit_suggestion best[K];
        tacit_candidate near[K];
        tacit_correction first, result;
        size_t found;
        char typed[8] = "";
        if (round & 1) memcpy(typed, word, 1 + (a & 3)), typed[1 + (a & 3)] = 0;
        if (tacit_complete(session, context, a & 3, typed, 1 + b % K, best, &found, &error)) fault(error.message);
        for (size_t i = 0; i < found; i++) {
            if (!(exp(best[i].log_p) <= 1.001) || best[i].id >= facts.vocabulary) fault("no probability");
            if (tacit_word(model, best[i].id, word, sizeof word) < sizeof word && best[i].id > 2 &&
                tacit_id(model, word) != best[i].id && strlen(word) == tacit_word(model, best[i].id, NULL, 0))
                fault("a word is not found");
        }
        if (round == 4) {
            const char *const blocked[] = {fixed[2], word, "\xff", other};
            if (tacit_block(model, blocked, 3, &error)) fault(error.message);
            if (facts.vocabulary < 5000 && tacit_keys_open(model, NULL, 0, NULL, &keys, &error)) fault(error.message);
        }
        double taps[] = {a / 20.0, b / 40.0, b / 25.0, a / 50.0, 3, 2};
        if (keys) {
            if (tacit_correct(session, keys, context, 2, word, NULL, 0, K, near, &first, &error)) fault(error.message);
            if (tacit_correct(session, keys, context, b & 3, typed, taps, 3, 1, near, &result, &error)) fault(error.message);
            if (result.found && tacit_joins(keys, &first, &result, near) && isnan(near[0].score)) fault("no score");
        }
        uint32_t ids[] = {0, a, 2, facts.vocabulary};
        double log_p[4];
        tacit_log_p(session, context, b & 3, ids, 4, log_p, &error);
    }
    tacit_keys_close(keys);
    tacit_session_close(session);
}

static void ask_dictionary(const uint8_t *data, size_t size) {
    struct tacit_hashes hashes;
    const char *text = (const char *)data;
    if (tacit_read_hashes(data, size, &hashes) <= 0) return;
    opened++;
    for (size_t i = 1; i < hashes.count; i++)
        if (hashes.list[i - 1] > hashes.list[i]) fault("hashes that do not ascend");
    for (size_t i = 0; i + 8 < size && i < 64; i++) {
        size_t stem = tacit_stem(text + i, 8);
        if (stem > 7 || tacit_has_hash(&hashes, text + i, stem) > 1) fault("a stem that is no part");
    }
    free(hashes.list);
}

static void try_file(const uint8_t *data, size_t size) {
    tacit_model *model;
    tacit_error error;
    uint8_t *copy = malloc(size ? size : 1); /* of its own, so that a byte too far is seen */
    if (!copy) return;
    memcpy(copy, data, size);
    tried++, current = copy, current_size = size;
    if (is_dictionary(copy, size)) {
        ask_dictionary(copy, size);
    } else if (tacit_open(copy, size, &model, &error) == TACIT_OK) {
        opened++;
        ask(model, copy, size);
        tacit_close(model);
    } else if (!error.message[0] || strchr(error.message, '\n') || model) {
        fault("a refusal without its line");
    }
    free(copy);
}

static uint64_t state;

static uint32_t draw(uint32_t below) { /* xorshift: the same seed, the same trials */
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 20) % (below ? below : 1);
}

static size_t mutate(uint8_t *data, size_t size, size_t room) {
    static const uint32_t numbers[] = {0, 1, 2, 3, 7, 8, 16, 63, 64, 127, 128, 255, 256, 511, 512, 65535, 65536,
                                       0x7fffffff, 0x80000000, 0xfffffff8, 0xffffffff, 0x7f800000, 0x7fc00000, 0xff800000};
    for (uint32_t times = 1 + draw(4) * draw(3); times && size > 24; times--) {
        /* half of the changes are in the table of sections and what follows it: the facts */
        size_t at = draw(2) ? draw((uint32_t)size) : draw((uint32_t)(size < 1200 ? size : 1200)), wide = draw(64) + 1;
        size_t from = draw((uint32_t)size), left = size - at;
        switch (draw(9)) {
            case 0: case 1: data[at] ^= (uint8_t)(1 << draw(8)); break;
            case 2: data[at] = (uint8_t)draw(256); break;
            case 3: data[at] = (uint8_t)"0123456789-.eE\"{}[],:\\utnf"[draw(26)]; break;
            case 4: if (left >= 4) put32(data + (at & ~(size_t)3), numbers[draw(24)]); break;
            case 5: if (left >= 4) put32(data + (at & ~(size_t)3), draw(256) - 128 + (uint32_t)size); break;
            case 6: if (size - from < wide) wide = size - from; memmove(data + at, data + from, wide < left ? wide : left); break;
            case 7: if (wide > left) wide = left; memmove(data + at, data + at + wide, left - wide), size -= wide; break;
            default:
                if (size + wide > room) break;
                memmove(data + at + wide, data + at, left), size += wide;
        }
    }
    return size;
}

#ifdef TACIT_LIBFUZZER

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed) {
    state = seed * 0x9e3779b97f4a7c15u | 1;
    size = draw(2) ? mutate(data, size, room) : LLVMFuzzerMutate(data, size, room);
    if (draw(20)) seal(data, size);
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    try_file(data, size);
    return 0;
}

#else

int main(int count, char **arguments) {
    static uint8_t files[16][MOST], file[MOST + 64];
    size_t sizes[16];
    int kept = 0;
    if (count < 4) return fprintf(stderr, "usage: fuzz SECONDS SEED FILE...\n"), 2;
    double seconds = atof(arguments[1]);
    state = strtoull(arguments[2], NULL, 10) * 0x9e3779b97f4a7c15u | 1;
    for (int i = 3; i < count && kept < 16; i++) {
        FILE *from = fopen(arguments[i], "rb");
        if (!from) return fprintf(stderr, "fuzz: cannot read %s\n", arguments[i]), 2;
        sizes[kept] = fread(files[kept], 1, MOST, from);
        fclose(from);
        try_file(files[kept], sizes[kept]);
        kept++;
    }
    if (opened != (unsigned long)kept) return fprintf(stderr, "fuzz: a file is refused as it is\n"), 2;
    for (time_t end = time(NULL) + (time_t)ceil(seconds); time(NULL) < end;) {
        for (int i = 0; i < 50; i++) {
            uint32_t which = draw((uint32_t)kept);
            memcpy(file, files[which], sizes[which]);
            size_t size = mutate(file, sizes[which], MOST);
            if (draw(20)) seal(file, size);
            try_file(file, size);
        }
    }
    printf("%lu files tried, %lu opened and asked\n", tried, opened);
    return 0;
}

#endif
