/* Common parts of every generated proxy of a C library, which passes the program's calls on to an implementation.
 *
 *     crc32(…)      the proxy's own symbol:  jmp *cca_proxy_entries_v1[i]
 *                       at first             cca_resolve_i: finds the program's library, then as below
 *                       not recorded         the implementation's crc32 itself
 *                       recorded             record_crc32, which reads the implementation once, records, and calls
 *
 * An implementation is immutable; which one is in use is one pointer, so that a call goes to one of them whole and its
 * record names that one. The generated source defines CCA_N_FUNCTIONS and cca_proxy_functions, then includes this.
 *
 * The library's loader (libmastermind_preload) reaches the proxy through cca_proxy_v1(). The arrays with `_v1` in their
 * names are for libproxy_audit, which counts the definitions of each name that the program has mapped: where there are
 * several (two libraries, or two versions in one), the proxy replaces one of them, and calls of the others bypass it.
 */
#ifndef CCA_PROXY_H
#define CCA_PROXY_H

#if !defined(__x86_64__) || !defined(__linux__)
#error "the proxy of a C library needs Linux on x86-64"
#endif

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cca_expression.h"
#include "cca_recording.h"

#define CCA_PROXY_VERSION 3u
#define CCA_EXPORTED __attribute__((visibility("default")))
/* Seen by others, but never replaced by the equal name of another proxy. */
#define CCA_SEEN __attribute__((visibility("protected")))

/* One performance parameter of a function. */
typedef struct {
    const char *name;
    uint32_t kind; /* 0: integer, 1: real, 2: enumeration */
    uint32_t n_labels;
    const char *const *labels;
    const char *unit;
} cca_proxy_parameter;

/* Bits of a function: its calls can be recorded, else they are forwarded only; it replaces another definition of the
 * name, behind `cca_spare_N_`, whose calls are never redirected. */
#define CCA_RECORDED 1u
#define CCA_OTHER 2u

/* One function of the interface. */
typedef struct {
    const char *name;
    const char *group;
    const char *signature;
    const cca_proxy_parameter *parameters;
    uint32_t n_parameters;
    uint32_t is_recorded; /* CCA_RECORDED, CCA_OTHER */
} cca_proxy_function;

/* A library that calls may go to. Never changed, never freed, and used again when calls return to it. It contains all
 * data that a call needs, one load away. */
typedef struct cca_implementation {
    const cca_recorder *recorder;
    const struct cca_implementation *next; /* the one made before */
    uint32_t has_call_sites;               /* whether the caller's address is the last word of each record */
    uint32_t is_other;                     /* whether it is another library than the program's own */
    struct {
        void *function; /* null where calls go to the program's own library */
        const cca_proxy_method *method; /* null while nothing is recorded */
    } routes[CCA_N_FUNCTIONS];
} cca_implementation;

/* Functions that the proxy offers to the library that loads it. */
typedef struct {
    uint64_t size;
    uint64_t version;
    const char *interface;
    const cca_proxy_function *functions;
    uint64_t n_functions;
    /* From now on `callback` is called before the first call of each function begins, by every thread that makes such a
     * call; it does its work once, and lets other threads wait meanwhile. It returns 1 to be called again before the
     * function's next call. */
    void (*before_first_call)(uint32_t (*callback)(void));
    /* Path of the program's own library, as far as one is loaded; null if none is. */
    const char *(*own_library)(void);
    /* From now on calls go to `functions`, null for the program's own library, and are recorded as `methods` unless they
     * are null. Functions that are null in `functions` end the process with a message when they are called. Gives 0, and
     * changes nothing, if the recorder is of another version or there is no memory. */
    uint32_t (*use)(void *const *functions, const cca_proxy_method *const *methods, const cca_recorder *recorder,
                    uint32_t has_call_sites);
} cca_proxy_entry_points;

