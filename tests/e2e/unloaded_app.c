/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a library, has it work, unloads it, and loads another one to the same addresses: unloaded.sh.
 *
 *   unloaded_app FIRST SECOND     in turns, several times
 *   unloaded_app FIRST SECOND x   once, and SECOND is renamed to FIRST before it is loaded
 *
 * With the variable GO_AHEAD it waits until a file of that name is there. Status 3: the addresses are others.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static void *works(const char *path, double seconds)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*work)(double) = lib ? (void (*)(double))dlsym(lib, "work") : NULL;
	char *base;
	Dl_info info;

	if (!work || !dladdr((void *)work, &info)) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	base = info.dli_fbase;
	work(seconds);
	if (dlclose(lib))
		exit(1);
	return base;
}

#define TURNS 8

int main(int argc, char **argv)
{
	const char *go = getenv("GO_AHEAD");
	bool is_same = true;

	if (argc < 3)
		return 2;
	while (go && access(go, F_OK))
		usleep(10000);
	if (argc > 3) {
		void *first = works(argv[1], 0.4);

		return rename(argv[2], argv[1]) ? 1 : works(argv[1], 0.4) == first ? 0 : 3;
	}
	/* Shorter than the helper's pause. */
	for (int i = 0; i < TURNS; i++)
		is_same &= works(argv[1], 0.06) == works(argv[2], 0.06);
	return is_same ? 0 : 3;
}
