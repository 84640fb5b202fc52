/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <unistd.h>

/* Preloaded into a program of OpenCL that has a device and a queue: holds it before its first program until its standard input
 * has something or ends. */

typedef void *create_fn(void *context, unsigned n, const char **text, const size_t *len, int *ret);

create_fn clCreateProgramWithSource;

void *clCreateProgramWithSource(void *context, unsigned n, const char **text, const size_t *len,
				int *ret)
{
	create_fn *next = (create_fn *)dlsym(RTLD_NEXT, "clCreateProgramWithSource");
	char c;

	if (read(STDIN_FILENO, &c, 1) < 0 || !next)
		_exit(99);
	return next(context, n, text, len, ret);
}
