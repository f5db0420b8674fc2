/* Context through which a proxy in C appends its records, in line: the layouts and the code of cca-abi's `recording`,
 * version 5.
 *
 *     uint64_t words[] = { (uint64_t)n };                                before the clock is read
 *     cca_recording call;
 *     int recorded = cca_recording_begin(&call, recorder, method, words, 1);
 *     ... the call ...
 *     if (recorded) cca_recording_end(&call, 1, failed);
 *
 * No function of another library is called unless a chunk is full, a call path is new, or a thread records for the
 * first time. A measurement never fails the measured call: a record that cannot be written is dropped and counted. A
 * signal handler may interrupt at any instruction, and longjmp may leave a call: the context's frame reveals both
 * (`context.rs`).
 */
#ifndef CCA_RECORDING_H
#define CCA_RECORDING_H

#include <stddef.h>
#include <stdint.h>

#define CCA_RECORDING_VERSION 5u
#define CCA_MAX_OPEN_CALLS 64u
#define CCA_N_CACHED_CALL_PATHS 64u
#define CCA_N_THREAD_PLACES 64u
#define CCA_HEAD_WORDS 4u
#define CCA_MAX_RECORD_WORDS 255u
#define CCA_MAX_COUNTERS 16u
/* Distance of prefetching ahead of a record: a page is available some twenty records later. */
#define CCA_PREFETCH_BYTES 1024

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
    uint64_t mpi_function;
    uint64_t mpi_start;
    uint64_t reserved[2];
    cca_open_call open[CCA_MAX_OPEN_CALLS];
} cca_log_cells;

/* A call path that is known: the caller's path and a method's key, and the first word of its records. */
typedef struct {
    uint64_t key;
    uint64_t head;
} cca_cached_path;

/* Context through which one thread appends its records; all zero in a forked child. */
typedef struct {
    int64_t frame; /* stack address of the innermost open call, above all without; below 0 while the code that records is at work */
    uint64_t parent;
    uintptr_t thread_pointer;
    const cca_recorder *recorder;
    cca_open_call *top; /* where the next open call goes */
    uint64_t mpi_ticks;
    uint64_t *cursor;
    uint64_t *end;
    uintptr_t origin;
    cca_log_cells *cells;
    cca_open_call *top_end;
    uint64_t flags;
    uint64_t (*clock)(void);
    uint64_t n_deeper; /* open calls that find no place */
    uint64_t thread;
    void *owner;
    const void *mpi_totals;
    uint64_t n_mpi_totals;
    const void *mpi_failed;
    uint64_t reserved[5];
    cca_cached_path paths[CCA_N_CACHED_CALL_PATHS]; /* by method */
    cca_cached_path other_paths[CCA_N_CACHED_CALL_PATHS]; /* by caller and method */
} __attribute__((aligned(64))) cca_recording_context;

/* Which calls of a method are admitted to the current component, and the port that answers the others (a cca_port). */
typedef struct cca_admission {
    uint32_t (*admits)(const struct cca_admission *self, const uint64_t *words, size_t n_words);
    const void *instead;
} cca_admission;

/* One monitored method: switched by the recorder, which owns it. */
typedef struct {
    uint64_t key; /* the id in the upper half, where calls take the straight path */
    uint32_t state; /* 0: off; 1: on; with 2: counters too; with 4: guarded, with 8: limited, see cca_port_proxy.h */
    uint32_t slot; /* where `paths` has its call paths, bytes */
    void *before;
    uint32_t id;
    const cca_admission *admission; /* with 8; a method of an earlier version ends before it */
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
    uint32_t (*begin_out_of_order)(const void *object, cca_recording_context *context, int64_t frame);
    uint32_t (*end_out_of_order)(const void *object, cca_recording_context *context, uint32_t path, uint64_t start,
                                 int64_t frame, int64_t now);
    cca_recording_context *places[CCA_N_THREAD_PLACES];
};

/* A call that is being measured. */
typedef struct {
    cca_recording_context *context;
    uint64_t start;
    uint64_t mpi;
    uint64_t head; /* first word of the record, check and failure still to come */
    uint64_t parent;
    int64_t frame; /* stack address where it begins; with CCA_SLOWLY if it ends out of line */
    int64_t around; /* the frame of the context before */
    cca_open_call *top; /* its place among the open calls; null if it has none */
    const uint64_t *words;
} cca_recording;

