/* SPDX-License-Identifier: Apache-2.0 */
#include "record/listener.h"

#include "base/job_rank.h"
#include "base/proc.h"
#include "base/process.h"
#include "base/process_read.h"
#include "record/attach/attach_dir.h"
#include "record/orders.h"
#include "record/token.h"
#include "record/watchers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Process numbers take 15 bits of a launch's number (wire.h: slot and sequence take 48). */
#define MAX_PROCESSES 32767
/* Places for processes without a runtime: a script has a hundred thousand of them, and the one that uses the device comes
 * last. */
#define MAX_CARRIERS 8192
/* A number is not given again within a second: that takes as many processes as there are numbers. */
#define SWEEP_NS AIF_NS_PER_S
/* Between connecting and its hello a process waits for a CPU only. With 30 runnable processes on two CPUs
 * about one of 30 waited for more than 100 ms. */
#define HELLO_NS (10 * AIF_NS_PER_S)
/* The greatest that Linux has. */
#define ERRNO_MAX 4095
/* Connections that are accepted before the recorder looks after other things. */
#define ACCEPTS_MAX 256
/* Out of descriptors: until the next attempt. */
#define NO_FILES_NS (20 * 1000 * 1000)

/* In the standby directory of its own user, so that `ctl` and other processes' agents find it. */
static int make_findable_dir(struct aif_listener *w)
{
	const struct aif_attach *a = w->attach;
	int r;

	if (a->dir < 0 || strlen(a->path) + 1 + sizeof(w->in_dir.name) > sizeof(w->dir))
		return -ENOENT;
	r = aif_recording_dir_make(&w->in_dir, a->dir, a->owner);
	if (r < 0)
		return r;
	snprintf(w->dir, sizeof(w->dir), "%.86s/%s", a->path, w->in_dir.name);
	w->in_standby = true;
	return 0;
}

