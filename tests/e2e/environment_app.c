/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <grp.h>
#include <linux/prctl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Another user's process that says of 64 GiB of empty memory, which cost it nothing, that they are its environment. Ends with 77
 * where the kernel refuses that. */

#define NOBODY 65534

static uint64_t field_of_stat(const char *text, int n)
{
	const char *at = strrchr(text, ')') + 2;

	for (int i = 3; i < n; i++)
		at = strchr(at, ' ') + 1;
	return strtoull(at, NULL, 10);
}

int main(void)
{
	const size_t bytes = (size_t)64 << 30;
	struct prctl_mm_map map = {.exe_fd = (uint32_t)-1};
	char text[4096] = "";
	FILE *f;
	void *at;

	if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
	    setresuid(NOBODY, NOBODY, NOBODY) < 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return 77;
	at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	f = fopen("/proc/self/stat", "re");
	if (at == MAP_FAILED || !f || !fgets(text, sizeof(text), f) || !strrchr(text, ')'))
		return 77;
	fclose(f);
	map.start_code = field_of_stat(text, 26);
	map.end_code = field_of_stat(text, 27);
	map.start_stack = field_of_stat(text, 28);
	map.start_data = field_of_stat(text, 45);
	map.end_data = field_of_stat(text, 46);
	map.start_brk = field_of_stat(text, 47);
	map.brk = (uintptr_t)sbrk(0);
	map.arg_start = field_of_stat(text, 48);
	map.arg_end = field_of_stat(text, 49);
	map.env_start = (uintptr_t)at;
	map.env_end = (uintptr_t)at + bytes;
	if (prctl(PR_SET_MM, PR_SET_MM_MAP, (uintptr_t)&map, sizeof(map), 0) < 0)
		return 77;
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}