#define CCA_WORD_RECORD (UINT64_C(1) << 40)
#define CCA_WORD_FAILED (UINT64_C(1) << 44)
#define CCA_WORD_MPI_MEASURED (UINT64_C(1) << 45)
#define CCA_WORD_OTHER_CLOCK (UINT64_C(1) << 62)
#define CCA_WORD_COUNTED (UINT64_C(1) << 63)
/* No frame of a context has it. */
#define CCA_SLOWLY 1
/* Outcome of a call that ends while another call's frame is the innermost. */
#define CCA_COUNTED 0u
#define CCA_INNERMOST 1u
#define CCA_ALONE 2u
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

/* The stack address at which the calling function was called: the same for all that one function calls, however much stack each
 * of them takes. */
static inline __attribute__((always_inline)) int64_t cca_stack_address(void) {
    int64_t address;
#if defined(__x86_64__)
    address = (int64_t)(uintptr_t)__builtin_dwarf_cfa();
#else
    uint64_t here;
    address = (int64_t)((uintptr_t)&here & ~(uintptr_t)7);
#endif
    return address;
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

/* The proxy of a library is loaded at the start of a program, so a thread-local variable costs it one load. Libraries
 * that are loaded later share the little static room there is for such variables. */
#if defined(CCA_N_FUNCTIONS) && CCA_HAS_THREAD_POINTER
#define CCA_HAS_OWN_CONTEXT 1
static cca_recording_context cca_nobody;
static __thread cca_recording_context *cca_own_context __attribute__((tls_model("initial-exec"))) = &cca_nobody;
#else
#define CCA_HAS_OWN_CONTEXT 0
#endif

/* Whether the calling thread appends through a context; false also after the thread's end has begun. A call may end in another
 * thread than it began, as that of a coroutine does: so the thread pointer is read anew. */
static inline int cca_is_of_thread(const cca_recording_context *context) {
#if CCA_HAS_THREAD_POINTER
    uintptr_t pointer;
    __asm__ volatile("mov %%fs:0, %0" : "=r"(pointer));
    return __atomic_load_n(&context->thread_pointer, __ATOMIC_RELAXED) == pointer;
#else
    return context != NULL;
#endif
}

static inline cca_recording_context **cca_thread_place(const cca_recorder *recorder, uintptr_t thread) {
    return (cca_recording_context **)&recorder->places[(thread >> 12 ^ thread >> 18) % CCA_N_THREAD_PLACES];
}

/* Finds the context of a thread whose place has none. */
static __attribute__((noinline, cold, unused)) cca_recording_context *cca_find_context(const cca_recorder *recorder) {
    static __thread uint64_t identity;
    static __thread cca_recording_context *cached;
    if (identity == recorder->identity) {
#if CCA_HAS_OWN_CONTEXT
        cca_own_context = cached;
#endif
        return cached;
    }
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
#if CCA_HAS_OWN_CONTEXT
    cca_own_context = context;
#endif
    return context;
}

/* The calling thread's context; null if the thread cannot record. */
static inline cca_recording_context *cca_thread_context(const cca_recorder *recorder) {
    uintptr_t thread = cca_thread_pointer();
    cca_recording_context *context = __atomic_load_n(cca_thread_place(recorder, thread), __ATOMIC_ACQUIRE);
    if (CCA_HAS_THREAD_POINTER && __atomic_load_n(&context->thread_pointer, __ATOMIC_RELAXED) == thread) {
#if CCA_HAS_OWN_CONTEXT
        cca_own_context = context;
#endif
        return context;
    }
    return cca_find_context(recorder);
}

/* Marks that the recording code starts, for a call whose frame is `frame`: a signal handler that interrupts it does not
 * record. Values that a handler may change are read after it. */
static inline void cca_mark(cca_recording_context *context, int64_t mark) {
    __atomic_store_n(&context->frame, mark, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
#define CCA_BEGIN_MARK(frame) (~(frame))
#define CCA_END_MARK(frame) (-(frame))

/* Removes the mark; `frame` is the frame of the call that is now the innermost. */
static inline void cca_unmark(cca_recording_context *context, int64_t frame) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&context->frame, frame, __ATOMIC_RELAXED);
}

static inline int64_t cca_frame_of(const cca_recording_context *context) {
    return __atomic_load_n(&context->frame, __ATOMIC_RELAXED);
}

/* Place of a call path in the cache for methods with several callers. */
static inline uint32_t cca_other_slot(uint64_t key) {
    return (uint32_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 58);
}

/* The first word of the records of a method that is called from here, without the number of words and the check; 0 if the call
 * path cannot be defined, which is counted. */
static __attribute__((noinline, cold, unused)) uint64_t cca_find_path(const cca_recorder *recorder,
                                                                      cca_recording_context *context, uint32_t id) {
    uint64_t parent = context->parent, key = parent + ((uint64_t)id << 32);
    cca_cached_path *other = &context->other_paths[cca_other_slot(key)];
    if (other->key != key) {
        uint32_t path = recorder->call_path(recorder->object, context, (uint32_t)parent, id);
        if (path == 0) {
            recorder->lost(recorder->object, context, 0, 0, 0);
            return 0;
        }
        *other = (cca_cached_path){ key, path | CCA_WORD_RECORD | context->flags };
    }
    /* The straight path reads the time-stamp counter only. */
    if ((context->flags & CCA_WORD_OTHER_CLOCK) == 0) context->paths[id % CCA_N_CACHED_CALL_PATHS] = *other;
    return other->head;
}

/* Counts a call as lost since an expression of its mark-up divides by zero or reads a null pointer. */
static __attribute__((noinline, cold, unused)) void cca_lose_parameters(const cca_recorder *recorder,
                                                                        cca_recording_context *context,
                                                                        const cca_proxy_method *method) {
    if (__atomic_load_n(&method->state, __ATOMIC_RELAXED) == 0) return;
    recorder->lost(recorder->object, context, CCA_NO_PARAMETERS, __atomic_load_n(&method->id, __ATOMIC_RELAXED), 0);
}

/* Starts reading counters if the call has them, and reads the clock of the context, whichever it
 * is. */
static __attribute__((noinline, cold, unused)) uint64_t cca_begin_slowly(cca_recording_context *context, uint64_t head) {
    const cca_recorder *recorder = context->recorder;
    if ((head & CCA_WORD_COUNTED) && recorder != NULL)
        recorder->counters(recorder->object, context, (uint32_t)head, NULL);
    return context->clock != NULL ? context->clock() : cca_time_stamp_counter();
}

/* Notes a call that begins as open: its path, and, in the upper half, where on the stack it begins. */
static inline void cca_push_open_call(cca_recording_context *context, cca_open_call *top, uint64_t path, uint64_t start,
                                      int64_t frame) {
    __atomic_store_n(&top->path, path | (uint64_t)frame << 29, __ATOMIC_RELAXED);
    __atomic_store_n(&top->start, start, __ATOMIC_RELAXED);
    context->top = top + 1;
}

static inline void cca_pop_open_call(cca_recording_context *context, cca_open_call *top) {
    __atomic_store_n(&top->path, 0, __ATOMIC_RELAXED);
    context->top = top;
}

/* The begin of a call whose method is not simply switched on, whose thread or call path is new, whose frame is out of order, or that
 * has another clock. */
static __attribute__((noinline, cold, unused)) int cca_begin_otherwise(cca_recording *call, const cca_recorder *recorder,
                                                                       const cca_proxy_method *method,
                                                                       const uint64_t *words, uint32_t n_words,
                                                                       int64_t frame) {
    uint32_t state = __atomic_load_n(&method->state, __ATOMIC_RELAXED);
    if ((state & 1) == 0) return 0;
    cca_recording_context *context = cca_thread_context(recorder);
    if (context == NULL) return 0;
    if (frame >= cca_frame_of(context) && recorder->begin_out_of_order(recorder->object, context, frame) == 0) return 0;
    int64_t around = cca_frame_of(context);
    cca_mark(context, CCA_BEGIN_MARK(frame));
    uint64_t parent = context->parent;
    uint64_t head = cca_find_path(recorder, context, __atomic_load_n(&method->id, __ATOMIC_RELAXED));
    if (head == 0) {
        cca_unmark(context, around);
        return 0;
    }
    uint32_t path = (uint32_t)head;
    head |= (uint64_t)(CCA_HEAD_WORDS + n_words) << 32;
    if (state & 2) head |= CCA_WORD_COUNTED;
    cca_open_call *top = context->top < context->top_end ? context->top : NULL;
    int64_t slowly = top == NULL || (head & (CCA_WORD_COUNTED | CCA_WORD_OTHER_CLOCK)) ? CCA_SLOWLY : 0;
    *call = (cca_recording){ context, 0, context->mpi_ticks, head, parent, frame | slowly, around, top, words };
    call->start = cca_begin_slowly(context, head);
    context->parent = path;
    if (top != NULL)
        cca_push_open_call(context, top, path, call->start, frame);
    else
        context->n_deeper++;
    cca_unmark(context, frame);
    return 1;
}

/* Begins to measure a call of `method` with `n_words` parameters, which stay where they are until its end; the clock is
 * read last. Gives 0 if the method is switched off or the call cannot be recorded, which is counted. */
static CCA_IN_LINE int cca_recording_begin(cca_recording *call, const cca_recorder *recorder, const cca_proxy_method *method,
                                      const uint64_t *words, uint32_t n_words) {
    int64_t frame = cca_stack_address();
#if CCA_HAS_OWN_CONTEXT
    cca_recording_context *context = cca_own_context;
    int is_own = context->recorder == recorder;
#else
    uintptr_t thread = cca_thread_pointer();
    cca_recording_context *context = __atomic_load_n(cca_thread_place(recorder, thread), __ATOMIC_ACQUIRE);
    int is_own = CCA_HAS_THREAD_POINTER && __atomic_load_n(&context->thread_pointer, __ATOMIC_RELAXED) == thread;
#endif
    int64_t around = cca_frame_of(context);
    cca_open_call *top = context->top;
    /* Nothing is kept across a call of another function here, so that no register needs to be saved. */
    if (__builtin_expect(!is_own || frame >= around || top >= context->top_end, 0))
        return cca_begin_otherwise(call, recorder, method, words, n_words, frame);
    cca_mark(context, CCA_BEGIN_MARK(frame));
    uint64_t parent = context->parent;
    const cca_cached_path *cached =
        (const cca_cached_path *)((const char *)context->paths + __atomic_load_n(&method->slot, __ATOMIC_RELAXED));
    if (__builtin_expect(cached->key != parent + __atomic_load_n(&method->key, __ATOMIC_RELAXED), 0)) {
        cca_unmark(context, around);
        return cca_begin_otherwise(call, recorder, method, words, n_words, frame);
    }
    uint64_t head = cached->head, path = (uint32_t)head;
    context->parent = path;
    call->context = context;
    call->parent = parent;
    call->frame = frame;
    call->around = around;
    call->top = top;
    call->words = words;
    call->mpi = context->mpi_ticks;
    /* Atomic, so that the compiler does not bring it together with another word in a vector first. */
    __atomic_store_n(&call->head, head | (uint64_t)(CCA_HEAD_WORDS + n_words) << 32, __ATOMIC_RELAXED);
    call->start = cca_time_stamp_counter();
    cca_push_open_call(context, top, path, call->start, frame);
    cca_unmark(context, frame);
    return 1;
}

/* Prefetches memory that is written soon: a store to the start of a new page would cost hundreds of nanoseconds. */
static inline void cca_ask_for(char *address) {
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*address));
#else
    __builtin_prefetch(address, 1);
