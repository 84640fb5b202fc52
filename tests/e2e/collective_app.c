/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank of a simulated job: collective_app SHARED OPERATIONS SKIPPED. SHARED is a file that all ranks map; RANK and WORLD_SIZE say which
 * one this is. It runs OPERATIONS collective operations, each marked by NVTX as NCCL marks its own, but for the one of number SKIPPED
 * (0: none), and then a barrier. An operation waits until each rank has begun as many as this one.
 */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define RANKS 64
#define CHECK(x)                            \
	do {                                \
		if (!(x)) {                 \
			perror(#x);         \
			exit(EXIT_FAILURE); \
		}                           \
	} while (0)

struct call {
	uint64_t communicator;
	size_t bytes;
	int op;
};
struct init {
	uint64_t communicator;
	int ranks, rank, device;
};

static struct shared {
	_Atomic unsigned begun[2][RANKS]; /* of the communicator, of the barrier */
} * shared;
static unsigned rank, world;
static nvtxDomainHandle_t domain;
static uint64_t call_schema = (1 << 24) + 5, init_schema = 1 << 24;

static void schema(uint64_t *id, const char *name, const nvtxPayloadSchemaEntry_t *entries,
		   size_t len, size_t size)
{
	const nvtxPayloadSchemaAttr_t a = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
							NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
							NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
							NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
							NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID,
					   .name = name,
					   .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
					   .entries = entries,
					   .numEntries = len,
					   .payloadStaticSize = size,
					   .schemaId = *id};

	*id = nvtxPayloadSchemaRegister(domain, &a);
}

static void schemas(void)
{
	const nvtxPayloadSchemaEntry_t calls[] = {
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64, .name = "NCCL communicator ID"},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_SIZE,
		 .name = "Message size [bytes]",
		 .offset = offsetof(struct call, bytes)},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_INT,
		 .name = "Reduction operation",
		 .offset = offsetof(struct call, op)}};
	const nvtxPayloadSchemaEntry_t inits[] = {
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64, .name = "NCCL communicator ID"},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_INT,
		 .name = "No. of ranks",
		 .offset = offsetof(struct init, ranks)},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_INT,
		 .name = "Rank",
		 .offset = offsetof(struct init, rank)},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_INT,
		 .name = "CUDA device",
		 .offset = offsetof(struct init, device)}};

	schema(&call_schema, "NcclAllReduce", calls, 3, sizeof(struct call));
	schema(&init_schema, "NcclCommInitRank", inits, 4, sizeof(struct init));
}

static void push(const char *function, const void *payload, size_t size, uint64_t id)
{
	static nvtxStringHandle_t names[4];
	static const char *texts[4];
	nvtxPayloadData_t data = {id, size, payload};
	nvtxEventAttributes_t a = {.version = NVTX_VERSION,
				   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
				   .messageType = NVTX_MESSAGE_TYPE_REGISTERED};
	unsigned i = 0;

	while (texts[i] && texts[i] != function)
		i++;
	if (!texts[i]) {
		texts[i] = function;
		names[i] = nvtxDomainRegisterStringA(domain, function);
	}
	a.message.registered = names[i];
	if (payload) {
		a.payloadType = (int32_t)NVTX_PAYLOAD_TYPE_EXT;
		a.reserved0 = 1;
		a.payload.ullValue = (uint64_t)(uintptr_t)&data;
	}
	nvtxDomainRangePushEx(domain, &a);
}

static bool all_have_begun(unsigned of, unsigned n)
{
	for (unsigned i = 0; i < world; i++)
		if (atomic_load(&shared->begun[of][i]) < n)
			return false;
	return true;
}

static void wait_for_all(unsigned of)
{
	unsigned n = atomic_fetch_add(&shared->begun[of][rank], 1) + 1;

	while (!all_have_begun(of, n))
		nanosleep(&(struct timespec){.tv_nsec = 5 * 1000 * 1000}, NULL);
}

/* NCCL's and MPI's functions, by their names. */
__attribute__((noinline)) static void ncclAllReduce(size_t bytes)
{
	struct call c = {0xc0ffee, bytes, 0};

	push("ncclAllReduce", &c, sizeof(c), call_schema);
	wait_for_all(0);
	nvtxDomainRangePop(domain);
}

__attribute__((noinline)) static void ncclBroadcast(size_t bytes)
{
	struct call c = {0xc0ffee, bytes, 0};

	push("ncclBroadcast", &c, sizeof(c), call_schema);
	wait_for_all(0);
	nvtxDomainRangePop(domain);
}

__attribute__((noinline)) static void MPI_Barrier(void)
{
	wait_for_all(1);
	atomic_signal_fence(memory_order_seq_cst);
}

__attribute__((noinline)) static void train(unsigned operations, unsigned skipped)
{
	for (unsigned i = 1; i <= operations; i++) {
		if (i == skipped)
			continue;
		if (i % 10 == 0)
			ncclBroadcast(64);
		else
			ncclAllReduce(4096);
	}
	atomic_signal_fence(memory_order_seq_cst);
}

__attribute__((noinline)) static void finish(void)
{
	MPI_Barrier();
	atomic_signal_fence(memory_order_seq_cst);
}

int main(int argc, char **argv)
{
	struct init c = {0xc0ffee, 0, 0, 0};
	nvtxPayloadData_t data = {0, sizeof(c), &c};
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a recorder that the test kills leaves none behind */
	CHECK(argc == 4 && getenv("RANK") && getenv("WORLD_SIZE"));
	rank = (unsigned)atoi(getenv("RANK"));
	world = (unsigned)atoi(getenv("WORLD_SIZE"));
	CHECK(rank < RANKS && world <= RANKS);
	CHECK((fd = open(argv[1], O_RDWR | O_CREAT, 0600)) >= 0);
	CHECK(!ftruncate(fd, sizeof(*shared)));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(shared != MAP_FAILED);
	domain = nvtxDomainCreateA("NCCL");
	schemas();
	c.ranks = (int)world;
	c.rank = (int)rank;
	data.schemaId = init_schema;
	push("ncclCommInitRank", NULL, 0, 0);
	nvtxRangePopPayload(domain, &data, 1);
	train((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]));
	finish();
	printf("rank %u ends\n", rank);
	return 0;
}
