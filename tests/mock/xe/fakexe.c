/* SPDX-License-Identifier: Apache-2.0 */
#include "../supervisor.h"
#include "script.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/sources/xe_abi.h"

#define RECORD 64 /* bytes */

/*
 * An xe card that is not there, below a program that knows nothing of it:
 *
 *     fakexe SCRIPT COMMAND...
 *
 * COMMAND runs under a seccomp filter that hands three system calls to this process, which answers them as Linux's xe
 * driver does: openat, ioctl of the numbers below, read of a stream's. All others, and files that are none of ours, are
 * the kernel's own; so is poll, as a stream is one end of a socket that has a byte in it while there is something to read.
 * What the streams tell is in the script (script.h). At the end it says what was read; exits as COMMAND did.
 */
#define CARD   900
#define STREAM 901 /* and the next, one for each GT */

struct stream {
	int theirs, ours; /* a socket: their end as we hold it, too; -1 = not open */
	bool enabled, readable, dead;
	uint64_t ready_at; /* after a pause */
};
struct fake {
	struct script script;
	struct stream streams[SCRIPT_GTS];
	int listener, mem;
	uint64_t fed_records, fed_samples, opens;
};

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

const char supervisor_name[] = "fakexe";

/* ---- the filter ---------------------------------------------------------------------------------- */

#define LOAD(field)       BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define EQUAL(v, t, f)    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, v, t, f)
#define AT_LEAST(v, t, f) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, v, t, f)
#define RETURN(v)         BPF_STMT(BPF_RET | BPF_K, v)

static struct sock_filter code[] = {
	LOAD(nr),
	EQUAL(SYS_openat, 6, 0),
	EQUAL(SYS_ioctl, 1, 0),
	EQUAL(SYS_read, 0, 3),
	LOAD(args[0]),
	AT_LEAST(CARD, 0, 1),
	AT_LEAST(STREAM + SCRIPT_GTS, 0, 1),
	RETURN(SECCOMP_RET_ALLOW),
	RETURN(SECCOMP_RET_USER_NOTIF),
};
static const struct sock_fprog filter = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

/* ---- its memory and its descriptors -------------------------------------------------------------- */

static bool get(struct fake *f, uint64_t at, void *to, size_t n)
{
	return pread(f->mem, to, n, (off_t)at) == (ssize_t)n;
}

static bool put(struct fake *f, uint64_t at, const void *from, size_t n)
{
	return pwrite(f->mem, from, n, (off_t)at) == (ssize_t)n;
}

static int64_t give_fd(struct fake *f, uint64_t id, int fd, unsigned number)
{
	struct seccomp_notif_addfd a = {.id = id,
					.srcfd = (uint32_t)fd,
					.newfd = number,
					.flags = SECCOMP_ADDFD_FLAG_SETFD};

	return ioctl(f->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &a) < 0 ? -errno : (int64_t)number;
}

/* ---- the driver ---------------------------------------------------------------------------------- */

static int64_t on_open(struct fake *f, const struct seccomp_notif *q, bool *not_ours)
{
	char path[256] = "", node[64];
	int64_t r;
	int fd;

	(void)get(f, q->data.args[1], path, sizeof(path) - 1);
	snprintf(node, sizeof(node), "/dev/dri/%s", f->script.node);
	if (strcmp(path, node) != 0) {
		*not_ours = true;
		return 0;
	}
	if (f->script.denied)
		return -EACCES;
	fd = memfd_create("fakexe", MFD_CLOEXEC);
	r = give_fd(f, q->id, fd, CARD);
	close(fd);
	return r;
}

static int64_t reply(struct fake *f, uint64_t at, struct aif_xe_query *x, const void *data,
		     size_t size)
{
	if (!x->size) {
		x->size = (uint32_t)size;
		return put(f, at, x, sizeof(*x)) ? 0 : -EFAULT;
	}
	return x->size != size ? -EINVAL : put(f, x->data, data, size) ? 0 : -EFAULT;
}

