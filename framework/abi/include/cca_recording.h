/* What a proxy in C appends its records through, in line: the layouts and the code of cca-abi's `recording`, version 4.
 *
 *     uint64_t words[] = { (uint64_t)n };                                before the clock is read
 *     cca_recording call;
 *     int recorded = cca_recording_begin(&call, recorder, method, words, 1);
 *     ... the call ...
 *     if (recorded) cca_recording_end(&call, 1, failed);
 *
 * No function of another library is called unless a chunk is full, a call path is new, or a thread records for the first
 * time. A measurement never fails the measured call: what cannot be recorded is dropped and counted.
 */
#ifndef CCA_RECORDING_H
#define CCA_RECORDING_H

#include <stddef.h>
#include <stdint.h>

#define CCA_RECORDING_VERSION 4u
#define CCA_MAX_OPEN_CALLS 64u
#define CCA_N_CACHED_CALL_PATHS 64u
#define CCA_N_THREAD_PLACES 64u
#define CCA_HEAD_WORDS 4u
#define CCA_MAX_RECORD_WORDS 255u
#define CCA_MAX_COUNTERS 16u

typedef struct cca_recorder cca_recorder;

/* A call that has begun and not ended. */
typedef struct {
    uint64_t path;
    uint64_t start;
} cca_open_call;

/* The part of a log's header that the recording thread writes; read by others at any time. */
typedef struct {
    uint64_t committed;
    uint64_t depth;
    uint64_t dropped;
    uint64_t mpi_latest;
    uint64_t reserved[4];
    cca_open_call open[CCA_MAX_OPEN_CALLS];
} cca_log_cells;

/* What one thread appends its records through; all zero in a forked child. */
typedef struct {
    uint64_t *cursor;
    uint64_t *end;
    uintptr_t origin;
    cca_log_cells *cells;
    uint64_t mpi_ticks;
    uint64_t flags;
    uint64_t parent;
    uintptr_t thread_pointer;
    uint64_t (*clock)(void);
    const cca_recorder *recorder;
    uint64_t thread;
    void *owner;
    const void *mpi_totals;
    uint64_t n_mpi_totals;
    const void *mpi_failed;
    uint64_t reserved;
    uint64_t cached_keys[CCA_N_CACHED_CALL_PATHS];
    uint64_t cached_paths[CCA_N_CACHED_CALL_PATHS];
} __attribute__((aligned(64))) cca_recording_context;

/* One monitored method: switched by the recorder, which owns it. */
typedef struct {
    uint64_t word;
    uint32_t state; /* 0: off; 1: on; with 2: counters too; with 4: guarded, see cca_port_proxy.h */
    void *before;
} cca_proxy_method;

struct cca_recorder {
    uint64_t version;
    const void *object;
    uint64_t identity;
    cca_recording_context *(*context)(const void *object);
    uint32_t (*roll_over)(const void *object, cca_recording_context *context, uint64_t words);
    uint32_t (*call_path)(const void *object, cca_recording_context *context, uint32_t parent, uint32_t method);
    void (*lost)(const void *object, cca_recording_context *context, uint32_t path, uint64_t wall, uint64_t mpi);
    uint32_t (*counters)(const void *object, cca_recording_context *context, uint32_t path, uint64_t *out);
    cca_recording_context *places[CCA_N_THREAD_PLACES];
};

/* A call that is being measured. */
typedef struct {
    cca_recording_context *context;
    uint64_t start;
    uint64_t mpi;
    uint64_t head; /* first word of the record, check and failure still to come */
    uint64_t parent;
    const uint64_t *words;
} cca_recording;

#define CCA_WORD_RECORD (UINT64_C(1) << 40)
#define CCA_WORD_FAILED (UINT64_C(1) << 44)
#define CCA_WORD_MPI_MEASURED (UINT64_C(1) << 45)
#define CCA_WORD_OTHER_CLOCK (UINT64_C(1) << 62)
#define CCA_WORD_COUNTED (UINT64_C(1) << 63)
#define CCA_PATH_MASK ((UINT64_C(1) << 24) - 1)
#define CCA_SLOT_SHIFT 58
/* In place of a call path; `wall` is the method's id then. */
#define CCA_NO_PARAMETERS UINT32_MAX

/* Few functions have their calls recorded in line, which takes a nanosecond less; thousands would take the compiler too long. */
#if defined(CCA_N_FUNCTIONS) && CCA_N_FUNCTIONS <= 256
#define CCA_IN_LINE inline __attribute__((always_inline))
#else
#define CCA_IN_LINE inline
#endif