extern const cca_proxy_function cca_proxy_functions[CCA_N_FUNCTIONS] __attribute__((visibility("hidden")));
extern const char cca_proxy_interface[] __attribute__((visibility("hidden")));
/* The wrappers that record; null for functions that are forwarded only. */
static void *const cca_recorders[CCA_N_FUNCTIONS];
/* The ends of the process, one a function, where an implementation has no function. */
extern void *const cca_missing[CCA_N_FUNCTIONS] __attribute__((visibility("hidden")));

/* Names, ended by an empty one, in the order of all arrays. */
extern CCA_SEEN const char cca_proxy_names_v1[];
/* Where each symbol of the proxy leads. */
extern CCA_SEEN void *cca_proxy_entries_v1[CCA_N_FUNCTIONS];
/* Where each leads at first. */
extern CCA_SEEN void *const cca_proxy_resolvers_v1[CCA_N_FUNCTIONS];
/* Number of mapped definitions of each name, without the proxy's; 0 if they are not counted. */
CCA_SEEN uint32_t cca_proxy_counts_v1[CCA_N_FUNCTIONS];
/* The program's own library, as far as it is known. */
CCA_SEEN void *cca_proxy_targets_v1[CCA_N_FUNCTIONS];

/* The definition that each function replaces, as the dynamic linker bound it; null if unknown. If a name has
 * several definitions, calls of the others do not come here. */
CCA_SEEN void *cca_proxy_homes_v1[CCA_N_FUNCTIONS];
/* Whether that is a function which gives the address of the one to call (IFUNC). */
CCA_SEEN uint32_t cca_proxy_home_is_ifunc_v1[CCA_N_FUNCTIONS];

static const cca_implementation cca_own_unrecorded;
static const cca_implementation *cca_current = &cca_own_unrecorded;
static uint32_t (*cca_callback)(void);

static inline const cca_implementation *cca_now(void) { return __atomic_load_n(&cca_current, __ATOMIC_ACQUIRE); }

static int cca_is_own(const void *address) {
    Dl_info found, own;
    return dladdr(address, &found) != 0 && dladdr((const void *)&cca_current, &own) != 0 && found.dli_fbase == own.dli_fbase;
}

/* The function in an object, or in those that it needs; not the proxy's. */
static void *cca_function_in(const char *object, const char *name) {
    void *handle = dlopen(object, RTLD_LAZY | RTLD_NOLOAD), *found = NULL;
    if (handle != NULL) {
        found = dlsym(handle, name);
        dlclose(handle);
    }
    return found == NULL || cca_is_own(found) ? NULL : found;
}

typedef struct {
    const char *name;
    void *found;
} cca_search;

static int cca_search_object(struct dl_phdr_info *info, size_t size, void *search) {
    (void)size;
    cca_search *wanted = search;
    if (info->dlpi_name != NULL && info->dlpi_name[0] != 0) wanted->found = cca_function_in(info->dlpi_name, wanted->name);
    return wanted->found != NULL;
}

/* Where calls go without the proxy; null if there is no such function. */
static void *cca_target_of(uint32_t index, const void *caller) {
    void *home = __atomic_load_n(&cca_proxy_homes_v1[index], __ATOMIC_ACQUIRE);
    if (home != NULL && __atomic_load_n(&cca_proxy_home_is_ifunc_v1[index], __ATOMIC_ACQUIRE)) return ((void *(*)(void))home)();
    if (home != NULL) return home;
    const char *name = cca_proxy_functions[index].name;
    void *found = dlsym(RTLD_NEXT, name);
    if (found != NULL && !cca_is_own(found)) return found;
    Dl_info info;
    if (dladdr(caller, &info) != 0 && info.dli_fname != NULL) {
        found = cca_function_in(info.dli_fname, name);
        if (found != NULL) return found;
    }
    cca_search search = { name, NULL };
    dl_iterate_phdr(cca_search_object, &search);
    return search.found;
}

/* Ends the process as the dynamic linker would have done. */
__attribute__((noreturn, used)) static void cca_end_missing(uint32_t index) {
    fprintf(stderr, "cannot call \"%s\": no library with it is loaded, expected one (proxy of %s)\n",
            cca_proxy_functions[index].name, cca_proxy_interface);
    abort();
}

