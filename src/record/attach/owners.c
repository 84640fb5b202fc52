/* SPDX-License-Identifier: Apache-2.0 */
#include "record/attach/owners.h"

#include "base/buf.h"
#include "base/process.h"
#include "base/process_open.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Directories of one user other than the recorder's, and processes of one that wait for theirs: whoever has more has them for others'
 * sake. */
#define DIRS_PER_USER     16
#define REQUESTS_PER_USER 256
/* Pages of other users that are held, all together: each is a descriptor, of which recorded processes need some, too. */
#define PAGES_SHARE 4
#define PAGES_LEAST 64
#define PAGES_MOST  16384
/* Pauses between looks for a directory that is not there: 50 us each. */
#define AGAIN_NS      (AIF_NS_PER_S / 5)
#define AGAIN_MOST_NS AIF_NS_PER_S
/* Another process of its user's keeps readers waiting, or this machine is busy: that passes, or is said. */
#define KEPT_NS (30 * AIF_NS_PER_S)

void aif_owners_init(struct aif_owners *o, const struct aif_attach *own, int epoll,
		     const char *token, const struct aif_record_opts *opts, const char *output)
{
	struct rlimit files;

	*o = (struct aif_owners){
		.own = own,
		.opts = opts,
		.token = token,
		.output = output,
		.epoll = epoll,
		.state = aif_record_is_delayed(opts) ? AIF_STATE_HELD : AIF_STATE_RUN,
	};
	aif_fair_shares_init(&o->dirs, AIF_OWNERS_MAX, geteuid());
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		files.rlim_cur = PAGES_LEAST;
	aif_fair_shares_init(
		&o->pages,
		(unsigned)AIF_CLAMP(files.rlim_cur / PAGES_SHARE, PAGES_LEAST, PAGES_MOST),
		geteuid());
}

