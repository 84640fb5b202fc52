/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/filter_check.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#ifndef SECCOMP_RET_LOG
#define SECCOMP_RET_LOG 0x7ffc0000u
#endif

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0
#endif

/* Gets one 32-bit word of struct seccomp_data. False: it is not known. */
static bool load(const struct aif_filter_call *call, uint32_t at, uint32_t *ret)
{
	uint32_t arg = (at - (uint32_t)offsetof(struct seccomp_data, args)) / 8;
	uint64_t value;

	if (at == offsetof(struct seccomp_data, nr))
		*ret = (uint32_t)call->nr;
	else if (at == offsetof(struct seccomp_data, arch))
		*ret = ARCH;
	if (at == offsetof(struct seccomp_data, nr) || at == offsetof(struct seccomp_data, arch))
		return true;
	if (at % 4 || at < offsetof(struct seccomp_data, args) ||
	    at >= sizeof(struct seccomp_data) || !(call->known >> arg & 1))
		return false;
	value = call->args[arg];
	*ret = (uint32_t)((at % 8 == 4) == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) ? value >> 32
										       : value);
	return true;
}

/* Returns false where the instruction is none that a filter may have. */
static bool calculate(uint16_t code, uint32_t *a, uint32_t operand)
{
	switch (BPF_OP(code)) {
	case BPF_ADD:
		*a += operand;
		return true;
	case BPF_SUB:
		*a -= operand;
		return true;
	case BPF_MUL:
		*a *= operand;
		return true;
	case BPF_DIV:
		*a = operand ? *a / operand : 0;
		return operand;
	case BPF_AND:
		*a &= operand;
		return true;
	case BPF_OR:
		*a |= operand;
		return true;
	case BPF_XOR:
		*a ^= operand;
		return true;
	case BPF_LSH:
		*a = operand < 32 ? *a << operand : 0;
		return true;
	case BPF_RSH:
		*a = operand < 32 ? *a >> operand : 0;
		return true;
	case BPF_NEG:
		*a = 0u - *a;
		return true;
	default:
		return false;
	}
}

static bool holds(uint16_t code, uint32_t a, uint32_t operand)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == operand;
	case BPF_JGT:
		return a > operand;
	case BPF_JGE:
		return a >= operand;
	default:
		return a & operand;
	}
}

uint64_t aif_filter_run(const struct sock_filter *filter, unsigned len,
			const struct aif_filter_call *call)
{
	uint32_t a = 0, x = 0, memory[BPF_MEMWORDS] = {0};

	/* Jumps lead forward only. */
	for (uint64_t pc = 0; pc < len; pc++) {
		const struct sock_filter *f = &filter[pc];
		uint32_t operand = BPF_SRC(f->code) == BPF_X ? x : f->k;

		switch (BPF_CLASS(f->code)) {
		case BPF_RET:
			return BPF_RVAL(f->code) == BPF_A ? a : f->k;
		case BPF_LD:
		case BPF_LDX: {
			uint32_t *to = BPF_CLASS(f->code) == BPF_LD ? &a : &x;

			if (BPF_MODE(f->code) == BPF_IMM)
				*to = f->k;
			else if (BPF_MODE(f->code) == BPF_LEN)
				*to = sizeof(struct seccomp_data);
			else if (BPF_MODE(f->code) == BPF_MEM && f->k < BPF_MEMWORDS)
				*to = memory[f->k];
			else if (BPF_MODE(f->code) != BPF_ABS || to != &a || !load(call, f->k, to))
				return AIF_FILTER_UNKNOWN;
			break;
		}
		case BPF_ST:
		case BPF_STX:
			if (f->k >= BPF_MEMWORDS)
				return AIF_FILTER_UNKNOWN;
			memory[f->k] = BPF_CLASS(f->code) == BPF_ST ? a : x;
			break;
		case BPF_ALU:
			if (!calculate(f->code, &a, operand))
				return AIF_FILTER_UNKNOWN;
			break;
		case BPF_JMP:
			if (BPF_OP(f->code) == BPF_JA)
				pc += f->k;
			else
				pc += holds(f->code, a, operand) ? f->jt : f->jf;
			break;
		default:
			if (BPF_MISCOP(f->code) == BPF_TAX)
				x = a;
			else
				a = x;
		}
	}
	return AIF_FILTER_UNKNOWN;
}