static __attribute__((noinline, cold)) void *cca_find_target(uint32_t index, const void *caller) {
    void *home = __atomic_load_n(&cca_proxy_homes_v1[index], __ATOMIC_ACQUIRE);
    void *target = cca_target_of(index, caller);
    if (target == NULL) cca_end_missing(index);
    __atomic_store_n(&cca_proxy_targets_v1[index], target, __ATOMIC_SEQ_CST);
    /* Its library was unmapped, or another came, meanwhile. */
    if (__atomic_load_n(&cca_proxy_homes_v1[index], __ATOMIC_SEQ_CST) != home)
        __atomic_store_n(&cca_proxy_targets_v1[index], NULL, __ATOMIC_SEQ_CST);
    return target;
}

/* The function that calls go to, if known: the implementation's, or the program's own if the implementation has none
 * because calls are never redirected. */
static inline void *cca_known(const cca_implementation *now, uint32_t index) {
    void *function = now->routes[index].function;
    return __builtin_expect(function != NULL, 1) ? function : __atomic_load_n(&cca_proxy_targets_v1[index], __ATOMIC_ACQUIRE);
}

/* The function that a caller's call goes to. */
static inline void *cca_function(const cca_implementation *now, uint32_t index, const void *caller) {
    void *function = cca_known(now, index);
    return __builtin_expect(function != NULL, 1) ? function : cca_find_target(index, caller);
}

/* Whether the function replaces a definition of its name other than the first. */
static int cca_is_other(uint32_t index) { return (cca_proxy_functions[index].is_recorded & CCA_OTHER) != 0; }

static int cca_is_recorded(const cca_implementation *now, uint32_t index) {
    return now->routes[index].method != NULL && cca_recorders[index] != NULL;
}

/* Where the symbol leads, while this implementation is in use. */
static void *cca_entry(const cca_implementation *now, uint32_t index) {
    if (cca_is_recorded(now, index)) return cca_recorders[index];
    void *function = cca_known(now, index);
    return function != NULL ? function : cca_proxy_resolvers_v1[index];
}

/* The first call of a function, and the first after its library was unmapped. */
__attribute__((used)) static void *cca_enter(uint32_t index, const void *caller) {
    uint32_t (*callback)(void) = __atomic_load_n(&cca_callback, __ATOMIC_ACQUIRE);
    uint32_t is_asked_again = callback != NULL && callback() != 0;
    const cca_implementation *now = cca_now();
    void *function = cca_is_recorded(now, index) ? cca_recorders[index] : cca_function(now, index, caller);
    if (is_asked_again) return function;
    /* A thread that changes the implementation meanwhile writes all entries after it. */
    while (cca_is_recorded(now, index) || cca_known(now, index) != NULL) {
        __atomic_store_n(&cca_proxy_entries_v1[index], cca_entry(now, index), __ATOMIC_SEQ_CST);
        const cca_implementation *after = __atomic_load_n(&cca_current, __ATOMIC_SEQ_CST);
        if (after == now) break;
        now = after;
    }
    return function;
}

static void cca_before_first_call(uint32_t (*callback)(void)) {
    __atomic_store_n(&cca_callback, callback, __ATOMIC_RELEASE);
}

/* Definitions of an object, read from its own tables. dlsym and dladdr wait for a lock that the dynamic linker holds
 * while a library's constructors run, and a thread that such a constructor waits for may come here. */
typedef struct {
    ElfW(Addr) base;
    const char *strings;
    const ElfW(Sym) *symbols;
    const uint32_t *gnu_hash;
    const uint32_t *hash;
} cca_object;

