/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/dir.h"

#include <sys/syscall.h>
#include <unistd.h>

struct dirent64_of_kernel {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

const char *aif_dir_next(struct aif_dir *d)
{
	const struct dirent64_of_kernel *e;

	if (d->at == d->len) {
		d->at = 0;
		d->len = syscall(SYS_getdents64, d->fd, d->buffer, sizeof(d->buffer));
		if (d->len <= 0) {
			d->len = 0;
			return NULL;
		}
	}
	e = (const void *)((const char *)d->buffer + d->at);
	d->at += e->len;
	return e->name;
}