static int64_t on_query(struct fake *f, uint64_t at)
{
	static const uint64_t stalls[17] = {0, 1,   64,  512 << 10, 0,    0,    0,    0,   0,
					    7, 251, 502, 753,       1004, 1255, 1506, 1757};
	union {
		struct aif_xe_gt_list list;
		uint8_t space[8 + 96 * (SCRIPT_GTS + 1)];
	} gts = {.list = {.num_gt = f->script.gts_len + 1}};
	struct aif_xe_query x;

	if (!get(f, at, &x, sizeof(x)))
		return -EFAULT;
	if (x.query == AIF_XE_QUERY_EU_STALL && !f->script.no_query)
		return reply(f, at, &x, stalls, sizeof(stalls));
	if (x.query != AIF_XE_QUERY_GT_LIST)
		return -EINVAL;
	for (unsigned i = 0; i < f->script.gts_len; i++) {
		gts.list.gt[i].gt_id = f->script.gts[i].id;
		gts.list.gt[i].ip_ver_major = f->script.gts[i].major;
		gts.list.gt[i].ip_ver_minor = f->script.gts[i].minor;
	}
	/* Each card has one without EUs. */
	gts.list.gt[f->script.gts_len].type = AIF_XE_GT_MEDIA;
	gts.list.gt[f->script.gts_len].gt_id = 99;
	return reply(f, at, &x, &gts, 8 + 96 * (size_t)gts.list.num_gt);
}