/* Gives 0 if the object has no table of its symbols. */
static int cca_read_object(const struct dl_phdr_info *info, cca_object *object) {
    *object = (cca_object){ info->dlpi_addr, NULL, NULL, NULL, NULL };
    for (size_t place = 0; place < info->dlpi_phnum; place++) {
        if (info->dlpi_phdr[place].p_type != PT_DYNAMIC) continue;
        const ElfW(Dyn) *entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[place].p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++) {
            /* The dynamic linker has made them addresses, but for objects that it may not write to. */
            ElfW(Addr) address = entry->d_un.d_ptr + (entry->d_un.d_ptr < info->dlpi_addr ? info->dlpi_addr : 0);
            if (entry->d_tag == DT_STRTAB) object->strings = (const char *)address;
            if (entry->d_tag == DT_SYMTAB) object->symbols = (const ElfW(Sym) *)address;
            if (entry->d_tag == DT_GNU_HASH) object->gnu_hash = (const uint32_t *)address;
            if (entry->d_tag == DT_HASH) object->hash = (const uint32_t *)address;
        }
    }
    return object->strings != NULL && object->symbols != NULL && (object->gnu_hash != NULL || object->hash != NULL);
}

static int cca_is_function(const cca_object *object, uint32_t place, const char *name) {
    const ElfW(Sym) *symbol = &object->symbols[place];
    return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 && strcmp(object->strings + symbol->st_name, name) == 0;
}

static int cca_defines(const cca_object *object, const char *name) {
    if (object->gnu_hash != NULL) {
        uint32_t n_buckets = object->gnu_hash[0], first = object->gnu_hash[1], n_blooms = object->gnu_hash[2], hash = 5381;
        for (const char *at = name; *at != 0; at++) hash = hash * 33 + (unsigned char)*at;
        const uint32_t *buckets = (const uint32_t *)((const ElfW(Addr) *)(object->gnu_hash + 4) + n_blooms);
        uint32_t place = n_buckets == 0 ? 0 : buckets[hash % n_buckets];
        if (place < first) return 0;
        for (const uint32_t *chain = buckets + n_buckets - first;; place++) {
            if ((chain[place] | 1) == (hash | 1) && cca_is_function(object, place, name)) return 1;
            if (chain[place] & 1) return 0;
        }
    }
    for (uint32_t place = 1; place < object->hash[1]; place++)
        if (cca_is_function(object, place, name)) return 1;
    return 0;
}

static int cca_is_within(const struct dl_phdr_info *info, const void *address) {
    for (size_t place = 0; place < info->dlpi_phnum; place++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[place];
        if (part->p_type == PT_LOAD && (ElfW(Addr))address - info->dlpi_addr - part->p_vaddr < part->p_memsz) return 1;
    }
    return 0;
}

/* The search for the library with most of the functions. */
typedef struct {
    const char *best;
    uint32_t most;
    int is_after_own;
    uint8_t is_found[CCA_N_FUNCTIONS];
} cca_own_search;

static int cca_count_object(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    cca_own_search *search = data;
    cca_object object;
    if (cca_is_within(info, &cca_current)) {
        search->is_after_own = 1;
        return 0;
    }
    if (!cca_read_object(info, &object)) return 0;
    uint32_t n = 0;
    for (uint32_t index = 0; index < CCA_N_FUNCTIONS; index++) {
        if (cca_is_other(index) || search->is_found[index]) continue;
        const void *home = __atomic_load_n(&cca_proxy_homes_v1[index], __ATOMIC_ACQUIRE);
        int is_here = home != NULL ? cca_is_within(info, home)
                                   : search->is_after_own && cca_defines(&object, cca_proxy_functions[index].name);
        search->is_found[index] = (uint8_t)is_here;
        n += (uint32_t)is_here;
    }
    if (n > search->most && !cca_defines(&object, "cca_proxy_v1")) {
        search->most = n;
        /* The program itself has no name. */
        search->best = info->dlpi_name != NULL && info->dlpi_name[0] != 0 ? info->dlpi_name : "/proc/self/exe";
    }
    return 0;
}

/* The library with most of the functions. */
static const char *cca_own_library(void) {
    cca_own_search search;
    memset(&search, 0, sizeof search);
    dl_iterate_phdr(cca_count_object, &search);
    return search.best;
}

