/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/shm.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/*
 * A target with the agent's fake runtime that writes into the memory that it shares with the recorder what an agent
 * writes there while CUPTI is in use, and ends.
 *
 *     ending_app USE SIGNAL   USE: enum aif_cupti_use. SIGNAL: that it sends itself; 0: exits; -1: reads where nothing is
 *
 * Prints what the recorder had asked of CUPTI, then for each build that it remembers its first byte and use.
 */

/* The agent's mapping of that memory, which has its name. */
static struct aif_shm *find_memory(void)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	uintptr_t at = 0;

	while (f && !at && fgets(line, sizeof(line), f))
		if (!strstr(line, "memfd:aiflame") || sscanf(line, "%" SCNxPTR, &at) != 1 ||
		    ((struct aif_shm *)at)->magic != AIF_WIRE_MAGIC)
			at = 0;
	if (f)
		fclose(f);
	return (struct aif_shm *)at;
}

int main(int argc, char **argv)
{
	const struct rlimit no_core = {0};
	int (*run)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "aif_fake_run");
	void (*launch)(uint32_t, uint32_t) =
		(void (*)(uint32_t, uint32_t))dlsym(RTLD_DEFAULT, "aif_fake_launch");
	int number = argc > 2 ? atoi(argv[2]) : 0;
	int *volatile nowhere = (int *)8;
	struct aif_shm *shm;

	setrlimit(RLIMIT_CORE, &no_core);
	if (!run || !launch || run("generate kernels=2 streams=1") < 0)
		return 120;
	for (unsigned i = 0; i < 100; i++)
		launch(0, i % 2);
	shm = find_memory();
	if (!shm)
		return 121;
	printf("%u", shm->cupti);
	for (int i = 0; i < AIF_SHM_CUPTI_CRASHES && shm->cupti_crashes[i].use; i++)
		printf(" %02x-%u", shm->cupti_crashes[i].id[0], shm->cupti_crashes[i].use);
	putchar('\n');
	fflush(stdout);
	memset(shm->cupti_id, 0xab, sizeof(shm->cupti_id));
	shm->cupti_version = 130000;
	shm->cupti_use = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
	if (number < 0)
		*nowhere = 1;
	if (number)
		kill(getpid(), number);
	return 0;
}