int aif_owners_want(struct aif_owners *o, int pid, uid_t uid, const char *standby, uint64_t now)
{
	struct aif_owner_request *r;
	size_t n = 0;

	for (size_t i = 0; i < o->requests; i++)
		n += o->request[i].uid == uid;
	if (n >= REQUESTS_PER_USER)
		return -EUSERS;
	if (aif_grow(&o->request, &o->cap, o->requests + 1, sizeof(*o->request)) < 0)
		return -ENOMEM;
	r = &o->request[o->requests++];
	*r = (struct aif_owner_request){.pid = pid, .uid = uid, .since_ns = now, .next_ns = now};
	snprintf(r->standby, sizeof(r->standby), "%s", standby);
	return 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool is_same_dir(const struct stat *st, int dir)
{
	struct stat other;

	return dir >= 0 && fstat(dir, &other) == 0 && st->st_dev == other.st_dev &&
	       st->st_ino == other.st_ino;
}

static bool is_known(const struct aif_owners *o, int dir)
{
	struct stat st;

	if (fstat(dir, &st) < 0 || is_same_dir(&st, o->own->dir))
		return true;
	for (unsigned i = 0; i < o->len; i++)
		if (is_same_dir(&st, o->owner[i]->attach.dir))
			return true;
	return false;
}

static void owner_free(struct aif_owners *o, struct aif_owner *p)
{
	aif_fair_shares_give(&o->dirs, p->attach.owner);
	if (aif_attach_as_owner(&p->attach) == 0) {
		aif_recording_dir_finish(&p->recording, p->attach.dir);
		aif_attach_as_ourselves();
	}
	aif_attach_close(&p->attach);
	free(p);
}

static int open_recording(const struct aif_owners *o, struct aif_owner *p)
{
	struct epoll_event event = {.events = EPOLLIN};
	int r = aif_attach_as_owner(&p->attach);

	if (r < 0)
		return r;
	r = aif_recording_dir_make(&p->recording, p->attach.dir, p->attach.owner);
	aif_attach_as_ourselves();
	if (!r && epoll_ctl(o->epoll, EPOLL_CTL_ADD, p->recording.sock, &event) < 0)
		r = -errno;
	if (!r)
		r = aif_attach_announce(&p->attach, &p->recording, o->token, o->opts, o->output);
	return r;
}

/* Containers, each on a file system of its own, may have processes of one user, of root as a rule. */
static bool has_too_many(const struct aif_owners *o, uid_t uid, int dir)
{
	struct stat st, other;
	unsigned n = 0;

	if (fstat(dir, &st) < 0)
		return true;
	for (unsigned i = 0; i < o->len; i++)
		n += o->owner[i]->attach.owner == uid &&
		     fstat(o->owner[i]->attach.dir, &other) == 0 && other.st_dev == st.st_dev;
	return o->len == AIF_OWNERS_MAX || n >= DIRS_PER_USER;
}

/* Takes `dir`. 0 or -errno. */
static int owner_add(struct aif_owners *o, const struct aif_owner_request *request, int dir)
{
	const bool too_many =
		has_too_many(o, request->uid, dir) || !aif_fair_shares_take(&o->dirs, request->uid);
	struct aif_owner *p = too_many ? NULL : calloc(1, sizeof(*p));
	int r;

	if (!p) {
		close(dir);
		if (!too_many)
			aif_fair_shares_give(&o->dirs, request->uid);
		return too_many ? -EUSERS : -ENOMEM;
	}
	p->recording = (struct aif_recording_dir){.fd = -1, .sock = -1};
	p->attach = (struct aif_attach){
		.about = -1, .wants = AIF_WANTS_ALL, .sharers = 1, .held = &o->pages};
	aif_attach_use_dir(&p->attach, dir, request->uid, request->standby);
	r = open_recording(o, p);
	if (r < 0) {
		owner_free(o, p);
		return r;
	}
	aif_attach_state(&p->attach, o->state);
	o->owner[o->len++] = p;
	for (unsigned i = 0; i < o->len; i++)
		o->owner[i]->attach.sharers = o->len;
	return 0;
}

/* Returns -EAGAIN while the directory is not there, 0 or -errno once the request is answered. */
static int answer(struct aif_owners *o, const struct aif_owner_request *r, uint64_t now)
{
	int dir = aif_standby_accept(aif_process_open_dir(r->pid, r->standby), r->uid);

	if (dir == -ENOENT)
		return aif_proc_has_ended(r->pid) ? 0 : -EAGAIN;
	if (dir == -ESRCH)
		return 0;
	if (dir == -ETIMEDOUT && now - r->since_ns < KEPT_NS)
		return -EAGAIN;
	if (dir < 0)
		return dir;
	if (!is_known(o, dir))
		return owner_add(o, r, dir);
	close(dir);
	return 0;
}

static const char *text_of(int error)
{
	switch (error) {
	case -EPERM:
		return "it is not a directory of its user's with mode 0700";
	case -EUSERS:
		return "there are too many others";
	case -EREMOTE:
		return "it is on a file system that a user serves (FUSE)";
	case -ETIMEDOUT:
		return "it, or another process of its user's, keeps readers waiting";
	default:
		return strerror(-error);
	}
}

void aif_owners_look(struct aif_owners *o, uint64_t now,
		     void (*failed)(void *arg, int pid, uid_t uid, const char *why), void *arg)
{
	char text[AIF_STANDBY_DIR_MAX + 192];

	for (size_t i = 0; i < o->requests;) {
		struct aif_owner_request *r = &o->request[i];
		int e = now < r->next_ns ? -EAGAIN : answer(o, r, now);

		if (e == -EAGAIN) {
			if (now >= r->next_ns)
				r->next_ns = now + AIF_CLAMP((now - r->since_ns) / 8, AGAIN_NS,
							     AGAIN_MOST_NS);
			i++;
			continue;
		}
		snprintf(text, sizeof(text),
			 "process %d: its standby directory %s cannot be used: %s", r->pid,
			 r->standby, text_of(e));
		if (e < 0 && !aif_proc_has_ended(r->pid))
			failed(arg, r->pid, r->uid, text);
		*r = o->request[--o->requests];
	}
	for (unsigned i = 0; i < o->len; i++)
		aif_attach_look(&o->owner[i]->attach, now);
}

/* ---- all of them ----------------------------------------------------------------------------- */

bool aif_owners_all_joined(const struct aif_owners *o)
{
	for (unsigned i = 0; i < o->len; i++)
		if (!aif_attach_all_joined(&o->owner[i]->attach))
			return false;
	return true;
}

void aif_owners_state(struct aif_owners *o, enum aif_standby_state state)
{
	o->state = state;
	for (unsigned i = 0; i < o->len; i++)
		aif_attach_state(&o->owner[i]->attach, state);
}

unsigned aif_owners_old_agents(struct aif_owners *o)
{
	unsigned n = 0;

	for (unsigned i = 0; i < o->len; i++) {
		n += o->owner[i]->attach.old_agents;
		o->owner[i]->attach.old_agents = 0;
	}
	return n;
}

void aif_owners_close(struct aif_owners *o)
{
	while (o->len)
		owner_free(o, o->owner[--o->len]);
	free(o->request);
	o->request = NULL;
	o->requests = o->cap = 0;
	aif_fair_shares_finish(&o->dirs);
	aif_fair_shares_finish(&o->pages);
}