/* The implementation with these functions, methods and recorder, new or known; null if there is no memory. */
static const cca_implementation *cca_find_implementation(void *const *functions, const cca_proxy_method *const *methods,
                                                         const cca_recorder *recorder, uint32_t has_call_sites) {
    static const cca_implementation *last = &cca_own_unrecorded;
    cca_implementation *wanted = calloc(1, sizeof *wanted);
    if (wanted == NULL) return NULL;
    wanted->is_other = functions != NULL;
    if (methods != NULL) wanted->recorder = recorder;
    if (methods != NULL) wanted->has_call_sites = has_call_sites;
    for (uint32_t index = 0; index < CCA_N_FUNCTIONS; index++) {
        if (functions != NULL)
            wanted->routes[index].function =
                functions[index] != NULL || cca_is_other(index) ? functions[index] : cca_missing[index];
        if (methods != NULL) wanted->routes[index].method = methods[index];
    }
    for (const cca_implementation *known = last; known != NULL; known = known->next) {
        if (known->recorder != wanted->recorder || known->has_call_sites != wanted->has_call_sites ||
            known->is_other != wanted->is_other || memcmp(known->routes, wanted->routes, sizeof wanted->routes) != 0)
            continue;
        free(wanted);
        return known;
    }
    wanted->next = last;
    return last = wanted;
}

static uint32_t cca_use(void *const *functions, const cca_proxy_method *const *methods, const cca_recorder *recorder,
                        uint32_t has_call_sites) {
    if (methods != NULL && (recorder == NULL || recorder->version != CCA_RECORDING_VERSION)) return 0;
    const cca_implementation *chosen = cca_find_implementation(functions, methods, recorder, has_call_sites);
    if (chosen == NULL) return 0;
    __atomic_store_n(&cca_current, chosen, __ATOMIC_SEQ_CST);
    for (uint32_t index = 0; index < CCA_N_FUNCTIONS; index++) {
        void *entry = cca_entry(chosen, index);
        if (__atomic_load_n(&cca_proxy_entries_v1[index], __ATOMIC_SEQ_CST) != entry)
            __atomic_store_n(&cca_proxy_entries_v1[index], entry, __ATOMIC_SEQ_CST);
    }
    return 1;
}

static const cca_proxy_entry_points cca_entry_points = {
    sizeof(cca_proxy_entry_points), CCA_PROXY_VERSION, cca_proxy_interface, cca_proxy_functions, CCA_N_FUNCTIONS,
    cca_before_first_call, cca_own_library, cca_use,
};

CCA_EXPORTED const cca_proxy_entry_points *cca_proxy_v1(void) { return &cca_entry_points; }

/* Begins to record a call with `n_words` parameters, and its site if requested. A call with invalid parameters
 * (`is_valid` is 0) is counted as lost. */
static CCA_IN_LINE void cca_begin_call(cca_recording *call, const cca_implementation *now, uint32_t index,
                                       const uint64_t *words, uint32_t n_words, int is_valid) {
    call->context = NULL;
    const cca_proxy_method *method = now->routes[index].method;
    if (__builtin_expect(method == NULL, 0)) return;
    if (__builtin_expect(!is_valid, 0))
        cca_lose_parameters(now->recorder, cca_thread_context(now->recorder), method);
    else if (!cca_recording_begin(call, now->recorder, method, words, n_words + now->has_call_sites))
        call->context = NULL;
}

/* Ends it, if it has begun. */
static CCA_IN_LINE void cca_end_call(cca_recording *call, const cca_implementation *now, const uint64_t *words,
                                     uint32_t n_words, int failed) {
    if (call->context == NULL) return;
    cca_recording_end_with(call, words, n_words, now->has_call_sites, failed);
    call->context = NULL;
}

/* An exception of C++ passes through: the call failed. */
static CCA_IN_LINE void cca_abandon_call(cca_recording *call) {
    if (__builtin_expect(call->context != NULL, 0)) cca_end_slowly(call, cca_time_stamp_counter(), 1);
}
#define CCA_ABANDONED __attribute__((cleanup(cca_abandon_call)))