static int watch(struct aif_listener *w, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(w->fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int aif_listener_open(struct aif_listener *w, struct aif_store *s,
		      const struct aif_record_opts *opts, struct aif_attach *attach,
		      struct aif_err *err)
{
	int r;

	*w = (struct aif_listener){.fd = -1,
				   .sock = -1,
				   .in_dir = {.fd = -1, .sock = -1},
				   .store = s,
				   .opts = opts,
				   .attach = attach,
				   .carriers_max = MAX_CARRIERS};
	aif_fair_shares_init(&w->numbers, MAX_PROCESSES, geteuid());
	w->crashes_len = aif_cupti_crashes_load(w->crashes, AIF_ARRAY_LEN(w->crashes));
	r = aif_token_make(w->token);
	if (!r)
		r = aif_attach_as_owner(attach);
	if (!r)
		r = make_findable_dir(w);
	if (r < 0 && attach->wants != AIF_WANTS_NONE) {
		aif_attach_as_ourselves();
		return aif_err_set(
			err, r,
			"%s: cannot make a directory for the agents' socket: %s; its owner "
			"must be able to write there",
			attach->shown, strerror(-r));
	}
	if (r < 0)
		r = aif_recording_dir_make_elsewhere(&w->in_dir, w->dir, sizeof(w->dir));
	if (r < 0)
		return aif_err_set(err, r,
				   "cannot make a directory for the agent's socket: %s; set "
				   "TMPDIR to a writable directory",
				   strerror(-r));
	snprintf(w->socket, sizeof(w->socket), "%s/agent", w->dir);
	/* Access to the socket is decided by the directory, the token and the uid; a target that has dropped root's
	 * privileges still holds the token but cannot enter the directory. */
	w->sock = w->in_dir.sock;
	w->fd = epoll_create1(EPOLL_CLOEXEC);
	if (w->fd < 0 || watch(w, w->sock) < 0)
		r = -errno;
	aif_attach_as_ourselves();
	if (r < 0) {
		aif_listener_close(w);
		return aif_err_set(err, r, "%s: %s", w->socket, strerror(-r));
	}
	return 0;
}

void aif_listener_close(struct aif_listener *w)
{
	for (unsigned i = 0; i < w->pending_len; i++)
		close(w->pending[i].sock);
	w->pending_len = 0;
	aif_fair_shares_finish(&w->numbers);
	if (w->fd >= 0)
		close(w->fd);
	if (w->dir[0] && aif_attach_as_owner(w->attach) == 0) {
		aif_recording_dir_finish(&w->in_dir, w->in_standby ? w->attach->dir : -1);
		if (!w->in_standby)
			aif_standby_remove(AT_FDCWD, w->dir);
		aif_attach_as_ourselves();
	}
	aif_map_finish(&w->by_pid);
	aif_map_finish(&w->starts);
	aif_map_finish(&w->late);
	w->fd = w->sock = -1;
	w->dir[0] = '\0';
}

#define ARGUMENTS_MAX 16384

/* Arguments with a zero byte behind each, as one string. */
static uint32_t put_arguments(struct aif_store *s, char *text, size_t n)
{
	while (n && !text[n - 1])
		n--;
	for (size_t i = 0; i < n; i++)
		text[i] = text[i] ? text[i] : ' ';
	return aif_store_str(s, text, n);
}

static uint32_t proc_arguments(struct aif_store *s, int pid)
{
	struct aif_buf text = {0};
	uint32_t string;

	(void)aif_process_text(pid, "cmdline", ARGUMENTS_MAX, &text);
	string = put_arguments(s, (char *)text.data, text.len);
	aif_buf_finish(&text);
	return string;
}

static bool is_blank(const struct aif_store *s, uint32_t text)
{
	return !*aif_profile_str(&s->p, text);
}

static void fill_process(struct aif_store *s, struct aif_process *p)
{
	char link[64], exe[4096];
	uint64_t start;
	int parent = 0;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%u/exe", p->pid);
	n = readlink(link, exe, sizeof(exe));
	p->exe = aif_store_str(s, exe, n > 0 ? (size_t)n : 0);
	p->cmdline = proc_arguments(s, (int)p->pid);
	(void)aif_proc_stat((int)p->pid, &parent, &start);
	p->ppid = (uint32_t)parent;
}

static uint64_t start_of(int pid)
{
	uint64_t start;
	int parent;

	return aif_proc_stat(pid, &parent, &start) ? start : 0;
}

/* The process of the store that has this number now, or AIF_NONE: numbers are used again. Needs the store's lock. */
static uint32_t find_process(struct aif_listener *w, int pid)
{
	uint64_t id, known, start;
	struct aif_process *p;

	if (pid <= 0 || !aif_map_get(&w->by_pid, (uint64_t)pid, &id) || id == AIF_NONE)
		return AIF_NONE;
	p = &w->store->p.processes[id];
	if (p->end_ns)
		return AIF_NONE;
	start = start_of(pid);
	if (!start || !aif_map_get(&w->starts, id, &known) || known == start)
		return (uint32_t)id;
	p->end_ns = aif_now_ns();
	return AIF_NONE;
}

/* Sets the place in a job that a process's launcher gave it, by the environment that it was started with. */
static void fill_rank(struct aif_process *p)
{
	struct aif_buf text = {0};
	struct aif_job_rank job;

	(void)aif_process_text((int)p->pid, "environ", ENVIRONMENT_MAX, &text);
	job = aif_job_rank_find(aif_buf_str(&text), text.len);
	aif_buf_finish(&text);
	if (!job.is_known)
		return;
	p->rank = job.rank + 1;
	p->local_rank = job.local_rank + 1;
	p->world = job.world;
}

static void know_process(struct aif_listener *w, int pid, uint32_t id)
{
	uint64_t start = start_of(pid);

	aif_map_put(&w->by_pid, (uint64_t)pid, id);
	if (start)
		aif_map_put(&w->starts, id, start);
}

/* Notes the end of processes that have no memory, which the drain thread does not look at. */
static void sweep(struct aif_listener *w, uint64_t now)
{
	struct aif_profile *p = &w->store->p;
	uint64_t id;

	if (now - w->swept_ns < SWEEP_NS)
		return;
	w->swept_ns = now;
	pthread_mutex_lock(&w->store->lock);
	for (size_t i = 0; i < p->processes_len; i++) {
		struct aif_process *at = &p->processes[i];

		if (!at->end_ns && !(at->flags & AIF_PROCESS_JOINED) &&
		    aif_map_get(&w->by_pid, at->pid, &id) && id == i &&
		    kill((pid_t)at->pid, 0) < 0 && errno == ESRCH)
			at->end_ns = now;
	}
	pthread_mutex_unlock(&w->store->lock);
}

/* Whether one more process can be listed, which asks for memory or does not; one that cannot is counted. Needs the store's
 * lock. */
static bool has_place(struct aif_listener *w, int pid, bool joins)
{
	const bool has_room = w->store->p.processes_len < MAX_PROCESSES;
	uid_t user = (uid_t)-1;

	(void)aif_proc_user(pid, &user); /* else it shares with all that cannot be told apart */
	if (joins)
		return has_room && aif_fair_shares_take(&w->numbers, user);
	if (has_room && w->carriers < w->carriers_max && aif_fair_shares_take(&w->numbers, user)) {
		w->carriers++;
		return true;
	}
	aif_store_loss(w->store, AIF_REASON_PROCESSES_UNLISTED, AIF_NONE, AIF_NONE, 1);
	return false;
}

/* The process `pid`, made known to the store if it is new. 0 is each one of a namespace that we do not see into. */
static uint32_t process_get(struct aif_listener *w, int pid, bool joins)
{
	struct aif_process p = {.pid = (uint32_t)pid, .start_ns = aif_now_ns(), .exit_status = -1};
	char host[256] = "";
	uint64_t id;

	if (pid > 0)
		fill_rank(&p);
	aif_store_lock_as(w->store, &w->quota);
	id = find_process(w, pid);
	if (id != AIF_NONE) {
		aif_store_unlock_as(w->store);
		return (uint32_t)id;
	}
	/* The process may have been sampled before (ebpf/ebpf.h). */
	id = pid > 0 ? aif_store_process_alive(w->store, (uint32_t)pid) : AIF_NONE;
	if (id != AIF_NONE) {
		know_process(w, pid, (uint32_t)id);
	} else if (has_place(w, pid, joins)) {
		gethostname(host, sizeof(host) - 1);
		p.host = aif_store_puts(w->store, host);
		fill_process(w->store, &p);
		id = aif_store_process(w->store, &p);
		if (id != AIF_NONE && pid > 0)
			know_process(w, pid, (uint32_t)id);
	}
	aif_store_unlock_as(w->store);
	return (uint32_t)id;
}

void aif_listener_add_command(struct aif_listener *w, int pid, char *const argv[])
{
	uint32_t id = process_get(w, pid, false);
	struct aif_buf command = {0};
	struct aif_process *p;

	if (id == AIF_NONE)
		return;
	for (char *const *a = argv; *a; a++)
		aif_buf_append(&command, *a, strlen(*a) + 1);
	pthread_mutex_lock(&w->store->lock);
	p = &w->store->p.processes[id];
	/* The process may be in its exec, or over: then its command line is empty. */
	if (is_blank(w->store, p->cmdline))
		p->cmdline = put_arguments(w->store, (char *)command.data, command.len);
	pthread_mutex_unlock(&w->store->lock);
	aif_buf_finish(&command);
}

/* Takes the agent's description of its process where /proc had none any more. */
static void introduce(struct aif_listener *w, uint32_t id, struct aif_hello *h, size_t len)
{
	size_t exe = strnlen(h->text, len);
	struct aif_process *p;

	if (id == AIF_NONE || exe == len)
		return;
	aif_store_lock_as(w->store, &w->quota);
	p = &w->store->p.processes[id];
	if (is_blank(w->store, p->exe))
		p->exe = aif_store_str(w->store, h->text, exe);
	if (is_blank(w->store, p->cmdline))
		p->cmdline = put_arguments(w->store, h->text + exe + 1, len - exe - 1);
	aif_store_unlock_as(w->store);
}

/* A pid that says hello again after it has met the recorder has called exec: from here on it is another program.
 * `flags`: enum aif_process_flag. */
static uint32_t process_of(struct aif_listener *w, int pid, uint32_t flags)
{
	bool joins = flags & AIF_PROCESS_JOINED;
	uint32_t id = process_get(w, pid, joins);
	struct aif_process *p;
	bool again;

	if (id == AIF_NONE)
		return id;
	aif_store_lock_as(w->store, &w->quota);
	p = &w->store->p.processes[id];
	again = p->flags & AIF_PROCESS_JOINED;
	if (again && !p->end_ns)
		p->end_ns = aif_now_ns();
	/* A process that was first seen with its parent's image, or one given with -p that has called exec since, is
	 * described anew. */
	else if (!again && (!joins || aif_attach_is_requested(w->attach, pid)))
		fill_process(w->store, p);
	if (!again && joins && w->carriers && (p->flags & AIF_PROCESS_AGENT))
		w->carriers--;
	if (!again)
		p->flags |= flags;
	aif_store_unlock_as(w->store);
	if (!again)
		return id;
	aif_drain_thread_forget(w->drain, pid);
	aif_map_put(&w->by_pid, (uint64_t)pid, AIF_NONE);
	return process_of(w, pid, flags);
}

size_t aif_listener_processes(struct aif_listener *w)
{
	size_t n;

	pthread_mutex_lock(&w->store->lock);
	n = w->store->p.processes_len;
	pthread_mutex_unlock(&w->store->lock);
	return n;
}

void aif_listener_update_process(struct aif_listener *w, int pid)
{
	struct aif_process *p;
	uint32_t arguments;
	uint64_t id;

	aif_store_lock_as(w->store, &w->quota);
	if (aif_map_get(&w->by_pid, (uint64_t)pid, &id) && id != AIF_NONE) {
		p = &w->store->p.processes[id];
		arguments = proc_arguments(w->store, pid);
		/* A process that has ended has no arguments. */
		if (arguments != p->cmdline && !is_blank(w->store, arguments))
			fill_process(w->store, p);
	}
	aif_store_unlock_as(w->store);
}

bool aif_listener_add_process(struct aif_listener *w, int pid)
{
	uint32_t id = process_get(w, pid, false);
	struct aif_process *p;
	bool met = false;

	if (id == AIF_NONE)
		return true;
	aif_store_lock_as(w->store, &w->quota);
	p = &w->store->p.processes[id];
	met = p->flags & AIF_PROCESS_JOINED;
	if (!met) {
		fill_process(w->store, p); /* it may be another program by now */
		p->flags |= AIF_PROCESS_AGENT;
	}
	aif_store_unlock_as(w->store);
	return !met;
}

/* why: more than the reason says, or NULL. */
static void loss(struct aif_listener *w, enum aif_reason reason, uint32_t process, const char *why)
{
	pthread_mutex_lock(&w->store->lock);
	aif_store_loss(w->store, reason, process, why ? aif_store_puts(w->store, why) : AIF_NONE,
		       1);
	pthread_mutex_unlock(&w->store->lock);
}

static void give_memory(struct aif_listener *w, const struct aif_pending_connection *c,
			const struct ucred *peer, uint32_t process,
			const struct aif_proc_clocks *clocks, const struct aif_hello *h)
{
	const int sock = c->sock, pid = peer->pid;
	struct aif_shm *shm;
	int fd, r;

	if (process == AIF_NONE || !aif_drain_thread_has_place(w->drain, peer->uid)) {
		loss(w, AIF_REASON_TOO_MANY_PROCESSES, AIF_NONE, NULL);
		aif_hello_reply_send(sock, AIF_HELLO_REPLY_FULL, -1);
		return;
	}
	r = aif_shm_create(AIF_SHM_SLOTS, AIF_SHM_RING_SIZE, &shm, &fd);
	if (r < 0) {
		loss(w, AIF_REASON_HANDSHAKE_FAILED, process, strerror(-r));
		aif_hello_reply_send(sock, AIF_HELLO_REPLY_FULL, -1);
		return;
	}
	aif_orders_write(w->opts, pid, h, shm);
	for (size_t i = 0; i < w->crashes_len; i++) {
		memcpy(shm->cupti_crashes[i].id, w->crashes[i].id, AIF_SHM_CUPTI_ID);
		shm->cupti_crashes[i].use = w->crashes[i].use;
	}
	r = aif_drain_thread_add(w->drain, pid, peer->uid,
				 pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1, process,
				 clocks, shm, AIF_SHM_SLOTS, AIF_SHM_RING_SIZE);
	if (r == 0)
		r = aif_hello_reply_send(sock, AIF_HELLO_REPLY_OK, fd);
	if (r == 0)
		aif_attach_joined(c->attach, pid);
	/* Short commands end, or call exec, at any moment. */
	if (r < 0 && !(r == -EPIPE &&
		       (h->joins & AIF_JOINS_WITHOUT_DEVICE || aif_became_is_gone(c->attach, pid))))
		loss(w, AIF_REASON_HANDSHAKE_FAILED, process,
		     r == -EPIPE ? "it had stopped waiting" : strerror(-r));
	close(fd);
}

/* Returns what a process is that asks for memory. */
static uint32_t flags_of(const struct aif_hello *h)
{
	const bool has_runtime = *h->runtime && !(h->joins & AIF_JOINS_WITHOUT_DEVICE);

	return AIF_PROCESS_AGENT | AIF_PROCESS_JOINED | (has_runtime ? AIF_PROCESS_RUNTIME : 0);
}

/* True for who may have what was recorded: our own user and root only, as a recording of root's may have the token in a
 * directory of another user's. Others are refused. */
static bool may_have_rows(struct aif_listener *w, int sock, uid_t uid)
{
	if (uid == geteuid() || uid == 0)
		return true;
	w->refused++;
	aif_hello_reply_send(sock, AIF_HELLO_REPLY_TOKEN, -1);
	return false;
}

/* Gives who wants to watch the recording the other end of a new socket. */
static void give_watch(struct aif_listener *w, int sock, uid_t uid)
{
	int ends[2];

	if (!may_have_rows(w, sock, uid))
		return;
	if (!w->watchers || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		aif_hello_reply_send(sock, AIF_HELLO_REPLY_FULL, -1);
		return;
	}
	if (aif_watchers_add(w->watchers, ends[0], false) < 0)
		aif_hello_reply_send(sock, AIF_HELLO_REPLY_FULL, -1);
	else
		aif_hello_reply_send(sock, AIF_HELLO_REPLY_OK, ends[1]);
	close(ends[1]);
}

static bool has_hung_up(int sock)
{
	struct pollfd p = {.fd = sock, .events = POLLRDHUP};

	return poll(&p, 1, 0) == 1;
}

/* A process has asked while we had no CPU, and asks again: counted once, and only its last question is answered. Short commands end, or
 * call exec, at any moment. */
static void note_late(struct aif_listener *w, int pid, uint32_t joins)
{
	uint64_t known;

	if (joins & AIF_JOINS_WITHOUT_DEVICE || aif_map_get(&w->late, (uint64_t)pid, &known))
		return;
	aif_map_put(&w->late, (uint64_t)pid, 1);
	loss(w, AIF_REASON_HANDSHAKE_FAILED, process_get(w, pid, true), "it had stopped waiting");
}

/* Returns true for who may say what the recording is to do; that of several users is not one user's to end. */
static bool may_control(const struct aif_listener *w, const struct aif_pending_connection *c,
			uid_t uid)
{
	/* The peer in a directory of another user, or of a container, may be its root. */
	if (c->attach && c->attach != w->attach)
		return false;
	return uid == geteuid() || uid == 0 || (geteuid() == 0 && !w->opts->all_processes);
}

/* n: bytes of what it said. */
static void answer(struct aif_listener *w, const struct aif_pending_connection *c,
		   struct aif_hello *h, ssize_t n)
{
	const int sock = c->sock;
	struct aif_proc_clocks clocks;
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 ||
	    n < (ssize_t)AIF_HELLO_FIXED || h->magic != AIF_WIRE_MAGIC)
		return;
	if (!aif_token_is_same(h->token, w->token) ||
	    (cred.uid != geteuid() && geteuid() != 0 && cred.uid != 0) ||
	    (h->kind == AIF_HELLO_CONTROL && !may_control(w, c, cred.uid))) {
		w->refused++;
		aif_hello_reply_send(sock, AIF_HELLO_REPLY_TOKEN, -1);
		return;
	}
	if (h->version != AIF_WIRE_VERSION) {
		loss(w, AIF_REASON_WIRE_VERSION, AIF_NONE, NULL);
		aif_hello_reply_send(sock, AIF_HELLO_REPLY_VERSION, -1);
		return;
	}
	if (h->kind == AIF_HELLO_RUNTIME && has_hung_up(sock)) {
		note_late(w, cred.pid, h->joins);
		return;
	}
	if (h->kind == AIF_HELLO_CARRIER || h->kind == AIF_HELLO_RUNTIME)
		aif_source_reader_add(&w->reader, cred.uid, cred.gid);
	if (h->kind == AIF_HELLO_CARRIER) {
		introduce(w, process_of(w, cred.pid, AIF_PROCESS_AGENT), h,
			  (size_t)n - AIF_HELLO_FIXED);
	} else if (h->kind == AIF_HELLO_CONTROL && h->control == AIF_CONTROL_WATCH) {
		give_watch(w, sock, cred.uid);
	} else if (h->kind == AIF_HELLO_CONTROL &&
		   (h->control == AIF_CONTROL_SYNC || h->control == AIF_CONTROL_SNAPSHOT)) {
		if (h->control == AIF_CONTROL_SNAPSHOT && !may_have_rows(w, sock, cred.uid))
			return;
		/* A connection that was closed would make w->fd readable for ever. */
		epoll_ctl(w->fd, EPOLL_CTL_DEL, sock, NULL);
		if (aif_syncs_add(&w->syncs, sock, h->control == AIF_CONTROL_SNAPSHOT) < 0)
			aif_hello_reply_send(sock, AIF_HELLO_REPLY_FULL, -1);
	} else if (h->kind == AIF_HELLO_CONTROL) {
		w->control = (enum aif_control)h->control;
		aif_hello_reply_send(sock, AIF_HELLO_REPLY_DONE, -1);
	} else if (h->kind == AIF_HELLO_FAILED) {
		loss(w, AIF_REASON_HANDSHAKE_FAILED, process_get(w, cred.pid, true),
		     strerror((int)AIF_MIN(h->error, (uint32_t)ERRNO_MAX)));
	} else if (h->kind == AIF_HELLO_FILTERED) {
		loss(w, AIF_REASON_SECCOMP, process_get(w, cred.pid, true), NULL);
	} else if (h->kind == AIF_HELLO_RUNTIME &&
		   !aif_attach_accepts(w->attach, cred.pid, h->joins & AIF_JOINS_AFTER_FORK)) {
		aif_hello_reply_send(sock, AIF_HELLO_REPLY_UNWANTED, -1);
	} else if (h->kind == AIF_HELLO_RUNTIME && !aif_proc_clocks(cred.pid, &clocks)) {
		loss(w, AIF_REASON_TIME_NAMESPACE, process_of(w, cred.pid, flags_of(h)), NULL);
		aif_hello_reply_send(sock, AIF_HELLO_REPLY_UNWANTED, -1);
	} else if (h->kind == AIF_HELLO_RUNTIME) {
		give_memory(w, c, &cred, process_of(w, cred.pid, flags_of(h)), &clocks, h);
	}
}

/* False: it has not said anything so far. */
static bool welcome(struct aif_listener *w, const struct aif_pending_connection *c)
{
	struct aif_hello h;
	ssize_t n = recv(c->sock, &h, sizeof(h), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	answer(w, c, &h, n);
	return true;
}

/* Guest i leaves. */
static void see_off(struct aif_listener *w, unsigned i)
{
	close(w->pending[i].sock);
	w->pending_len--;
	memmove(&w->pending[i], &w->pending[i + 1], (w->pending_len - i) * sizeof(w->pending[i]));
}

static void see_off_silent(struct aif_listener *w, unsigned i)
{
	loss(w, AIF_REASON_HANDSHAKE_FAILED, AIF_NONE, "it connected and said nothing");
	see_off(w, i);
}

/* Reads the hellos of connections that came before. */
static void read_pending(struct aif_listener *w, uint64_t now)
{
	for (unsigned i = 0; i < w->pending_len;) {
		if (welcome(w, &w->pending[i]))
			see_off(w, i);
		else if (now - w->pending[i].since_ns >= HELLO_NS)
			see_off_silent(w, i);
		else
			i++;
	}
}

/* Accepts by turns of the sockets: who connects without end keeps no other waiting. False: nobody waits, errno says why. */
static bool accept_one(struct aif_listener *w, struct aif_pending_connection *ret)
{
	const unsigned n = 1 + (w->owners ? w->owners->len : 0);

	for (unsigned i = 0; i < n; i++) {
		const unsigned at = w->turn++ % n;
		struct aif_owner *o = at ? w->owners->owner[at - 1] : NULL;

		ret->attach = o ? &o->attach : w->attach;
		ret->sock = accept4(o ? o->recording.sock : w->sock, NULL, NULL,
				    SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (ret->sock >= 0)
			return true;
	}
	return false;
}

/* Returns whose place a connection takes where all are taken: the oldest of its own directory, else the oldest. */
static unsigned place_for(const struct aif_listener *w, const struct aif_attach *attach)
{
	for (unsigned i = 0; i < w->pending_len; i++)
		if (w->pending[i].attach == attach)
			return i;
	return 0;
}

void aif_listener_accept(struct aif_listener *w)
{
	uint64_t now = aif_now_ns();
	struct aif_pending_connection c;
	int r;

	errno = 0;
	for (unsigned n = 0; n < ACCEPTS_MAX && accept_one(w, &c); n++) {
		c.since_ns = now;
		/* A process says hello as a carrier, then as a runtime: in the other order it would be one that
		 * has called exec. What it said before it came again is there. */
		read_pending(w, now);
		r = welcome(w, &c) ? 1 : watch(w, c.sock);
		if (r < 0)
			loss(w, AIF_REASON_HANDSHAKE_FAILED, AIF_NONE, strerror(-r));
		if (r) {
			close(c.sock);
			continue;
		}
		if (w->pending_len == AIF_PENDING_CONNECTIONS)
			see_off_silent(w, place_for(w, c.attach));
		w->pending[w->pending_len++] = c;
	}
	/* Connections that wait to be accepted make the socket readable all the time. */
	if (errno == EMFILE || errno == ENFILE)
		nanosleep(&(struct timespec){.tv_nsec = NO_FILES_NS}, NULL);
	read_pending(w, now);
	sweep(w, now);
}
