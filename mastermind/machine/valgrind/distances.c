/* A valgrind tool that writes the addresses that one function reads and writes, for `mastermind signature`.
 *
 * `mastermind signature --distances` has it compiled by the user's compiler with the headers and libraries of the installed valgrind. The
 * program that comes of that is under valgrind's licence, the GNU GPL.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-or-later
 *
 * Output, words of 64 bits, native order: an access is the number of its instruction (upper 16 bits) and an address (lower 48). The number
 * 0xffff marks the begin (1) and the end (2) of a call, and the end of the trace (3), after which text follows: a line for each counter of
 * the last call, `count NAME VALUE`, and for each instruction, `at NUMBER r|w OFFSET OBJECT`. A mark with bit 40 says how many bytes (lower 16
 * bits) an instruction (next 16) accesses, before its first access.
 */
#include "pub_tool_basics.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_options.h"
#include "pub_tool_seqmatch.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"

#define MARK 0xffffULL
#define MAX_INSTRUCTIONS 0xfffe
#define SLOTS (1 << 18)
#define BUFFER 8192

/* In the core's library, but in none of its public headers: a descriptor that the program cannot close. */
extern Int VG_(safe_fd)(Int);

enum { INSTRUCTIONS, INTEGER_LOADS, SCALAR_FP, VECTOR_FP, DIVISIONS, BRANCHES, N_KINDS };
static const HChar *const names[N_KINDS] = {"instructions", "loads", "scalar", "vector", "divisions", "branches"};

typedef struct {
    Addr at;
    Bool is_store;
} Instruction;

static const HChar *method = NULL;
static const HChar *output = NULL;
static Int output_fd = -1;

static ULong buffer[BUFFER];
static UWord n_buffered = 0;
static ULong active = 0; /* 1 inside of the function, read by the translated code */
static Addr return_to = 0;
static Addr entry_sp = 0;
static ULong counters[N_KINDS];
static ULong last_counters[N_KINDS];

static Instruction instructions[MAX_INSTRUCTIONS];
static UInt n_instructions = 0;
static UInt slots[SLOTS]; /* number of an instruction + 1 */

static void write_all(const void *from, SizeT n) {
    const HChar *next = from;
    while (n > 0) {
        Int written = VG_(write)(output_fd, next, n);
        if (written <= 0) VG_(exit)(1); /* nobody reads any more */
        next += written;
        n -= written;
    }
}

static void flush_buffer(void) {
    write_all(buffer, n_buffered * sizeof buffer[0]);
    n_buffered = 0;
}

static inline void put(ULong word) {
    buffer[n_buffered++] = word;
    if (n_buffered == BUFFER) flush_buffer();
}

static VG_REGPARM(2) void on_access(UWord tag, Addr address) { put(tag | (address & 0xffffffffffffULL)); }

static void leave(void) {
    active = 0;
    return_to = 0;
    VG_(memcpy)(last_counters, counters, sizeof counters);
    put(MARK << 48 | 2);
}

static VG_REGPARM(1) void on_entry(Addr sp) {
    if (active && sp < entry_sp) return; /* calls itself */
    if (active) leave();                 /* left by longjmp or an exception */
    entry_sp = sp;
    return_to = *(Addr *)sp;
    VG_(memset)(counters, 0, sizeof counters);
    put(MARK << 48 | 1);
    active = 1;
}

static VG_REGPARM(1) void on_return(Addr sp) {
    if (active && sp > entry_sp) leave();
}

/* The number of an instruction's loads or stores. All that have no number left share the last one. */
static UInt number_of(Addr at, UInt bytes, Bool is_store) {
    UWord slot = (at * 2 + is_store) * 0x9e3779b97f4a7c15ULL >> 46;
    for (; slots[slot]; slot = (slot + 1) % SLOTS) {
        Instruction *known = &instructions[slots[slot] - 1];
        if (known->at == at && known->is_store == is_store) return slots[slot] - 1;
    }
    if (n_instructions == MAX_INSTRUCTIONS) return MAX_INSTRUCTIONS - 1;
    instructions[n_instructions] = (Instruction){at, is_store};
    put(MARK << 48 | 1ULL << 40 | (ULong)n_instructions << 16 | bytes);
    slots[slot] = ++n_instructions;
    return n_instructions - 1;
}

