/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ebpf/sideband.h"

#include <linux/perf_event.h>
#include <string.h>

#define MISC_COMM_EXEC (1 << 13)

struct task { /* PERF_RECORD_FORK, _EXIT */
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};
struct comm { /* PERF_RECORD_COMM; the name follows */
	struct perf_event_header header;
	uint32_t pid, tid;
};
struct mmap2 { /* PERF_RECORD_MMAP2; the path follows */
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
};
struct lost {
	struct perf_event_header header;
	uint64_t id, lost;
};
struct trailer { /* of all but samples */
	uint32_t pid, tid;
	uint64_t time;
};

static void read_map(const struct mmap2 *m, const char *bytes, size_t len, struct aif_sideband *ret)
{
	const char *path = bytes + sizeof(*m);
	size_t room = len - sizeof(*m);

	if (!memchr(path, '\0', room) || m->addr + m->len <= m->addr)
		return;
	ret->kind = AIF_SIDEBAND_MAP;
	ret->pid = m->pid;
	ret->lo = m->addr;
	ret->hi = m->addr + m->len;
	ret->offset = m->pgoff;
	ret->path = path;
	ret->inode = m->ino;
}

void aif_sideband_read(const void *record, size_t len, struct aif_sideband *ret)
{
	struct perf_event_header h;
	struct trailer end;

	*ret = (struct aif_sideband){0};
	if (len < sizeof(h))
		return;
	memcpy(&h, record, sizeof(h));
	if (h.type == PERF_RECORD_LOST && len >= sizeof(struct lost)) {
		struct lost l;

		memcpy(&l, record, sizeof(l));
		ret->kind = AIF_SIDEBAND_LOST;
		ret->count = l.lost;
		return;
	}
	if (len < sizeof(h) + sizeof(end))
		return;
	memcpy(&end, (const char *)record + len - sizeof(end), sizeof(end));
	ret->time = end.time;
	len -= sizeof(end);
	if ((h.type == PERF_RECORD_FORK || h.type == PERF_RECORD_EXIT) &&
	    len >= sizeof(struct task)) {
		struct task t;

		memcpy(&t, record, sizeof(t));
		ret->pid = t.pid;
		ret->parent = t.ppid;
		if (h.type == PERF_RECORD_FORK && t.pid != t.ppid)
			ret->kind = AIF_SIDEBAND_FORK;
		else if (h.type == PERF_RECORD_EXIT && t.pid == t.tid)
			ret->kind = AIF_SIDEBAND_EXIT;
	} else if (h.type == PERF_RECORD_COMM && (h.misc & MISC_COMM_EXEC) &&
		   len >= sizeof(struct comm)) {
		struct comm c;

		memcpy(&c, record, sizeof(c));
		ret->pid = c.pid;
		ret->kind = AIF_SIDEBAND_EXEC;
	} else if (h.type == PERF_RECORD_MMAP2 && len > sizeof(struct mmap2)) {
		struct mmap2 m;

		memcpy(&m, record, sizeof(m));
		read_map(&m, record, len, ret);
	}
}