#if defined(__x86_64__) && defined(__linux__)
#define CCA_HAS_THREAD_POINTER 1
#else
#define CCA_HAS_THREAD_POINTER 0
#endif

static inline uint64_t cca_time_stamp_counter(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

static inline uintptr_t cca_thread_pointer(void) {
#if CCA_HAS_THREAD_POINTER
    uintptr_t pointer;
    __asm__("mov %%fs:0, %0" : "=r"(pointer));
    return pointer;
#else
    return 0;
#endif
}

static inline cca_recording_context **cca_thread_place(const cca_recorder *recorder, uintptr_t thread) {
    uint32_t hash = (uint32_t)(thread >> 6) * UINT32_C(0x9E3779B9);
    return (cca_recording_context **)&recorder->places[hash >> 26];
}

/* The context of a thread that has none at its place. */
static __attribute__((noinline, cold, unused)) cca_recording_context *cca_find_context(const cca_recorder *recorder) {
    static __thread uint64_t identity;
    static __thread cca_recording_context *cached;
    if (identity == recorder->identity) return cached;
    cca_recording_context *context = recorder->context(recorder->object);
    if (context == NULL) return NULL;
    context->recorder = recorder;
    __atomic_store_n(&context->thread_pointer, cca_thread_pointer(), __ATOMIC_RELAXED);
    cca_recording_context **place = cca_thread_place(recorder, cca_thread_pointer());
    cca_recording_context *there = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&there->thread_pointer, __ATOMIC_RELAXED) == 0)
        __atomic_store_n(place, context, __ATOMIC_RELEASE);
    identity = recorder->identity;
    cached = context;
    return context;
}

/* The calling thread's context; null if the thread cannot record. */
static inline cca_recording_context *cca_thread_context(const cca_recorder *recorder) {
    uintptr_t thread = cca_thread_pointer();
    cca_recording_context *context = __atomic_load_n(cca_thread_place(recorder, thread), __ATOMIC_ACQUIRE);
    if (CCA_HAS_THREAD_POINTER && __atomic_load_n(&context->thread_pointer, __ATOMIC_RELAXED) == thread)
        return context;
    return cca_find_context(recorder);
}

/* Defines the call path of a method that is called from here for the first time. */
static __attribute__((noinline, cold, unused)) int cca_enter_new(const cca_recorder *recorder,
                                                                 cca_recording_context *context, uint64_t method_word) {
    uint32_t parent = (uint32_t)(context->parent & CCA_PATH_MASK);
    uint32_t path = recorder->call_path(recorder->object, context, parent, (uint32_t)(method_word >> 24));
    if (path != 0 && path <= CCA_PATH_MASK) {
        uint64_t key = context->parent + method_word;
        uint64_t entered = path | (uint64_t)path * 9 << CCA_SLOT_SHIFT;
        context->cached_keys[key >> CCA_SLOT_SHIFT] = key;
        context->cached_paths[key >> CCA_SLOT_SHIFT] = entered;
        context->parent = entered;
        return 1;
    }
    recorder->lost(recorder->object, context, 0, 0, 0);
    return 0;
}

/* Counts a call as lost since an expression of its mark-up divides by zero or reads a null pointer. */
static __attribute__((noinline, cold, unused)) void cca_lose_parameters(const cca_recorder *recorder,
                                                                        cca_recording_context *context,
                                                                        const cca_proxy_method *method) {
    if (__atomic_load_n(&method->state, __ATOMIC_RELAXED) == 0) return;
    uint64_t method_word = __atomic_load_n(&method->word, __ATOMIC_RELAXED);
    recorder->lost(recorder->object, context, CCA_NO_PARAMETERS, (uint32_t)(method_word >> 24), 0);
}

/* Begins to read counters where the call has them, and reads whatever clock there is. */
static __attribute__((noinline, cold, unused)) uint64_t cca_begin_slowly(cca_recording_context *context, uint64_t head) {
    const cca_recorder *recorder = context->recorder;
    if ((head & CCA_WORD_COUNTED) && recorder != NULL)
        recorder->counters(recorder->object, context, (uint32_t)head, NULL);
    return context->clock != NULL ? context->clock() : cca_time_stamp_counter();
}