static IRExpr *is_active(IRSB *out) {
    IRTemp value = newIRTemp(out->tyenv, Ity_I64), guard = newIRTemp(out->tyenv, Ity_I1);
    addStmtToIRSB(out, IRStmt_WrTmp(value, IRExpr_Load(Iend_LE, Ity_I64, mkIRExpr_HWord((HWord)&active))));
    addStmtToIRSB(out, IRStmt_WrTmp(guard, IRExpr_Binop(Iop_CmpNE64, IRExpr_RdTmp(value), IRExpr_Const(IRConst_U64(0)))));
    return IRExpr_RdTmp(guard);
}

static void add_access(IRSB *out, Addr at, IRExpr *address, Int bytes, Bool is_store, IRExpr *guard) {
    ULong tag = (ULong)number_of(at, bytes, is_store) << 48;
    IRExpr **arguments = mkIRExprVec_2(mkIRExpr_HWord(tag), address);
    IRDirty *call = unsafeIRDirty_0_N(2, "on_access", VG_(fnptr_to_fnentry)(on_access), arguments);
    call->guard = is_active(out);
    if (guard) {
        IRTemp both = newIRTemp(out->tyenv, Ity_I1), wide = newIRTemp(out->tyenv, Ity_I32), other = newIRTemp(out->tyenv, Ity_I32);
        IRTemp product = newIRTemp(out->tyenv, Ity_I32);
        addStmtToIRSB(out, IRStmt_WrTmp(wide, IRExpr_Unop(Iop_1Uto32, call->guard)));
        addStmtToIRSB(out, IRStmt_WrTmp(other, IRExpr_Unop(Iop_1Uto32, guard)));
        addStmtToIRSB(out, IRStmt_WrTmp(product, IRExpr_Binop(Iop_And32, IRExpr_RdTmp(wide), IRExpr_RdTmp(other))));
        addStmtToIRSB(out, IRStmt_WrTmp(both, IRExpr_Binop(Iop_CmpNE32, IRExpr_RdTmp(product), IRExpr_Const(IRConst_U32(0)))));
        call->guard = IRExpr_RdTmp(both);
    }
    addStmtToIRSB(out, IRStmt_Dirty(call));
}

/* Adds the counts of a stretch without exits to the counters, if the function runs. */
static void add_counts(IRSB *out, UInt *counts) {
    for (Int kind = 0; kind < N_KINDS; kind++) {
        if (!counts[kind]) continue;
        IRExpr *place = mkIRExpr_HWord((HWord)&counters[kind]);
        IRTemp old = newIRTemp(out->tyenv, Ity_I64), on = newIRTemp(out->tyenv, Ity_I64);
        IRTemp more = newIRTemp(out->tyenv, Ity_I64), sum = newIRTemp(out->tyenv, Ity_I64);
        addStmtToIRSB(out, IRStmt_WrTmp(old, IRExpr_Load(Iend_LE, Ity_I64, place)));
        addStmtToIRSB(out, IRStmt_WrTmp(on, IRExpr_Load(Iend_LE, Ity_I64, mkIRExpr_HWord((HWord)&active))));
        addStmtToIRSB(out, IRStmt_WrTmp(more, IRExpr_Binop(Iop_Mul64, IRExpr_RdTmp(on), IRExpr_Const(IRConst_U64(counts[kind])))));
        addStmtToIRSB(out, IRStmt_WrTmp(sum, IRExpr_Binop(Iop_Add64, IRExpr_RdTmp(old), IRExpr_RdTmp(more))));
        addStmtToIRSB(out, IRStmt_Store(Iend_LE, place, IRExpr_RdTmp(sum)));
        counts[kind] = 0;
    }
}

