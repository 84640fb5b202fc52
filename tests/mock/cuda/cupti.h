/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "mock.h"

#include <pthread.h>

/* Declarations shared by the parts of the mock libcupti. */

enum {
	CUPTI_INVALID_PARAMETER = 1,
	CUPTI_INVALID_CONTEXT = 3,
	CUPTI_MAX_LIMIT = 12,
};

/* CUPTI's clock is not the process's. */
#define EPOCH_NS UINT64_C(1700000000000000000)

#define MOCK_CALLBACKS 1024 /* of a domain */
#define MOCK_DOMAINS   4
#define MOCK_KINDS     64

struct mock_thread {
	struct mock_thread *next;
	bool in_call;         /* between ENTER and EXIT, and CUPTI knows */
	uint32_t call;        /* which */
	uint32_t correlation; /* of that call */
	uint32_t stuck;       /* not 0: of all its calls from now on */
	unsigned inside;      /* of one of its own callbacks */
	bool launches;        /* a kernel: between its callbacks */
	bool in_driver;       /* between the callbacks of whatever call */
};

struct mock_cupti {
	pthread_mutex_t lock;
	struct mock_thread *threads;
	aif_cupti_callback_fn *callback;
	void *user;
	uint32_t subscription; /* the handle is its address */
	bool called_back[MOCK_DOMAINS][MOCK_CALLBACKS];
	bool recorded[MOCK_KINDS];
	uint32_t correlation; /* the last */
	_Atomic bool over;
	uint64_t calls, callbacks, records; /* in all */
	/* Costs of a callback and of a record, ns. */
	uint64_t callback_ns, record_ns;
	uint32_t version;
	_Atomic uint64_t loaded_ns; /* when code was loaded last */
};
extern struct mock_cupti mock_cupti __attribute__((visibility("hidden")));

/* The calling thread. */
struct mock_thread *mock_thread(void);
/* Returns the number of other threads that are launching a kernel. */
unsigned mock_launching(void);
/* Under the lock: others that are inside a call. */
unsigned mock_in_driver(void);
unsigned mock_callbacks_on(void);
unsigned mock_records_on(void);
/* Any call after the driver's end is a fault. */
void mock_alive(const char *what);

void mock_activity_init(void);
void mock_activity_executed(const struct mock_call *call);
void mock_sampling_init(void);
void mock_sampling_executed(const struct mock_call *call);
bool mock_sampling_is_on(void);
/* Forgets the hash function, which was set for all contexts. */
void mock_sampling_forget(void);

#define X(name, result, parameters) result name parameters;
AIF_CUPTI_FUNCTIONS(X)
#undef X