#endif
}

/* Appends a record of `n_words` parameters, and one more if `has_more`. */
static CCA_IN_LINE void cca_append_record(const cca_recording *call, uint64_t head, uint64_t stop, const uint64_t *words,
                                          uint32_t n_words, uint32_t has_more) {
    cca_recording_context *context = call->context;
    uint64_t *cursor = context->cursor, *next = cursor + CCA_HEAD_WORDS + n_words + has_more;
    uint64_t start = call->start, wall = stop > start ? stop - start : 0;
    uint64_t mpi = context->mpi_ticks - call->mpi;
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
    cca_ask_for((char *)cursor + CCA_PREFETCH_BYTES);
    context->cursor = next;
    __atomic_store_n(&context->cells->committed, (uintptr_t)next - context->origin, __ATOMIC_RELEASE);
}

/* Appends a record of parameters and counters. */
static inline void cca_append_parts(cca_recording_context *context, uint64_t head, const uint64_t *times,
                                    const uint64_t *words, uint32_t n_words, const uint64_t *counters, uint32_t n_counters) {
    uint64_t *next = context->cursor, check = head;
    for (uint32_t place = 0; place < CCA_HEAD_WORDS - 1; place++) check ^= *++next = times[place];
    for (uint32_t place = 0; place < n_words; place++) check ^= *++next = words[place];
    for (uint32_t place = 0; place < n_counters; place++) check ^= *++next = counters[place];
    check ^= check >> 32;
    *context->cursor = head | (check ^ check >> 16) << 48;
    context->cursor = ++next;
    __atomic_store_n(&context->cells->committed, (uintptr_t)next - context->origin, __ATOMIC_RELEASE);
}