/* Notes a call that begins as open. */
static inline void cca_push_open_call(cca_log_cells *cells, uint64_t path, uint64_t start) {
    uint64_t depth = __atomic_load_n(&cells->depth, __ATOMIC_RELAXED);
    if (__builtin_expect(depth < CCA_MAX_OPEN_CALLS, 1)) {
        __atomic_store_n(&cells->open[depth].path, path, __ATOMIC_RELAXED);
        __atomic_store_n(&cells->open[depth].start, start, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&cells->depth, depth + 1, __ATOMIC_RELEASE);
}

static inline uint64_t cca_record_head(const cca_recording_context *context, uint64_t path, uint32_t n_words) {
    return path | (uint64_t)(CCA_HEAD_WORDS + n_words) << 32 | CCA_WORD_RECORD | context->flags;
}

/* The begin of a call whose method is not simply switched on, whose thread or call path is new, or that has another clock. */
static __attribute__((noinline, cold, unused)) int cca_begin_otherwise(cca_recording *call, const cca_recorder *recorder,
                                                                       const cca_proxy_method *method,
                                                                       const uint64_t *words, uint32_t n_words) {
    uint32_t state = __atomic_load_n(&method->state, __ATOMIC_RELAXED);
    if ((state & 1) == 0) return 0;
    cca_recording_context *context = cca_thread_context(recorder);
    if (context == NULL) return 0;
    uint64_t method_word = __atomic_load_n(&method->word, __ATOMIC_RELAXED);
    uint64_t parent = context->parent;
    uint64_t key = parent + method_word;
    if (context->cached_keys[key >> CCA_SLOT_SHIFT] == key)
        context->parent = context->cached_paths[key >> CCA_SLOT_SHIFT];
    else if (!cca_enter_new(recorder, context, method_word))
        return 0;
    uint64_t path = context->parent & CCA_PATH_MASK;
    uint64_t head = cca_record_head(context, path, n_words);
    if (state & 2) head |= CCA_WORD_COUNTED;
    *call = (cca_recording){ context, 0, context->mpi_ticks, head, parent, words };
    call->start = cca_begin_slowly(context, head);
    cca_push_open_call(context->cells, path, call->start);
    return 1;
}

/* Begins to measure a call of `method` with `n_words` parameters, which stay where they are until its end; the clock is
 * read last. Gives 0 if the method is switched off or the call cannot be recorded, which is counted. */
static CCA_IN_LINE int cca_recording_begin(cca_recording *call, const cca_recorder *recorder, const cca_proxy_method *method,
                                      const uint64_t *words, uint32_t n_words) {
    uintptr_t thread = cca_thread_pointer();
    cca_recording_context *context = __atomic_load_n(cca_thread_place(recorder, thread), __ATOMIC_ACQUIRE);
    uint64_t parent = context->parent;
    uint64_t key = parent + __atomic_load_n(&method->word, __ATOMIC_RELAXED);
    uint64_t slot = key >> CCA_SLOT_SHIFT;
    /* Nothing is kept across a call of another function here, so that no register needs to be saved. */
    if (__builtin_expect(!CCA_HAS_THREAD_POINTER || __atomic_load_n(&method->state, __ATOMIC_RELAXED) != 1 ||
                             __atomic_load_n(&context->thread_pointer, __ATOMIC_RELAXED) != thread ||
                             context->cached_keys[slot] != key || (context->flags & CCA_WORD_OTHER_CLOCK), 0))
        return cca_begin_otherwise(call, recorder, method, words, n_words);
    uint64_t entered = context->cached_paths[slot], path = entered & CCA_PATH_MASK;
    context->parent = entered;
    call->context = context;
    call->parent = parent;
    call->words = words;
    call->mpi = context->mpi_ticks;
    /* Atomic, so that the compiler does not bring it together with another word in a vector first. */
    __atomic_store_n(&call->head, cca_record_head(context, path, n_words), __ATOMIC_RELAXED);
    call->start = cca_time_stamp_counter();
    cca_push_open_call(context->cells, path, call->start);
    return 1;
}

static inline void cca_pop_open_call(cca_log_cells *cells) {
    uint64_t depth = __atomic_load_n(&cells->depth, __ATOMIC_RELAXED);
    __atomic_store_n(&cells->depth, depth - 1, __ATOMIC_RELEASE);
}

/* Appends a record of `n_words` parameters, and one more if `has_more`, and ends its call. */
static CCA_IN_LINE void cca_append_record(const cca_recording *call, uint64_t head, uint64_t stop, const uint64_t *words,
                                          uint32_t n_words, uint32_t has_more) {
    cca_recording_context *context = call->context;
    cca_log_cells *cells = context->cells;
    uint64_t *cursor = context->cursor, *next = cursor + CCA_HEAD_WORDS + n_words + has_more;
    uint64_t start = call->start, wall = stop > start ? stop - start : 0;
    /* Below where a forked child, whose context was cleared, ends a call that its parent began. */
    uint64_t mpi = context->mpi_ticks > call->mpi ? context->mpi_ticks - call->mpi : 0;
    __atomic_store_n(&cursor[1], start, __ATOMIC_RELAXED);
    __atomic_store_n(&cursor[2], wall, __ATOMIC_RELAXED);
    __atomic_store_n(&cursor[3], mpi, __ATOMIC_RELAXED);
    uint64_t check = head ^ start ^ wall ^ mpi;
#pragma GCC unroll 8
    for (uint32_t place = 0; place < n_words; place++) {
        __atomic_store_n(&cursor[CCA_HEAD_WORDS + place], words[place], __ATOMIC_RELAXED);
        check ^= words[place];
    }
    if (has_more) {
        __atomic_store_n(&cursor[CCA_HEAD_WORDS + n_words], words[n_words], __ATOMIC_RELAXED);
        check ^= words[n_words];
    }
    check ^= check >> 32;
    cursor[0] = head | (check ^ check >> 16) << 48;
    context->cursor = next;
    __atomic_store_n(&cells->committed, (uintptr_t)next - context->origin, __ATOMIC_RELEASE);
    cca_pop_open_call(cells);
}

/* The end of a call that failed, has counters or another clock, or fills its chunk. */
static __attribute__((noinline, cold, unused)) void cca_end_slowly(const cca_recording *call, uint64_t stop, int failed) {
    cca_recording_context *context = call->context;
    const cca_recorder *recorder = context->recorder;
    context->parent = call->parent;
    if (recorder == NULL) return; /* cleared for a forked child */
    if ((call->head & CCA_WORD_OTHER_CLOCK) && context->clock != NULL) stop = context->clock();
    uint64_t values[CCA_MAX_RECORD_WORDS + CCA_MAX_COUNTERS];
    uint32_t n_values = (uint32_t)(call->head >> 32 & 0xFF) - CCA_HEAD_WORDS, path = (uint32_t)call->head;
    for (uint32_t place = 0; place < n_values; place++) values[place] = call->words[place];
    if (call->head & CCA_WORD_COUNTED)
        n_values += recorder->counters(recorder->object, context, path, values + n_values);
    uint64_t n_words = CCA_HEAD_WORDS + n_values;
    uint64_t head = path | n_words << 32 | CCA_WORD_RECORD | (call->head & CCA_WORD_MPI_MEASURED);
    if (failed) head |= CCA_WORD_FAILED;
    if (n_words <= CCA_MAX_RECORD_WORDS &&
        ((uint64_t)(context->end - context->cursor) >= n_words ||
         recorder->roll_over(recorder->object, context, n_words) != 0)) {
        cca_append_record(call, head, stop, values, n_values, 0);
    } else {
        uint64_t wall = stop > call->start ? stop - call->start : 0;
        uint64_t mpi = context->mpi_ticks > call->mpi ? context->mpi_ticks - call->mpi : 0;
        recorder->lost(recorder->object, context, path, wall, mpi);
        cca_pop_open_call(context->cells);
    }
}

/* As `cca_recording_end`, with one word more if `has_more`. */
static CCA_IN_LINE void cca_recording_end_with(const cca_recording *call, const uint64_t *words, uint32_t n_words,
                                               uint32_t has_more, int failed) {
    uint64_t stop = cca_time_stamp_counter();
    cca_recording_context *context = call->context;
    if (__builtin_expect(!failed && (call->head & (CCA_WORD_COUNTED | CCA_WORD_OTHER_CLOCK)) == 0 &&
                             context->cursor + CCA_HEAD_WORDS + n_words + has_more <= context->end, 1)) {
        context->parent = call->parent;
        cca_append_record(call, call->head, stop, words, n_words, has_more);
    } else {
        cca_end_slowly(call, stop, failed);
    }
}

/* Ends the measurement and appends the record, of as many words as at the begin. */
static inline void cca_recording_end(const cca_recording *call, uint32_t n_words, int failed) {
    cca_recording_end_with(call, call->words, n_words, 0, failed);
}

#endif