static int64_t open_stream(struct fake *f, uint64_t id, unsigned gt)
{
	struct stream *s = &f->streams[gt];
	int pair[2];
	int64_t r;

	if (f->script.gts[gt].open_fails) {
		f->script.gts[gt].open_fails--;
		return -f->script.gts[gt].open_error;
	}
	if (s->theirs >= 0) {
		close(s->theirs);
		close(s->ours);
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -EMFILE;
	*s = (struct stream){.theirs = pair[0], .ours = pair[1]};
	r = give_fd(f, id, pair[0], STREAM + gt);
	f->opens += r >= 0;
	return r;
}

static int64_t on_observation(struct fake *f, uint64_t id, uint64_t at)
{
	struct aif_xe_observation o;
	uint64_t next;
	int gt = -1;

	if (!get(f, at, &o, sizeof(o)))
		return -EFAULT;
	if (o.extensions || o.type != AIF_XE_OBSERVATION_EU_STALL ||
	    o.op != AIF_XE_OBSERVATION_OPEN)
		return -EINVAL;
	next = o.param;
	for (unsigned i = 0; next; i++) {
		struct aif_xe_property p;

		if (i == 5)
			return -E2BIG;
		if (!get(f, next, &p, sizeof(p)))
			return -EFAULT;
		if (p.name || p.pad || p.pad2 ||
		    (p.property == AIF_XE_PROPERTY_SAMPLE_RATE &&
		     (p.value % 251 || p.value / 251 < 1 || p.value / 251 > 7)) ||
		    (p.property == AIF_XE_PROPERTY_WAIT_REPORTS && (p.value < 1 || p.value > 8192)))
			return -EINVAL;
		for (unsigned k = 0; p.property == AIF_XE_PROPERTY_GT_ID && k < f->script.gts_len;
		     k++)
			gt = f->script.gts[k].id == p.value ? (int)k : gt;
		if (p.property == AIF_XE_PROPERTY_SAMPLE_RATE)
			f->script.cycles = (unsigned)p.value;
		next = p.next_extension;
	}
	return gt < 0 ? -EINVAL : open_stream(f, id, (unsigned)gt);
}

static int64_t on_version(struct fake *f, uint64_t at)
{
	struct aif_drm_version v;
	size_t n = strlen(f->script.driver);

	if (!get(f, at, &v, sizeof(v)))
		return -EFAULT;
	if (v.name &&
	    !put(f, (uint64_t)(uintptr_t)v.name, f->script.driver, n < v.name_len ? n : v.name_len))
		return -EFAULT;
	v.name_len = n;
	return put(f, at, &v, sizeof(v)) ? 0 : -EFAULT;
}

static int64_t on_ioctl(struct fake *f, const struct seccomp_notif *q)
{
	uint64_t fd = q->data.args[0], at = q->data.args[2];
	uint32_t request = (uint32_t)q->data.args[1];

	if (fd != CARD) {
		struct stream *s = &f->streams[fd - STREAM];

		if (request != AIF_XE_STREAM_IOCTL_ENABLE && request != AIF_XE_STREAM_IOCTL_DISABLE)
			return -EINVAL;
		s->enabled = request == AIF_XE_STREAM_IOCTL_ENABLE;
		return 0;
	}
	switch (request) {
	case AIF_DRM_IOCTL_VERSION:
		return on_version(f, at);
	case AIF_XE_IOCTL_DEVICE_QUERY:
		return on_query(f, at);
	case AIF_XE_IOCTL_OBSERVATION:
		return on_observation(f, q->id, at);
	default:
		return -ENOTTY;
	}
}

/* One order of the script is one answer; what does not fit the buffer is left for the next. */
static int64_t on_read(struct fake *f, const struct seccomp_notif *q)
{
	unsigned gt = (unsigned)(q->data.args[0] - STREAM);
	struct stream *s = &f->streams[gt];
	struct order *o = script_next(&f->script, gt);
	uint64_t room = q->data.args[2] / RECORD, n;
	static uint8_t bytes[4096 * RECORD];

	if (s->dead)
		return -ENODEV;
	if (!s->enabled || !room)
		return -EINVAL;
	if (!o || s->ready_at > now_ms())
		return -EAGAIN;
	switch (o->what) {
	case ORDER_ERROR:
		o->done = true;
		s->dead = o->error == ENODEV;
		return -o->error;
	case ORDER_PAUSE:
		s->ready_at = now_ms() + o->n;
		o->done = true;
		return -EAGAIN;
	case ORDER_TORN:
		o->done = true;
		memset(bytes, 0xff, o->n);
		return put(f, q->data.args[1], bytes, o->n) ? (int64_t)o->n : -EFAULT;
	case ORDER_RECORDS:
		n = o->n < room ? o->n : room;
		n = n < sizeof(bytes) / RECORD ? n : sizeof(bytes) / RECORD;
		n = f->script.short_reads && n > f->script.short_reads ? f->script.short_reads : n;
		for (uint64_t i = 0; i < n; i++)
			f->fed_samples += script_record(&f->script.gts[gt], o, bytes + i * RECORD);
		if (!put(f, q->data.args[1], bytes, n * RECORD))
			return -EFAULT;
		f->fed_records += n;
		o->n -= n;
		o->done = !o->n;
		return (int64_t)(n * RECORD);
	}
	return -EINVAL;
}

/* A byte lies in their end while there is something to read. */
static void make_readable(struct fake *f)
{
	for (unsigned i = 0; i < f->script.gts_len; i++) {
		struct stream *s = &f->streams[i];
		bool wanted = s->dead ||
			      (s->enabled && script_next(&f->script, i) && s->ready_at <= now_ms());
		char byte = 'r';

		if (s->theirs < 0 || wanted == s->readable)
			continue;
		if (wanted ? write(s->ours, &byte, 1) == 1 : read(s->theirs, &byte, 1) == 1)
			s->readable = wanted;
	}
}

static void answer(struct fake *f, struct seccomp_notif *q, struct seccomp_notif_resp *r)
{
	bool not_ours = false;
	int64_t result = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/mem", q->pid);
	f->mem = open(path, O_RDWR | O_CLOEXEC);
	if (q->data.nr == SYS_openat)
		result = on_open(f, q, &not_ours);
	else if (q->data.args[0] < CARD || q->data.args[0] >= STREAM + f->script.gts_len ||
		 (q->data.nr == SYS_read && q->data.args[0] == CARD))
		not_ours = true;
	else
		result = q->data.nr == SYS_ioctl ? on_ioctl(f, q) : on_read(f, q);
	*r = (struct seccomp_notif_resp){.id = q->id};
	if (not_ours)
		r->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else if (result < 0)
		r->error = (int32_t)result;
	else
		r->val = result;
	if (f->mem >= 0)
		close(f->mem);
	ioctl(f->listener, SECCOMP_IOCTL_NOTIF_SEND, r);
}

int main(int argc, char **argv)
{
	static struct fake f;
	struct seccomp_notif_sizes sizes;
	struct seccomp_notif *q;
	struct seccomp_notif_resp *r;
	int status = 0;
	pid_t pid;

	if (argc < 3) {
		fputs("usage: fakexe SCRIPT COMMAND...\n", stderr);
		return 2;
	}
	if (!script_read(&f.script, argv[1]))
		return 2;
	for (unsigned i = 0; i < SCRIPT_GTS; i++)
		f.streams[i].theirs = -1;
	pid = supervisor_start(&filter, argv + 2, &f.listener);
	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
		die("seccomp");
	q = calloc(1, sizes.seccomp_notif + sizeof(*q));
	r = calloc(1, sizes.seccomp_notif_resp + sizeof(*r));
	while (waitpid(pid, &status, WNOHANG) != pid) {
		struct pollfd p = {.fd = f.listener, .events = POLLIN};

		make_readable(&f);
		if (poll(&p, 1, 20) <= 0 || !(p.revents & POLLIN))
			continue;
		memset(q, 0, sizes.seccomp_notif);
		if (ioctl(f.listener, SECCOMP_IOCTL_NOTIF_RECV, q) == 0)
			answer(&f, q, r);
	}
	fprintf(stderr,
		"fakexe: %lu streams opened, every %u cycles; %lu records, %lu samples read; %s left\n",
		(unsigned long)f.opens, f.script.cycles, (unsigned long)f.fed_records,
		(unsigned long)f.fed_samples, script_is_over(&f.script) ? "nothing" : "something");
	free(q);
	free(r);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