static inline uint64_t cca_real_word(double value) {
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

/* Assembly for a symbol of the proxy, its resolver and its end of the process. The resolver saves all registers that
 * may contain arguments. Each part has unwind information, because a signal handler may call in the middle of it. */
#define CCA_TEXT_OF(number) #number
#define CCA_SYMBOL(name, index)                                                                                        \
    __asm__(".text\n.balign 16\n.globl " name "\n.type " name ", @function\n" name ":\n\t.cfi_startproc\n"             \
            "\tendbr64\n\tjmp *cca_proxy_entries_v1+8*" CCA_TEXT_OF(index) "(%rip)\n"                                 \
            "\t.cfi_endproc\n.size " name ", .-" name "\n"                                                            \
            ".type cca_resolve_" CCA_TEXT_OF(index) ", @function\ncca_resolve_" CCA_TEXT_OF(index) ":\n"               \
            "\t.cfi_startproc\n\tendbr64\n\tpushq $" CCA_TEXT_OF(index) "\n\t.cfi_def_cfa_offset 16\n"                \
            "\tjmp cca_resolve\n\t.cfi_endproc\n"                                                                     \
            ".type cca_missing_" CCA_TEXT_OF(index) ", @function\ncca_missing_" CCA_TEXT_OF(index) ":\n"               \
            "\t.cfi_startproc\n\tendbr64\n\tsubq $8, %rsp\n\t.cfi_def_cfa_offset 16\n"                               \
            "\tmovl $" CCA_TEXT_OF(index) ", %edi\n\tcall cca_end_missing\n\t.cfi_endproc\n")

__asm__(".text\n.balign 16\n.type cca_resolve, @function\ncca_resolve:\n"
        "\t.cfi_startproc\n\t.cfi_def_cfa_offset 16\n\tsubq $192, %rsp\n\t.cfi_def_cfa_offset 208\n"
        "\tmovq %rax, 0(%rsp)\n\tmovq %rdi, 8(%rsp)\n\tmovq %rsi, 16(%rsp)\n\tmovq %rdx, 24(%rsp)\n"
        "\tmovq %rcx, 32(%rsp)\n\tmovq %r8, 40(%rsp)\n\tmovq %r9, 48(%rsp)\n\tmovq %r10, 56(%rsp)\n"
        "\tmovups %xmm0, 64(%rsp)\n\tmovups %xmm1, 80(%rsp)\n\tmovups %xmm2, 96(%rsp)\n\tmovups %xmm3, 112(%rsp)\n"
        "\tmovups %xmm4, 128(%rsp)\n\tmovups %xmm5, 144(%rsp)\n\tmovups %xmm6, 160(%rsp)\n\tmovups %xmm7, 176(%rsp)\n"
        "\tmovl 192(%rsp), %edi\n\tmovq 200(%rsp), %rsi\n\tcall cca_enter\n\tmovq %rax, %r11\n"
        "\tmovq 0(%rsp), %rax\n\tmovq 8(%rsp), %rdi\n\tmovq 16(%rsp), %rsi\n\tmovq 24(%rsp), %rdx\n"
        "\tmovq 32(%rsp), %rcx\n\tmovq 40(%rsp), %r8\n\tmovq 48(%rsp), %r9\n\tmovq 56(%rsp), %r10\n"
        "\tmovups 64(%rsp), %xmm0\n\tmovups 80(%rsp), %xmm1\n\tmovups 96(%rsp), %xmm2\n\tmovups 112(%rsp), %xmm3\n"
        "\tmovups 128(%rsp), %xmm4\n\tmovups 144(%rsp), %xmm5\n\tmovups 160(%rsp), %xmm6\n\tmovups 176(%rsp), %xmm7\n"
        "\taddq $200, %rsp\n\t.cfi_def_cfa_offset 8\n\tjmp *%r11\n\t.cfi_endproc\n.size cca_resolve, .-cca_resolve\n");

#endif
