/* Internal: what the sources need of each other. */

#ifndef TACIT_INTERNAL_H
#define TACIT_INTERNAL_H

#include "tacit.h"

/* Writes one line into `error`, unless it is NULL, and returns the code. */
int tacit_fail(tacit_error *error, int code, const char *format, ...);
int tacit_no_memory(tacit_error *error);

/* Reads the next code point and moves on; −1, without moving, if it is no UTF-8. A surrogate is given as it is. */
int32_t tacit_next_code(const uint8_t **at, const uint8_t *end);

/* Writes a code point as at most four bytes and returns how many. */
size_t tacit_put_code(uint32_t code, char *to);

/* Writes text with plain apostrophes for typographic ones, and returns its bytes: no more than before. */
size_t tacit_plain_text(const char *text, char *to);

/* Writes text in lower case, as Python's `lower`; `turkish`: I becomes ı and İ becomes i. `to` has room for 3 bytes for
   each of `text`, and one more. */
void tacit_lower_text(const char *text, size_t size, int turkish, char *to);

/* The same by the rules of a model's language. */
void tacit_lower(const tacit_model *model, const char *text, size_t size, char *to);

/* Writes text with capitals. `how` 1: the first letter, 2: all of them. `to` has the same room. */
void tacit_raise_text(const char *text, int how, int turkish, char *to);

/* The letters that are another one with a mark: the tables in an order in which they can be searched. Returns 0 if
   there is no memory; `list` is freed by the caller. */
struct tacit_form { uint32_t letter, base, mark; };
struct tacit_forms { struct tacit_form *list; size_t count; };
int tacit_open_forms(struct tacit_forms *forms);

/* Takes a letter apart (the canonical decomposition) and returns how many code points it has: at most 4. */
size_t tacit_take_apart(const struct tacit_forms *forms, uint32_t code, uint32_t *to);

/* Whether this is a mark that goes with Latin letters. */
int tacit_is_accent(uint32_t code);

/* Writes the form that all spellings of a word share, `tacit.text.blocked.fold`, as code points and a zero. `to` has
   room for 4 for each byte, and one more. Returns 0 if the text is no UTF-8. */
int tacit_fold(const struct tacit_forms *forms, const char *text, size_t size, uint32_t *to);

/* The hashes of a dictionary, ascending. Reading returns 1, or 0 if the bytes are no dictionary, or −1 without memory;
   `list` is freed by the caller. */
struct tacit_hashes { uint32_t *list, range; size_t count; };
int tacit_read_hashes(const uint8_t *data, size_t size, struct tacit_hashes *hashes);
int tacit_has_hash(const struct tacit_hashes *hashes, const char *text, size_t size);

/* Returns the bytes of the word of which a text is the possessive or the regular plural; 0 if it is neither. */
size_t tacit_stem(const char *text, size_t size);

/* Brings a session to a context; then gives log p of a word after it. */
void tacit_read_context(tacit_session *session, const char *const *context, size_t words);
double tacit_log_p_after(const tacit_session *session, uint32_t id);

#endif