/* The end of a call that failed, has counters or another clock, fills its chunk, whose frame is not the innermost one, or in another
 * thread: there it has no record, and the thread it began in finds it left. */
static __attribute__((noinline, cold, unused)) void cca_end_slowly(cca_recording *call, uint64_t stop, int failed) {
    cca_recording_context *context = call->context;
    const cca_recorder *recorder = context->recorder;
    if (recorder == NULL) return; /* cleared for a forked child */
    if (!cca_is_of_thread(context) && cca_thread_context(recorder) != context) return;
    if ((call->head & CCA_WORD_OTHER_CLOCK) && context->clock != NULL) stop = context->clock();
    uint32_t n_values = (uint32_t)(call->head >> 32 & 0xFF) - CCA_HEAD_WORDS, path = (uint32_t)call->head;
    uint64_t wall = stop > call->start ? stop - call->start : 0;
    /* Smaller if a forked child, whose context was cleared, ends a call that its parent began. */
    if (context->mpi_ticks < call->mpi) call->mpi = context->mpi_ticks;
    uint64_t mpi = context->mpi_ticks - call->mpi;
    int64_t frame = call->frame & ~(int64_t)CCA_SLOWLY;
    int is_marked = cca_frame_of(context) == CCA_END_MARK(frame);
    uint32_t ends = is_marked || cca_frame_of(context) == frame
                        ? CCA_INNERMOST
                        : recorder->end_out_of_order(recorder->object, context, path, call->start, frame, frame);
    if (ends == CCA_COUNTED) {
        recorder->lost(recorder->object, context, path, wall, mpi);
        return;
    }
    int64_t before = cca_frame_of(context);
    if (!is_marked) cca_mark(context, CCA_END_MARK(frame));
    uint64_t counters[CCA_MAX_COUNTERS];
    uint32_t n_counters = 0;
    /* The counters of a call that is not among the open ones were forgotten with it. */
    if ((call->head & CCA_WORD_COUNTED) && ends != CCA_ALONE)
        n_counters = recorder->counters(recorder->object, context, path, counters);
    uint64_t n_words = CCA_HEAD_WORDS + n_values + n_counters;
    uint64_t head = path | n_words << 32 | CCA_WORD_RECORD | (call->head & CCA_WORD_MPI_MEASURED);
    if (failed) head |= CCA_WORD_FAILED;
    if (n_words <= CCA_MAX_RECORD_WORDS &&
        ((uint64_t)(context->end - context->cursor) >= n_words ||
         recorder->roll_over(recorder->object, context, n_words) != 0))
        cca_append_parts(context, head, (uint64_t[]){ call->start, wall, mpi }, call->words, n_values, counters, n_counters);
    else
        recorder->lost(recorder->object, context, path, wall, mpi);
    if (ends == CCA_ALONE) {
        cca_unmark(context, before);
        return;
    }
    if (call->top != NULL)
        cca_pop_open_call(context, call->top);
    else
        context->n_deeper--;
    context->parent = call->parent;
    cca_unmark(context, call->around);
}

/* As `cca_recording_end`, with one word more if `has_more`. */
static CCA_IN_LINE void cca_recording_end_with(cca_recording *call, const uint64_t *words, uint32_t n_words,
                                               uint32_t has_more, int failed) {
    uint64_t stop = cca_time_stamp_counter();
    cca_recording_context *context = call->context;
    if (__builtin_expect(!failed && cca_frame_of(context) == call->frame && cca_is_of_thread(context), 1)) {
        cca_mark(context, CCA_END_MARK(call->frame));
        if (__builtin_expect(context->cursor + CCA_HEAD_WORDS + n_words + has_more <= context->end, 1)) {
            cca_append_record(call, call->head, stop, words, n_words, has_more);
            cca_pop_open_call(context, call->top);
            context->parent = call->parent;
            cca_unmark(context, call->around);
            return;
        }
    }
    cca_end_slowly(call, stop, failed);
}

/* Ends the measurement and appends the record, of as many words as at the begin. */
static inline void cca_recording_end(cca_recording *call, uint32_t n_words, int failed) {
    cca_recording_end_with(call, call->words, n_words, 0, failed);
}

#endif
