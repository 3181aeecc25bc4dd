/* Measures how long suggestions take: bench MODEL CONTEXTS [ROUNDS]

   CONTEXTS has one context a line, its words separated by spaces. Every call is timed alone, the model's words
   included, as a keyboard needs them. Prints medians and percentiles over all calls, in microseconds. */

#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tacit.h"

enum { K = 3, MOST_WORDS = 64 };

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e6 + (double)at.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static void print(const char *what, double *times, size_t count) {
    qsort(times, count, sizeof *times, by_size);
    printf("%-22s p50 %8.2f   p90 %8.2f   p99 %8.2f   (%zu calls)\n", what, times[count / 2], times[count * 9 / 10],
           times[count * 99 / 100], count);
}

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: bench MODEL CONTEXTS [ROUNDS]\n"), 2;
    struct stat about;
    int file = open(argv[1], O_RDONLY), rounds = argc > 3 ? atoi(argv[3]) : 3;
    if (file < 0 || fstat(file, &about)) return perror(argv[1]), 2;
    void *data = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    tacit_error error;
    tacit_model *model;
    tacit_session *session;
    double begun = now();
    if (data == MAP_FAILED || tacit_open(data, (size_t)about.st_size, &model, &error))
        return fprintf(stderr, "%s: %s\n", argv[1], data == MAP_FAILED ? "cannot be mapped" : error.message), 2;
    double opened = now() - begun;
    if (tacit_session_open(model, &session, &error)) return fprintf(stderr, "%s\n", error.message), 2;

    FILE *list = fopen(argv[2], "r");
    if (!list) return perror(argv[2]), 2;
    size_t room = 1 << 20, count = 0, calls = 0;
    char *text = calloc(room, 1), **lines = calloc(100000, sizeof *lines), line[4096];
    for (size_t used = 0; count < 100000 && fgets(line, sizeof line, list); count++) {
        size_t length = strcspn(line, "\n");
        line[length] = 0;
        if (used + length + 1 > room) break;
        lines[count] = memcpy(text + used, line, length + 1);
        used += length + 1;
    }
    fclose(list);
    if (!count || rounds < 1) return fprintf(stderr, "%s: no contexts\n", argv[2]), 2;
    double *next = calloc(count * (size_t)rounds, sizeof *next), *letter = calloc(count * (size_t)rounds, sizeof *letter);
    tacit_facts facts = tacit_about(model);
    char *word = calloc(facts.longest + 1, 1);
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i++) {
            const char *words[MOST_WORDS];
            size_t n = 0;
            char typed[2] = "t";
            strcpy(line, lines[i]);
            for (char *part = strtok(line, " "); part && n < MOST_WORDS; part = strtok(NULL, " ")) words[n++] = part;
            if (n) typed[0] = words[n - 1][0];
            tacit_suggestion best[K];
            size_t found;
            double start = now();
            if (tacit_suggest(session, words, n, K, best, &found, &error)) return 1;
            for (size_t k = 0; k < found; k++) tacit_word(model, best[k].id, word, facts.longest + 1);
            double middle = now();
            if (tacit_complete(session, words, n, typed, K, best, &found, &error)) return 1;
            for (size_t k = 0; k < found; k++) tacit_word(model, best[k].id, word, facts.longest + 1);
            next[calls] = middle - start, letter[calls++] = now() - middle;
        }
    }
    printf("%s: %ld bytes, %u words, opened and judged in %.1f ms\n", facts.network ? "8-bit network" : "compact n-gram file",
           (long)about.st_size, facts.vocabulary, opened / 1e3);
    print("top-3 next words", next, calls);
    print("top-3 of a letter", letter, calls);
    free(next), free(letter), free(word), free(text), free(lines);
    tacit_session_close(session);
    tacit_close(model);
    munmap(data, (size_t)about.st_size);
    return 0;
}
