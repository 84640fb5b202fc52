/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/hash.h"
#include "wire/shm.h"

#include <inttypes.h>

/*
 * The handshake of agent and recorder: over a SOCK_SEQPACKET socket at a path in a 0700 directory,
 * named with the token of this recording by the first two environment variables below. The agent
 * says hello; to a hello of kind RUNTIME the recorder answers with the memory's descriptor. Both
 * then close the socket: nothing stays open in the target.
 */
#define AIF_ENV_SOCKET "AIFLAME_SOCKET"
#define AIF_ENV_TOKEN  "AIFLAME_TOKEN"
/* CUDA's driver opens one library that listens to it; one that was wanted before us is opened by
 * the agent. */
#define AIF_ENV_CUDA        "CUDA_INJECTION64_PATH"
#define AIF_ENV_CUDA_BEFORE "AIFLAME_CUDA_INJECTION"
/* Listen to this runtime only. */
#define AIF_ENV_RUNTIME "AIFLAME_RUNTIME"

/* Set to 1 (record --children): meet the recorder without a runtime. */
#define AIF_ENV_CHILDREN "AIFLAME_CHILDREN"
/* Set to 1 (record --cpu): the same, and at once. */
#define AIF_ENV_CPU "AIFLAME_CPU"

/* Seccomp filters that the recorder's command starts with. A process that starts with more of them calls nobody: the
 * call may be forbidden. */
#define AIF_ENV_FILTERS "AIFLAME_FILTERS"

/* Set to 1 (record --nvtx): have NVTX open the agent. The variable by which it finds its tool. */
#define AIF_ENV_NVTX           "AIFLAME_NVTX"
#define AIF_ENV_NVTX_INJECTION "NVTX_INJECTION64_PATH"

/*
 * Device code that a runtime shows to the agent for a moment only is left beside the socket, each
 * once, in a file named by its hash (struct aif_wire_code). It is written under another name first,
 * so that what has this name is whole. The recorder removes them in the end. What an object was
 * compiled from (SPIR-V) lies under a hash that follows from the object's; without an object from
 * its own.
 */
#define AIF_OBJECT_SUFFIX   ".object"
#define AIF_OBJECT_NAME     "%016" PRIx64 AIF_OBJECT_SUFFIX
#define AIF_OBJECT_PART     ".part" /* how the other name ends */
#define AIF_OBJECT_NAME_MAX 32
#define AIF_OBJECT_MAX      (UINT64_C(64) << 20)
#define AIF_OBJECTS_MAX     (UINT64_C(512) << 20) /* of one process together */
static inline uint64_t aif_object_source(uint64_t hash)
{
	return aif_mix64(hash ^ UINT64_C(0x5350495256));
}

#define AIF_TOKEN_LEN  32 /* hexadecimal digits */
#define AIF_HELLO_TEXT 4096

enum aif_hello_kind {
	AIF_HELLO_CARRIER = 1, /* a process carries the agent; no answer */
	AIF_HELLO_RUNTIME = 2, /* asks for the memory: mostly because a runtime was initialised */
	AIF_HELLO_CONTROL = 3, /* `aiflame ctl`; the answer says that it was understood */
	/* The agent could not use what it was given, or lacks what it needs: it will send
	 * nothing. No answer. */
	AIF_HELLO_FAILED = 4,
	/* The program is about to install a filter that forbids the agent's calls, which has asked for no memory yet. No
	 * answer. */
	AIF_HELLO_FILTERED = 5,
};
enum aif_control {
	AIF_CONTROL_STOP = 1, /* write and end */
	AIF_CONTROL_HOLD = 2, /* collect nothing for now */
	AIF_CONTROL_RUN = 3,
	AIF_CONTROL_WATCH = 4, /* `aiflame top`: a socket comes with the answer (profile/live.h) */
	AIF_CONTROL_SYNC = 5,  /* the answer comes once all is committed (record/sync.h) */
	AIF_CONTROL_SNAPSHOT = 6, /* the same, and a copy of the file comes with it */
};
enum aif_hello_joins {
	AIF_JOINS_AFTER_FORK = 1,     /* a forked child asks anew */
	AIF_JOINS_WITHOUT_DEVICE = 2, /* no runtime was initialised: for CPU samples */
};
#define AIF_FILTERS_UNKNOWN UINT32_MAX
struct aif_hello {
	uint32_t magic, version;
	uint32_t kind;
	union {
		uint32_t joins;    /* RUNTIME: enum aif_hello_joins */
		uint32_t control;  /* CONTROL: enum aif_control */
		uint32_t text_len; /* CARRIER */
		uint32_t error;    /* FAILED: errno */
	};
	char token[AIF_TOKEN_LEN];
	char runtime[16]; /* terminated */
	/* RUNTIME: seccomp filters that the recorder's command was started under, with those since that forbid nothing of
	 * the agent's; AIF_FILTERS_UNKNOWN */
	uint32_t filters, zero;
	/* CARRIER: the program's path, 0, its arguments with a 0 behind each, perhaps cut: the
	 * process may be over before the recorder can look. What is not used is not sent. */
	char text[AIF_HELLO_TEXT];
};
#define AIF_HELLO_FIXED offsetof(struct aif_hello, text)
enum aif_hello_status {
	AIF_HELLO_REPLY_OK = 0, /* a descriptor comes with it */
	AIF_HELLO_REPLY_TOKEN = 1,
	AIF_HELLO_REPLY_VERSION = 2,
	AIF_HELLO_REPLY_FULL = 3,      /* too many processes */
	AIF_HELLO_REPLY_UNWANTED = 4,  /* others are recorded */
	AIF_HELLO_REPLY_DONE = 5,      /* to CONTROL: it will be */
	AIF_HELLO_REPLY_COMMITTED = 6, /* to AIF_CONTROL_SYNC */
	AIF_HELLO_REPLY_FAILED = 7,    /* to AIF_CONTROL_SYNC: the file cannot be written */
	AIF_HELLO_REPLY_ENDED = 8,     /* to AIF_CONTROL_SNAPSHOT: the recording has ended */
};
struct aif_hello_reply {
	uint32_t magic, version, status, zero;
};

/* Connects to `path` and says hello, waiting at most timeout_ms for the answer. *ret_fd is what came with it, the caller's:
 * for RUNTIME the memory's descriptor, for AIF_CONTROL_WATCH a socket, for
 * AIF_CONTROL_SNAPSHOT a file. 0; -EACCES, -EPROTO, -EUSERS, -ENOENT (unwanted), -EIO (not committed, or no file), -ECANCELED
 * (ended) as the recorder refused; or -errno. Leaves no descriptor behind. */
int aif_hello_send(const char *path, const struct aif_hello *hello, int timeout_ms, int *ret_fd);

/* Recorder: answers on an accepted socket; fd -1 sends none. 0 or -errno. */
int aif_hello_reply_send(int sock, enum aif_hello_status status, int fd);