/* The class that an operation on floating-point numbers counts as; -1 for others. */
static Int kind_of(IROp op) {
    switch (op) {
    case Iop_DivF64: case Iop_DivF32: case Iop_SqrtF64: case Iop_SqrtF32: case Iop_Div64F0x2: case Iop_Div32F0x4: case Iop_Sqrt64F0x2:
    case Iop_Sqrt32F0x4: case Iop_Div64Fx2: case Iop_Div32Fx4: case Iop_Div64Fx4: case Iop_Div32Fx8: case Iop_Sqrt64Fx2:
    case Iop_Sqrt32Fx4: case Iop_Sqrt64Fx4: case Iop_Sqrt32Fx8: case Iop_DivU64: case Iop_DivS64: case Iop_DivU32: case Iop_DivS32:
    case Iop_DivModU64to32: case Iop_DivModS64to32: case Iop_DivModU128to64: case Iop_DivModS128to64:
        return DIVISIONS;
    case Iop_AddF64: case Iop_SubF64: case Iop_MulF64: case Iop_AddF32: case Iop_SubF32: case Iop_MulF32: case Iop_Add64F0x2:
    case Iop_Sub64F0x2: case Iop_Mul64F0x2: case Iop_Add32F0x4: case Iop_Sub32F0x4: case Iop_Mul32F0x4: case Iop_MAddF64: case Iop_MSubF64:
    case Iop_MAddF32: case Iop_MSubF32:
        return SCALAR_FP;
    case Iop_Add64Fx2: case Iop_Sub64Fx2: case Iop_Mul64Fx2: case Iop_Add32Fx4: case Iop_Sub32Fx4: case Iop_Mul32Fx4: case Iop_Add64Fx4:
    case Iop_Sub64Fx4: case Iop_Mul64Fx4: case Iop_Add32Fx8: case Iop_Sub32Fx8: case Iop_Mul32Fx8:
        return VECTOR_FP;
    default:
        return -1;
    }
}

static void count_expression(const IRExpr *of, UInt *counts) {
    IROp op;
    switch (of->tag) {
    case Iex_Unop: op = of->Iex.Unop.op; break;
    case Iex_Binop: op = of->Iex.Binop.op; break;
    case Iex_Triop: op = of->Iex.Triop.details->op; break;
    case Iex_Qop: op = of->Iex.Qop.details->op; break;
    default: return;
    }
    Int kind = kind_of(op);
    if (kind >= 0) counts[kind]++;
}

static void add_call(IRSB *out, const HChar *name, void *function, const VexGuestLayout *layout, IRExpr *guard) {
    IRTemp sp = newIRTemp(out->tyenv, Ity_I64);
    addStmtToIRSB(out, IRStmt_WrTmp(sp, IRExpr_Get(layout->offset_SP, Ity_I64)));
    IRDirty *call = unsafeIRDirty_0_N(1, name, VG_(fnptr_to_fnentry)(function), mkIRExprVec_1(IRExpr_RdTmp(sp)));
    if (guard) call->guard = guard;
    addStmtToIRSB(out, IRStmt_Dirty(call));
}

/* At the begin of a block: whether the function is entered or left. The option --vex-guest-chase=no sees to it that blocks begin there. */
static void add_borders(IRSB *out, Addr at, const VexGuestLayout *layout) {
    IRTemp value = newIRTemp(out->tyenv, Ity_I64), guard = newIRTemp(out->tyenv, Ity_I1);
    addStmtToIRSB(out, IRStmt_WrTmp(value, IRExpr_Load(Iend_LE, Ity_I64, mkIRExpr_HWord((HWord)&return_to))));
    addStmtToIRSB(out, IRStmt_WrTmp(guard, IRExpr_Binop(Iop_CmpEQ64, IRExpr_RdTmp(value), IRExpr_Const(IRConst_U64(at)))));
    add_call(out, "on_return", on_return, layout, IRExpr_RdTmp(guard));
    const HChar *name;
    if (VG_(get_fnname_if_entry)(VG_(current_DiEpoch)(), at, &name) && VG_(string_match)(method, name))
        add_call(out, "on_entry", on_entry, layout, NULL);
}

/* A load that the same instruction stores back to is one access, as in cachegrind. */
typedef struct {
    IRExpr *address;
    Int bytes;
} LastLoad;

static IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout, const VexGuestExtents *extents,
                        const VexArchInfo *host, IRType guest_word, IRType host_word) {
    IRSB *out = deepCopyIRSBExceptStmts(in);
    UInt counts[N_KINDS] = {0};
    Addr at = 0;
    Bool has_begun = False;
    LastLoad load = {NULL, 0};
    for (Int i = 0; i < in->stmts_used; i++) {
        IRStmt *statement = in->stmts[i];
        switch (statement->tag) {
        case Ist_IMark:
            at = statement->Ist.IMark.addr;
            if (!has_begun) add_borders(out, at, layout);
            has_begun = True;
            counts[INSTRUCTIONS]++;
            load.address = NULL;
            break;
        case Ist_WrTmp: {
            IRExpr *of = statement->Ist.WrTmp.data;
            count_expression(of, counts);
            if (of->tag == Iex_Load && has_begun) {
                load = (LastLoad){of->Iex.Load.addr, sizeofIRType(of->Iex.Load.ty)};
                counts[INTEGER_LOADS]++;
                add_access(out, at, load.address, load.bytes, False, NULL);
            }
            break;
        }
        case Ist_Store: {
            if (!has_begun) break;
            IRExpr *address = statement->Ist.Store.addr;
            Int bytes = sizeofIRType(typeOfIRExpr(in->tyenv, statement->Ist.Store.data));
            Bool is_same = load.address && load.bytes == bytes && eqIRAtom(load.address, address);
            if (!is_same) add_access(out, at, address, bytes, True, NULL);
            break;
        }
        case Ist_StoreG: {
            IRStoreG *store = statement->Ist.StoreG.details;
            add_access(out, at, store->addr, sizeofIRType(typeOfIRExpr(in->tyenv, store->data)), True, store->guard);
            break;
        }
        case Ist_LoadG: {
            IRLoadG *guarded = statement->Ist.LoadG.details;
            IRType type = Ity_INVALID, wide = Ity_INVALID;
            typeOfIRLoadGOp(guarded->cvt, &wide, &type);
            add_access(out, at, guarded->addr, sizeofIRType(type), False, guarded->guard);
            break;
        }
        case Ist_Dirty: {
            IRDirty *dirty = statement->Ist.Dirty.details;
            if (dirty->mFx == Ifx_None) break;
            Int bytes = dirty->mSize < 64 ? dirty->mSize : 64;
            if (dirty->mFx != Ifx_Write) add_access(out, at, dirty->mAddr, bytes, False, NULL);
            if (dirty->mFx != Ifx_Read) add_access(out, at, dirty->mAddr, bytes, True, NULL);
            break;
        }
        case Ist_CAS: {
            IRCAS *cas = statement->Ist.CAS.details;
            Int bytes = sizeofIRType(typeOfIRExpr(in->tyenv, cas->dataLo)) * (cas->dataHi ? 2 : 1);
            add_access(out, at, cas->addr, bytes, False, NULL);
            break;
        }
        case Ist_Exit:
            if (statement->Ist.Exit.jk == Ijk_Boring) counts[BRANCHES]++;
            add_counts(out, counts);
            break;
        default:
            break;
        }
        addStmtToIRSB(out, statement);
    }
    add_counts(out, counts);
    return out;
}

static Bool process_option(const HChar *word) {
    if VG_STR_CLO (word, "--method", method) {}
    else if VG_STR_CLO (word, "--trace", output) {}
    else return False;
    return True;
}

static void print_usage(void) {
    VG_(printf)("    --method=PATTERN   the function\n    --trace=FILE       where its accesses go\n");
}

static void print_debug_usage(void) {}

static void begin(void) {
    if (!method || !output) VG_(fmsg_bad_option)("--method, --trace", "both are needed\n");
    SysRes opened = VG_(open)(output, VKI_O_WRONLY | VKI_O_CREAT, 0600);
    if (sr_isError(opened)) VG_(fmsg_bad_option)(output, "cannot be opened\n");
    output_fd = VG_(safe_fd)(sr_Res(opened));
}

static void end(Int code) {
    if (active) leave();
    put(MARK << 48 | 3);
    flush_buffer();
    HChar line[1024];
    for (Int kind = 0; kind < N_KINDS; kind++) {
        VG_(snprintf)(line, sizeof line, "count %s %llu\n", names[kind], last_counters[kind]);
        write_all(line, VG_(strlen)(line));
    }
    for (UInt i = 0; i < n_instructions; i++) {
        DebugInfo *object = VG_(find_DebugInfo)(VG_(current_DiEpoch)(), instructions[i].at);
        Addr offset = instructions[i].at - (object ? VG_(DebugInfo_get_text_bias)(object) : 0);
        const HChar *path = object ? VG_(DebugInfo_get_filename)(object) : "-";
        VG_(snprintf)(line, sizeof line, "at %u %c %lx %s\n", i, instructions[i].is_store ? 'w' : 'r', offset, path);
        write_all(line, VG_(strlen)(line));
    }
    VG_(close)(output_fd);
}

static void before_options(void) {
    VG_(details_name)("distances");
    VG_(details_version)(NULL);
    VG_(details_description)("the addresses that a function reads and writes");
    VG_(details_copyright_author)("GNU GPL, version 2 or later, as valgrind.");
    VG_(details_bug_reports_to)("the authors of mastermind");
    VG_(basic_tool_funcs)(begin, instrument, end);
    VG_(needs_command_line_options)(process_option, print_usage, print_debug_usage);
}

VG_DETERMINE_INTERFACE_VERSION(before_options)