#define CALL(name)               \
	{                        \
		.nr = SYS_##name \
	}

/* Calls of a thread of the agent's that starts, waits, and ends. */
static const struct aif_filter_call waiting[] = {
	CALL(futex),
	CALL(gettid),
	CALL(exit),
	CALL(rt_sigprocmask),
	CALL(mmap),
	CALL(munmap),
	CALL(madvise),
	CALL(mprotect),
	CALL(set_robust_list),
	CALL(clone),
#ifdef SYS_rseq
	/* The C library ends a program that could register its first thread and not a later one. */
	CALL(rseq),
#endif
};
/* The same, which the C library can do without. */
static const struct aif_filter_call waiting_or_error[] = {
#ifdef SYS_clone3
	CALL(clone3),
#endif
	CALL(close_range),
	CALL(restart_syscall),
};
/* Handlers of samples, lists of threads and modules. */
static const struct aif_filter_call all[] = {
	{.nr = SYS_clock_gettime, .known = 1, .args = {CLOCK_THREAD_CPUTIME_ID}},
	{.nr = SYS_clock_gettime, .known = 1, .args = {CLOCK_MONOTONIC}},
	{.nr = SYS_getrusage, .known = 1, .args = {RUSAGE_THREAD}},
	CALL(rt_sigreturn),
	CALL(rt_sigaction),
	CALL(openat),
	CALL(read),
	CALL(close),
	CALL(getdents64),
	CALL(timer_create),
	CALL(timer_settime),
	CALL(timer_delete),
	CALL(mremap),
	CALL(fcntl),
	CALL(fstat),
	CALL(tgkill),
	CALL(getpid),
	CALL(prctl),
};
/* The same, without which less is found or another way is taken. */
static const struct aif_filter_call all_or_error[] = {
#ifdef SYS_open
	CALL(open),
	CALL(readlink),
	CALL(stat),
	CALL(lstat),
	CALL(poll),
	CALL(unlink),
	CALL(mkdir),
	CALL(access),
#endif
	/* The C library's, of functions that the agent calls: where a stack ends, memory of its own. */
	CALL(prlimit64),
	CALL(sched_getaffinity),
	CALL(brk),
	CALL(getrandom),
	CALL(newfstatat),
	CALL(readlinkat),
	CALL(lseek),
	CALL(pread64),
	CALL(socket),
	CALL(setsockopt),
	CALL(connect),
	CALL(sendto),
	CALL(sendmsg),
	CALL(recvmsg),
	CALL(recvfrom),
	CALL(ppoll),
	CALL(unlinkat),
	CALL(write),
	CALL(pwrite64),
	CALL(ftruncate),
	CALL(faccessat),
	CALL(getcwd),
	CALL(kill),
	CALL(sched_yield),
	CALL(clock_getres),
	CALL(semget),
	CALL(semop),
	CALL(semctl),
	CALL(geteuid),
	CALL(process_vm_readv),
	CALL(mlock),
	CALL(munlock),
	CALL(fchmod),
	CALL(renameat),
	CALL(mkdirat),
	CALL(nanosleep),
	CALL(clock_nanosleep),
	CALL(rt_sigtimedwait),
	CALL(rt_sigqueueinfo),
	CALL(rt_tgsigqueueinfo),
};

static bool allows(const struct sock_filter *filter, unsigned len,
		   const struct aif_filter_call *calls, size_t n, bool or_error)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t action = aif_filter_run(filter, len, &calls[i]);

		if (action == AIF_FILTER_UNKNOWN)
			return false;
		action &= SECCOMP_RET_ACTION_FULL;
		if (action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_LOG &&
		    !(or_error && action == SECCOMP_RET_ERRNO))
			return false;
	}
	return true;
}

enum aif_filter_allows aif_filter_check(const struct sock_filter *filter, unsigned len)
{
	if (!ARCH || !allows(filter, len, waiting, AIF_ARRAY_LEN(waiting), false) ||
	    !allows(filter, len, waiting_or_error, AIF_ARRAY_LEN(waiting_or_error), true))
		return AIF_FILTER_ALLOWS_NOTHING;
	if (!allows(filter, len, all, AIF_ARRAY_LEN(all), false) ||
	    !allows(filter, len, all_or_error, AIF_ARRAY_LEN(all_or_error), true))
		return AIF_FILTER_ALLOWS_WAITING;
	return AIF_FILTER_ALLOWS_ALL;
}
