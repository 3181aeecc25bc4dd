/* Finds the word that was meant when a mistapped or misspelt one was typed, as tacit.keyboard does.

   A word w costs what its taps cost, by the operations of docs/keyboard.md, each with a price: a tap for a letter, by
   its distance from the key, or a key beside it that was hit; a letter without a tap; a tap without a letter; two or
   three letters in the wrong order; another letter, or another vowel, written for one. The words that cost at most
   `beam` above the least that any word must pay are ranked by −cost + language · log p(w | context).

   What was typed stays if nothing is likelier: a word, less likely to be left standing if it was not meant; a word of
   the dictionary, or one that nobody knows, by its letters; or two words without the space between them. A word with a
   letter of a long press stays.

   Words are typed with the keys of their letters, in lower case. A letter without a key is typed without its accents,
   a hyphen inside a word not at all. `tacit_keys` belongs to one model, is closed before it, and may be used by any
   number of threads. All else is as in tacit.h. */

#ifndef TACIT_CORRECT_H
#define TACIT_CORRECT_H

#include "tacit.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tacit_keys tacit_keys;

typedef struct {
    uint32_t letter; /* the code point that the key types, in lower case */
    double x, y;     /* its centre; a key is 1 wide and 1.5 high, x to the right, y down */
} tacit_key;

typedef struct { /* tacit.keyboard.parameters says what they mean; an infinite price is an operation left out */
    double sigma_x, sigma_y, steady, usual;
    double omission, single, apostrophe, insertion, twice, edge, transposition, move, slip, vowel, wrong, space, gap;
    double beam, unknown, letter, listed, spelt, stays, language;
} tacit_taps;

/* The numbers of tacit.keyboard. */
tacit_taps tacit_default_taps(void);

/* Prepares the words that keys can type. `keys` NULL: QWERTY with an apostrophe, as in tacit.keyboard.layout. A key in
   the place of an earlier one is a letter that is on its long press: both type the same words. `taps` NULL: the
   default. */
int tacit_keys_open(const tacit_model *model, const tacit_key *keys, size_t count, const tacit_taps *taps,
                    tacit_keys **opened, tacit_error *error);
void tacit_keys_close(tacit_keys *keys);

/* Gives the keys a dictionary: words that the model does not know, and that are then less easily corrected. `data` is a
   file of src/tacit/keyboard/dictionaries; it is read during the call. To be called before the keys are used. */
int tacit_keys_dictionary(tacit_keys *keys, const void *data, size_t size, tacit_error *error);

typedef struct {
    double score; /* −cost + language · log p */
    double cost;  /* of the taps, given this word */
    double log_p;
    uint32_t id;
} tacit_candidate;

typedef struct {
    int literal;   /* 1: what was typed stays. 0: `word` is to be written */
    int known;     /* what was typed is a word of the model, by its keys */
    int hidden;    /* what was typed is a word that is never suggested */
    uint32_t word; /* TACIT_UNKNOWN if what was typed stays and is no word that may be suggested */
    uint32_t second; /* a second word to be written after a space; TACIT_UNKNOWN if there is none */
    size_t found;  /* candidates, at most k */
    double score;  /* of what is written; infinite for a word that is never corrected */
} tacit_correction;

/* Finds the word that was meant. `typed` is the word as it is shown, in composed letters (Unicode's form NFC). `taps`
   are `count` points x, y, x, y, …; with NULL, the centres of the keys of `typed`, for a word that was misspelt rather
   than mistapped. `best` has room for k candidates. Words of more than 48 taps are not corrected. */
int tacit_correct(tacit_session *session, const tacit_keys *keys, const char *const *context, size_t words,
                  const char *typed, const double *taps, size_t count, size_t k, tacit_candidate *best,
                  tacit_correction *correction, tacit_error *error);

/* Whether a space was hit inside a word: "th e". `first` and `second` are the corrections of both parts, the second after
   the first as it is written. `one` is the best candidate for the letters and taps of both, after the context of the
   first. Returns 1 if `one` is to be written instead of both. Its score becomes comparable with the candidates of the
   second part. */
int tacit_joins(const tacit_keys *keys, const tacit_correction *first, const tacit_correction *second,
                tacit_candidate *one);

#ifdef __cplusplus
}
#endif

#endif
