/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The memory that an injector maps in the target, and the offsets by which payload_x86_64.S finds what is in it:
 *
 *     page 0    the code of payload_x86_64.S, readable and executable
 *     page 1    struct aif_payload
 *     then      a stack for the thread that is borrowed; before, a copy of its own
 *
 * From page 1 on it is shared with the injector.
 *
 * Included by assembly, too.
 */
#define AIF_PAYLOAD_PAGE   4096
#define AIF_PAYLOAD_STACK  32768
#define AIF_PAYLOAD_SHARED (AIF_PAYLOAD_PAGE + AIF_PAYLOAD_STACK)
#define AIF_PAYLOAD_SIZE   (AIF_PAYLOAD_PAGE + AIF_PAYLOAD_SHARED)

#define AIF_PAYLOAD_AT_CREATE    0x000
#define AIF_PAYLOAD_AT_DLOPEN    0x008
#define AIF_PAYLOAD_AT_DLSYM     0x010
#define AIF_PAYLOAD_AT_DLERROR   0x018
#define AIF_PAYLOAD_AT_SELF      0x020
#define AIF_PAYLOAD_AT_DETACH    0x028
#define AIF_PAYLOAD_AT_DONE      0x030
#define AIF_PAYLOAD_AT_RESULT    0x034
#define AIF_PAYLOAD_AT_STATE     0x038
#define AIF_PAYLOAD_AT_ERROR     0x03c
#define AIF_PAYLOAD_AT_FD        0x040
#define AIF_PAYLOAD_AT_GO        0x044
#define AIF_PAYLOAD_AT_THREAD    0x048
#define AIF_PAYLOAD_AT_NOW       0x050
#define AIF_PAYLOAD_AT_NOW_NS    0x058
#define AIF_PAYLOAD_AT_DEADLINE  0x060
#define AIF_PAYLOAD_AT_MASK      0x068
#define AIF_PAYLOAD_AT_PAUSE     0x070
#define AIF_PAYLOAD_AT_REGS      0x080
#define AIF_PAYLOAD_AT_PC        0x100
#define AIF_PAYLOAD_AT_FLAGS     0x108
#define AIF_PAYLOAD_AT_NAME      0x110
#define AIF_PAYLOAD_AT_SYMBOL    0x130
#define AIF_PAYLOAD_AT_PATH      0x150
#define AIF_PAYLOAD_AT_SCHEDULE  0x190
#define AIF_PAYLOAD_AT_ATTR      0x1c0
#define AIF_PAYLOAD_AT_ATTR_INIT 0x200
#define AIF_PAYLOAD_AT_ATTR_SIZE 0x208
#define AIF_PAYLOAD_AT_TEXT      0x210
#define AIF_PAYLOAD_AT_CONFIG    0x290
#define AIF_PAYLOAD_AT_AGENT     0x3f8
#define AIF_PAYLOAD_AT_XSAVE     0x400

#define AIF_PAYLOAD_TEXT   128
#define AIF_PAYLOAD_CONFIG 0x168
/* x87, SSE, AVX and AVX-512. What else xsave knows belongs to the thread, and neither the payload nor pthread_create()
 * changes it. */
#define AIF_PAYLOAD_XSAVE_PARTS 0xe7

/* States of the new thread. */
#define AIF_PAYLOAD_BEGUN    0
#define AIF_PAYLOAD_WAITS    1 /* for the library in its descriptor */
#define AIF_PAYLOAD_LOADS    2 /* dlopen() is under way */
#define AIF_PAYLOAD_FAILED   3 /* `error` */
#define AIF_PAYLOAD_UNLOADED 4 /* dlopen() has refused: `text` */
#define AIF_PAYLOAD_JOINED   5 /* the agent has been called: `error` is what it has returned */

#ifndef __ASSEMBLER__
#include "base/base.h"
#include "inject/stopped.h"

/* Registers in the order in which payload_x86_64.S restores them. */
struct aif_payload_regs {
	uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15;
};

