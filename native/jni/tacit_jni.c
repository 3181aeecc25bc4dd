/* The native half of Tacit.java. Java's strings become UTF-8 through their bytes, not through JNI's own "modified"
   UTF-8, which writes an emoji as two surrogates. */

#include <jni.h>
#include <stdlib.h>
#include <string.h>

#include "tacit.h"

struct handle { tacit_model *model; tacit_session *session; };
struct words { char **list; size_t count; };

static void throw_line(JNIEnv *env, const char *message) {
    jclass type = (*env)->FindClass(env, "java/lang/IllegalArgumentException");
    if (type) (*env)->ThrowNew(env, type, message);
}

static char *text_of(JNIEnv *env, jstring string) { /* NULL after an exception */
    jclass type = (*env)->FindClass(env, "java/lang/String");
    jmethodID bytes = type ? (*env)->GetMethodID(env, type, "getBytes", "(Ljava/lang/String;)[B") : NULL;
    jstring name = bytes ? (*env)->NewStringUTF(env, "UTF-8") : NULL;
    jbyteArray array = name && string ? (jbyteArray)(*env)->CallObjectMethod(env, string, bytes, name) : NULL;
    if ((*env)->ExceptionCheck(env)) return NULL;
    jsize size = array ? (*env)->GetArrayLength(env, array) : 0;
    char *text = array ? calloc((size_t)size + 1, 1) : NULL;
    if (text) (*env)->GetByteArrayRegion(env, array, 0, size, (jbyte *)text);
    (*env)->DeleteLocalRef(env, array);
    (*env)->DeleteLocalRef(env, name);
    (*env)->DeleteLocalRef(env, type);
    return text;
}

static jstring string_of(JNIEnv *env, const char *text) {
    jclass type = (*env)->FindClass(env, "java/lang/String");
    jmethodID make = type ? (*env)->GetMethodID(env, type, "<init>", "([BLjava/lang/String;)V") : NULL;
    jstring name = make ? (*env)->NewStringUTF(env, "UTF-8") : NULL;
    jbyteArray array = name ? (*env)->NewByteArray(env, (jsize)strlen(text)) : NULL;
    if (!array) return NULL;
    (*env)->SetByteArrayRegion(env, array, 0, (jsize)strlen(text), (const jbyte *)text);
    jstring string = (jstring)(*env)->NewObject(env, type, make, array, name);
    return (*env)->ExceptionCheck(env) ? NULL : string;
}

static void free_words(struct words *words) {
    for (size_t i = 0; i < words->count; i++) free(words->list[i]);
    free(words->list);
}

static int words_of(JNIEnv *env, jobjectArray array, struct words *words) {
    words->count = 0;
    jsize count = array ? (*env)->GetArrayLength(env, array) : 0;
    words->list = calloc((size_t)count + 1, sizeof *words->list);
    for (jsize i = 0; words->list && i < count; i++) {
        jstring string = (jstring)(*env)->GetObjectArrayElement(env, array, i);
        if ((*env)->ExceptionCheck(env)) break;
        if (!(words->list[words->count] = text_of(env, string))) break;
        words->count++;
        (*env)->DeleteLocalRef(env, string);
    }
    if (words->list && words->count == (size_t)count) return 1;
    if (!(*env)->ExceptionCheck(env)) throw_line(env, "a word is null, or there is too little memory");
    if (words->list) free_words(words);
    return 0;
}

JNIEXPORT void JNICALL Java_Tacit_close(JNIEnv *env, jclass type, jlong handle) {
    struct handle *h = (struct handle *)(intptr_t)handle;
    (void)env, (void)type;
    if (!h) return;
    tacit_session_close(h->session);
    tacit_close(h->model);
    free(h);
}

JNIEXPORT jlong JNICALL Java_Tacit_open(JNIEnv *env, jclass type, jobject buffer, jobjectArray blocked) {
    tacit_error error = {"the buffer is not direct"};
    struct handle *h = calloc(1, sizeof *h);
    struct words words;
    void *data = buffer ? (*env)->GetDirectBufferAddress(env, buffer) : NULL;
    if (h && words_of(env, blocked, &words)) {
        int done = data && !tacit_open(data, (size_t)(*env)->GetDirectBufferCapacity(env, buffer), &h->model, &error) &&
                   !tacit_block(h->model, (const char *const *)words.list, words.count, &error) &&
                   !tacit_session_open(h->model, &h->session, &error);
        free_words(&words);
        if (done) return (jlong)(intptr_t)h;
        throw_line(env, error.message);
    }
    Java_Tacit_close(env, type, (jlong)(intptr_t)h);
    return 0;
}

JNIEXPORT jobjectArray JNICALL Java_Tacit_complete(JNIEnv *env, jclass type, jlong handle, jobjectArray context,
                                                   jstring typed, jint k) {
    struct handle *h = (struct handle *)(intptr_t)handle;
    struct words words;
    tacit_error error = {"give letters, or an empty string, and a k of at least 1"};
    jobjectArray result = NULL;
    (void)type;
    if (!words_of(env, context, &words)) return NULL;
    size_t found = 0, room = tacit_about(h->model).longest + 1;
    char *prefix = text_of(env, typed), *word = calloc(room, 1);
    tacit_suggestion *best = calloc(k > 0 ? (size_t)k : 1, sizeof *best);
    if (prefix && word && best && k > 0 &&
        !tacit_complete(h->session, (const char *const *)words.list, words.count, prefix, (size_t)k, best, &found, &error)) {
        result = (*env)->NewObjectArray(env, (jsize)found, (*env)->FindClass(env, "java/lang/String"), NULL);
        for (size_t i = 0; result && i < found; i++) {
            tacit_word(h->model, best[i].id, word, room);
            (*env)->SetObjectArrayElement(env, result, (jsize)i, string_of(env, word));
            if ((*env)->ExceptionCheck(env)) break;
        }
    } else if (!(*env)->ExceptionCheck(env)) {
        throw_line(env, error.message);
    }
    free_words(&words), free(prefix), free(word), free(best);
    return result;
}
