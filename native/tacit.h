/* Tacit's models on a phone: reads a compact n-gram file or an 8-bit network, suggests, completes and corrects words.

   C99, libc and libm, no other dependency and no global state. Compile tacit.c and unicode.c, and for corrections
   (correct.h) also correct.c and dictionary.c.

   FILES. `tacit_open` reads a file that the caller holds in memory, mapped or loaded, and keeps the pointer: the
   bytes stay where they are and as they are until `tacit_close`. Nothing is copied but small tables. The file is
   judged first, every byte of it: a file that is damaged, or made by somebody to do harm, is refused, and no size
   is believed before it is known to fit the file. What is refused is what Tacit's Python reader refuses
   (docs/native.md).

   OWNERSHIP. What a function named `…_open` gives is freed by its `…_close`; closing NULL is allowed. A session
   uses its model, so it is closed before it. All other memory is the caller's; strings are copied or read during
   the call only. Text is UTF-8 and ends with a zero byte; invalid UTF-8 is an unknown word, not an error.

   THREADS. A model is never changed once it is made, so any number of threads may use it at the same time;
   `tacit_block` belongs to making the model. A session is for one thread at a time: it holds the state of the
   network, so that a context that grows by a word costs one step. Open one session for each thread.

   ERRORS. A function that can fail returns TACIT_OK or another `tacit_status`, and writes one line into `error`,
   which may be NULL. After an error nothing is opened and no result is valid.

   CONTEXTS are the words of the message so far, as tokens: punctuation is a word of its own ("see", "you", ","),
   and typographic apostrophes are plain. A word that the model does not know is read in lower case, as in Python. */

#ifndef TACIT_H
#define TACIT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tacit_status {
    TACIT_OK = 0,
    TACIT_BAD_FILE,  /* the file is refused: damaged, of another kind or version, or not a model */
    TACIT_BAD_CALL,  /* an argument is out of range */
    TACIT_NO_MEMORY
};

typedef struct {
    char message[160]; /* one line: what is wrong and what to do */
} tacit_error;

typedef struct tacit_model tacit_model;
typedef struct tacit_session tacit_session;

enum { TACIT_UNKNOWN = 2 }; /* the id of every word that the model does not have */

/* Opens a model of `size` bytes. */
int tacit_open(const void *data, size_t size, tacit_model **model, tacit_error *error);
void tacit_close(tacit_model *model);

/* Never suggests these words again, whatever their case and their apostrophes: the block list of Tacit. Other forms,
   such as a plural, are separate words. To be called before a session or keys are opened on the model. */
int tacit_block(tacit_model *model, const char *const *words, size_t count, tacit_error *error);

typedef struct {
    int network;         /* 1 for an 8-bit network, 0 for a compact n-gram file */
    int cased;           /* whether the model has capitals */
    uint32_t vocabulary; /* ids are 0 to vocabulary − 1; 0 to 2 are <s>, </s> and <unk> */
    uint32_t order;      /* of the n-grams; 0 for a network */
    size_t longest;      /* bytes of the longest word */
    char language[16];   /* of its text: a code such as pt or tr_TR; whose layout is the keyboard's affair */
} tacit_facts;

tacit_facts tacit_about(const tacit_model *model);

/* Writes the word of an id and a zero byte, at most `size` bytes; returns the bytes of the whole word, as snprintf
   does. An id that the model does not have is an empty word. */
size_t tacit_word(const tacit_model *model, uint32_t id, char *text, size_t size);

/* Returns the id of a word, in the case in which it is given; TACIT_UNKNOWN if the model does not have it. */
uint32_t tacit_id(const tacit_model *model, const char *word);

/* Whether a word is never suggested: a special, one that the file hides, or one that was blocked. */
int tacit_hidden(const tacit_model *model, uint32_t id);

int tacit_session_open(const tacit_model *model, tacit_session **session, tacit_error *error);
void tacit_session_close(tacit_session *session);

typedef struct {
    double log_p; /* natural logarithm of the probability after the context */
    uint32_t id;
} tacit_suggestion;

/* Writes the k likeliest next words, best first, ties by lower id, and how many there are. `best` has room for k. */
int tacit_suggest(tacit_session *session, const char *const *context, size_t words, size_t k,
                  tacit_suggestion *best, size_t *found, tacit_error *error);

/* The same for the words that begin with the typed letters, in any case. Words come as the model writes them; a
   keyboard that capitalises the start of a sentence does that itself. */
int tacit_complete(tacit_session *session, const char *const *context, size_t words, const char *typed, size_t k,
                   tacit_suggestion *best, size_t *found, tacit_error *error);

/* Writes the natural log p of words after a context; minus infinity for an impossible one. */
int tacit_log_p(tacit_session *session, const char *const *context, size_t words, const uint32_t *ids, size_t count,
                double *log_p, tacit_error *error);

#ifdef __cplusplus
}
#endif

#endif