struct aif_payload {
	/* Functions of the target's C library. */
	uint64_t create, dlopen, dlsym, dlerror, self, detach;
	/* The borrowed thread: pthread_create() has returned `result`. */
	uint32_t done;
	int32_t result;
	/* The new thread. */
	uint32_t state;
	int32_t error, fd;
	uint32_t go; /* the library is in the descriptor, and its name in `path` */
	uint64_t thread;
	uint64_t now[2]; /* struct timespec */
	/* Until then the borrowed thread waits for the injector to restore it; then it does so by itself. */
	uint64_t deadline;
	uint64_t mask;     /* its signal mask */
	uint64_t pause[2]; /* struct timespec: between looks at `go` */
	struct aif_payload_regs regs;
	uint64_t pc, flags;
	char name[32], symbol[32], path[64];
	struct aif_stopped_schedule
		schedule; /* how it was scheduled before it was to go first; size 0: it was not */
	uint8_t attr[64]; /* pthread_attr_t of the new thread */
	uint64_t attr_init, attr_size;
	char text[AIF_PAYLOAD_TEXT];
	uint8_t config[AIF_PAYLOAD_CONFIG]; /* what the agent is given */
	uint64_t
		agent; /* the agent's function where the process carries it; 0: it is to be loaded */
	uint8_t xsave[AIF_PAYLOAD_PAGE - AIF_PAYLOAD_AT_XSAVE];
};
static_assert(sizeof(struct aif_payload) == AIF_PAYLOAD_PAGE, "one page");
#define AIF_PAYLOAD_CHECK(field, at)                             \
	static_assert(offsetof(struct aif_payload, field) == at, \
		      "payload_x86_64.S knows where it is")
AIF_PAYLOAD_CHECK(create, AIF_PAYLOAD_AT_CREATE);
AIF_PAYLOAD_CHECK(detach, AIF_PAYLOAD_AT_DETACH);
AIF_PAYLOAD_CHECK(done, AIF_PAYLOAD_AT_DONE);
AIF_PAYLOAD_CHECK(state, AIF_PAYLOAD_AT_STATE);
AIF_PAYLOAD_CHECK(fd, AIF_PAYLOAD_AT_FD);
AIF_PAYLOAD_CHECK(go, AIF_PAYLOAD_AT_GO);
AIF_PAYLOAD_CHECK(thread, AIF_PAYLOAD_AT_THREAD);
AIF_PAYLOAD_CHECK(now, AIF_PAYLOAD_AT_NOW);
AIF_PAYLOAD_CHECK(deadline, AIF_PAYLOAD_AT_DEADLINE);
AIF_PAYLOAD_CHECK(mask, AIF_PAYLOAD_AT_MASK);
AIF_PAYLOAD_CHECK(pause, AIF_PAYLOAD_AT_PAUSE);
AIF_PAYLOAD_CHECK(regs, AIF_PAYLOAD_AT_REGS);
AIF_PAYLOAD_CHECK(pc, AIF_PAYLOAD_AT_PC);
AIF_PAYLOAD_CHECK(flags, AIF_PAYLOAD_AT_FLAGS);
AIF_PAYLOAD_CHECK(name, AIF_PAYLOAD_AT_NAME);
AIF_PAYLOAD_CHECK(symbol, AIF_PAYLOAD_AT_SYMBOL);
AIF_PAYLOAD_CHECK(path, AIF_PAYLOAD_AT_PATH);
AIF_PAYLOAD_CHECK(schedule, AIF_PAYLOAD_AT_SCHEDULE);
AIF_PAYLOAD_CHECK(attr, AIF_PAYLOAD_AT_ATTR);
AIF_PAYLOAD_CHECK(attr_init, AIF_PAYLOAD_AT_ATTR_INIT);
AIF_PAYLOAD_CHECK(attr_size, AIF_PAYLOAD_AT_ATTR_SIZE);
AIF_PAYLOAD_CHECK(text, AIF_PAYLOAD_AT_TEXT);
AIF_PAYLOAD_CHECK(config, AIF_PAYLOAD_AT_CONFIG);
AIF_PAYLOAD_CHECK(agent, AIF_PAYLOAD_AT_AGENT);
AIF_PAYLOAD_CHECK(xsave, AIF_PAYLOAD_AT_XSAVE);

/* The code: it begins with what the borrowed thread runs. */
extern const uint8_t aif_payload_code[], aif_payload_copy[], aif_payload_call[],
	aif_payload_code_end[];
#endif
