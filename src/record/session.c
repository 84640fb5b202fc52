/* SPDX-License-Identifier: Apache-2.0 */
#include "record/record.h"

#include "base/signals.h"
#include "record/coverage.h"
#include "record/cupti_crashes.h"
#include "record/describe.h"
#include "record/drain.h"
#include "record/ending.h"
#include "record/family.h"
#include "record/finish_signals.h"
#include "record/job_control.h"
#include "record/naming.h"
#include "record/outname.h"
#include "record/attach/spawn.h"
#include "record/became_report.h"
#include "record/attach/foreign_uid.h"
#include "record/listener.h"
#include "record/source_texts.h"
#include "record/sources/cpu_clock.h"
#include "record/thread_error.h"
#include "record/watchers.h"
#include "record/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * A recording, from the command line to the closed file. Four threads: this one (signals, hellos, the command's end,
 * the observer), the drain thread, the writer thread, the naming thread. Without a command (-p, -a) it is attach.h that
 * brings the processes.
 */
struct session {
	const struct aif_record_opts *opts;
	struct aif_record_opts
		chosen; /* what opts points to: the caller's, with what was left open */
	const struct aif_record_observer *observer;
	struct aif_record_result *result;
	struct aif_store store;
	struct aif_modfiles files;
	struct aif_drain_thread *drain;
	struct aif_naming *naming;
	struct aif_writer_thread *writer;
	struct aif_watchers *watchers;
	struct aif_attach attach;
	struct aif_owners owners;  /* of -a */
	unsigned object_dirs;      /* of these */
	struct aif_proc_cpus cpus; /* when the recording began */
	struct aif_listener listener;
	sigset_t old_mask;
	struct sigaction old_chld;
	int signals;
	pid_t child;
	bool child_ended, stop;
	bool is_delayed; /* --delay is not over, nor has `ctl` asked for something else */
	bool has_collected;
	bool set_metrics; /* ZET_ENABLE_METRICS=1 for the command, which had not said anything of it */
	struct aif_foreign_uid foreign_uid;
	bool is_held; /* by a naming thread that does not end: it stays until the process ends */
	struct aif_family family;
	struct aif_job job;
	int interrupts, status;
	int kernel_log;    /* cupti_crashes.h */
	int64_t oom_kills; /* when it began; negative: not known */
	uint64_t start_ns, kill_at_ns;
	uint64_t delay_from_ns; /* --delay counts from here */
	uint64_t due_ns;        /* CLOCK_REALTIME: --activate waits for it; 0: not yet */
	uint32_t windows;       /* --repeat: that are over */
	uint64_t
		counted_ns; /* --duration counts from here; 0 = not yet (-p; --delay is not over) */
};

/* Connections, signals and what has its time wake it; the rest is looked after this often. */
#define LOOK_NS     (100 * 1000 * 1000)
#define SYNC_NS     (5 * 1000 * 1000) /* while somebody waits for a commit */
#define PROGRESS_NS (250 * 1000 * 1000)
#define GRACE_NS    (5 * AIF_NS_PER_S) /* between --kill's SIGTERM and SIGKILL */
/* A process that is rung answers within milliseconds, unless it is stopped or its machine is very busy. */
#define ANSWER_NS (3 * AIF_NS_PER_S)

static void on_nothing(int sig)
{
	(void)sig;
}

/* An error of write instead of our end. A handler, unlike SIG_IGN, is not the command's after exec; what
 * was ignored before stays so, for it and for us. */
static void outlive(int sig)
{
	const struct sigaction sa = {.sa_handler = on_nothing, .sa_flags = SA_RESTART};
	struct sigaction old;

	if (sigaction(sig, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
		sigaction(sig, &sa, NULL);
}

static int block_signals(struct session *s)
{
	static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
	struct sigaction old;
	sigset_t set;

	sigemptyset(&set);
	/* Signals that we were told to ignore (nohup; & in a script) must not count as the user's
	 * wish. */
	for (size_t i = 0; i < AIF_ARRAY_LEN(caught); i++)
		if (sigaction(caught[i], NULL, &old) < 0 || old.sa_handler != SIG_IGN)
			sigaddset(&set, caught[i]);
	/* Ignored, it would hide the command's end from us, and its status. */
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &s->old_chld);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &s->old_mask);
	outlive(SIGPIPE);
	outlive(SIGXFSZ); /* a limit on the size of files */
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals < 0 ? -errno : 0;
}

static void reap(struct session *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == s->child) {
			s->child_ended = s->stop = true;
			s->status = status;
		}
}

/* The terminal sends its signals to the whole process group: those the target has already got. What
 * was sent to the recorder alone is passed on. */
static void on_signal(struct session *s, const struct signalfd_siginfo *si)
{
	int sig = (int)si->ssi_signo;

	if (sig == SIGCHLD) {
		reap(s);
		return;
	}
	if (si->ssi_code != SI_KERNEL && s->child > 0 && !s->child_ended)
		kill(s->child, sig);
	if (sig == SIGUSR1 || sig == SIGUSR2)
		return;
	/* Detach: the target goes on alone. One that we did not start is not told anything else. */
	if (++s->interrupts >= 2 || s->child <= 0)
		s->stop = true;
}

static void show_progress(struct session *s, bool is_over)
{
	const struct aif_record_observer *o = s->observer;
	struct aif_record_progress p = {
		.elapsed_ns = aif_now_ns() - s->start_ns, .command = s->child, .is_over = is_over};
	struct aif_drain_progress now;

	if (!o || !o->progress || !s->drain || !s->writer)
		return;
	aif_drain_thread_progress(s->drain, &now);
	p.targets = now.targets;
	p.launches = now.launches;
	p.samples = now.samples;
	p.processes = aif_listener_processes(&s->listener);
	p.bytes = aif_writer_thread_size(s->writer);
	o->progress(o->arg, &p);
}

static void collect(struct session *s, bool wanted)
{
	s->is_delayed = false;
	s->has_collected |= wanted;
	aif_drain_thread_command(s->drain, wanted ? AIF_COMMAND_RUN : AIF_COMMAND_STOP);
	aif_attach_state(&s->attach, wanted ? AIF_STATE_RUN : AIF_STATE_HELD);
	aif_owners_state(&s->owners, wanted ? AIF_STATE_RUN : AIF_STATE_HELD);
}

/* Looks whether --delay is over, and the instant of --activate there. */
static bool is_time(struct session *s, uint64_t now)
{
	const struct aif_activation *a = &s->opts->activation;
	uint64_t real = aif_clock_ns(CLOCK_REALTIME);
	bool is_new, is;

	if (now - s->delay_from_ns < s->opts->delay_ns)
		return false;
	if (!aif_activation_is_set(a))
		return true;
	is = aif_activation_look(a, real, &s->due_ns, &is_new);
	if (is_new && s->observer && s->observer->waits)
		s->observer->waits(s->observer->arg, s->due_ns);
	if (is && !s->windows)
		aif_describe_activation(&s->store, s->opts->activate, s->due_ns, real);
	return is;
}

static void check_duration(struct session *s, uint64_t now)
{
	/* From when the first of those that were rung answers; who waits for a runtime to start waits in it. */
	if ((s->has_collected || !aif_record_is_delayed(s->opts)) && !s->counted_ns &&
	    (!s->opts->pids[0] || aif_drain_thread_targets(s->drain) || !s->attach.pages ||
	     now - s->start_ns >= ANSWER_NS))
		s->counted_ns = now;
	if (!s->opts->duration_ns || !s->counted_ns || now < s->counted_ns + s->opts->duration_ns)
		return;
	if (++s->windows < s->opts->repeat) {
		collect(s, false);
		s->counted_ns = 0;
		s->has_collected = false;
		s->is_delayed = true;
		s->delay_from_ns = now;
		s->due_ns = 0;
	} else if (!s->opts->kill) {
		s->stop = true;
	} else if (!s->kill_at_ns) {
		kill(s->child, SIGTERM);
		s->kill_at_ns = now + GRACE_NS;
	} else if (now >= s->kill_at_ns) {
		kill(s->child, SIGKILL);
	}
}

/* Obeys `aiflame ctl`. */
static void obey(struct session *s)
{
	enum aif_control control = s->listener.control;

	s->listener.control = 0;
	if (control == AIF_CONTROL_STOP)
		s->stop = true;
	else if (control == AIF_CONTROL_HOLD || control == AIF_CONTROL_RUN)
		collect(s, control == AIF_CONTROL_RUN);
}

static void on_unreached(void *arg, int pid, uid_t uid, const char *why)
{
	const struct aif_record_observer *o = ((struct session *)arg)->observer;

	if (o && o->joined)
		o->joined(o->arg, &(struct aif_record_joined){.pid = pid, .uid = uid, .why = why});
}

/* Reports processes of -a that nobody prepared, and asks for the directories in which others are on standby. */
static void report_joins(struct session *s, uint64_t now)
{
	const struct aif_record_observer *o = s->observer;
	char text[128];
	struct aif_join j;

	while (aif_joins_next(s->attach.joins, &j)) {
		if (o && o->joined && (j.times.stops || *j.text))
			o->joined(o->arg, &(struct aif_record_joined){.pid = j.pid,
								      .uid = j.uid,
								      .name = j.name,
								      .times = j.times,
								      .why = j.text});
		if (!*j.standby || !aif_owners_want(&s->owners, j.pid, j.uid, j.standby, now))
			continue;
		snprintf(text, sizeof(text),
			 "process %d: too many of its user's wait for a standby directory that is "
			 "not there",
			 j.pid);
		on_unreached(s, j.pid, j.uid, text);
	}
}

/* Processes that we did not start. */
static void look_after_attached(struct session *s, uint64_t now)
{
	const struct aif_record_observer *o = s->observer;
	struct aif_inject_times times;
	char text[32];
	int pid;

	aif_attach_look(&s->attach, now);
	aif_report_became(&s->attach, s->drain, &s->store, o);
	aif_owners_look(&s->owners, now, on_unreached, s);
	for (; s->object_dirs < s->owners.len; s->object_dirs++)
		aif_modfiles_add_dir(&s->files, s->owners.owner[s->object_dirs]->recording.fd);
	s->attach.old_agents += aif_owners_old_agents(&s->owners);
	for (unsigned i = 0; i < s->attach.old_agents; i++) {
		pthread_mutex_lock(&s->store.lock);
		aif_store_loss(&s->store, AIF_REASON_WIRE_VERSION, AIF_NONE, AIF_NONE, 1);
		pthread_mutex_unlock(&s->store.lock);
	}
	s->attach.old_agents = 0;
	while ((pid = aif_attach_late(&s->attach)) != 0) {
		snprintf(text, sizeof(text), "process %d", pid);
		pthread_mutex_lock(&s->store.lock);
		aif_store_loss(&s->store, AIF_REASON_NOT_COVERED_LATE, AIF_NONE,
			       aif_store_puts(&s->store, text), 1);
		pthread_mutex_unlock(&s->store.lock);
	}
	while (o && o->injected && (pid = aif_attach_injected(&s->attach, &times)) != 0)
		o->injected(o->arg, pid, &times);
	report_joins(s, now);
	while (o && o->awaits && (pid = aif_attach_awaited(&s->attach)) != 0)
		o->awaits(o->arg, pid);
	if (aif_attach_all_ended(&s->attach) && !aif_drain_thread_targets(s->drain))
		s->stop = true;
}

/* A program that root has started as another user, and that we never hear of. */
static void on_stranger(void *arg, pid_t pid, uid_t uid, bool again)
{
	const struct passwd *user;
	struct session *s = arg;
	char text[32];

	if (again) {
		aif_listener_update_process(&s->listener, pid);
		return;
	}
	if (!aif_listener_add_process(&s->listener, pid))
		return;
	user = getpwuid(uid);
	snprintf(text, sizeof(text), "user %u", (unsigned)uid);
	pthread_mutex_lock(&s->store.lock);
	aif_store_loss(&s->store, AIF_REASON_NOT_COVERED_USER, AIF_NONE,
		       aif_store_puts(&s->store, user ? user->pw_name : text), 1);
	pthread_mutex_unlock(&s->store.lock);
}

static void wait_until(uint64_t due, uint64_t *wait_ns)
{
	uint64_t now = aif_now_ns();

	*wait_ns = AIF_MIN(*wait_ns, due > now ? due - now : 0);
}

/* Returns the time until something is due, in ms. */
static int patience(const struct session *s)
{
	uint64_t ns = s->listener.syncs.len ? SYNC_NS : LOOK_NS;

	if (s->is_delayed && s->due_ns)
		ns = AIF_MIN(ns, aif_activation_left(s->due_ns, aif_clock_ns(CLOCK_REALTIME)));
	else if (s->is_delayed)
		wait_until(s->delay_from_ns + s->opts->delay_ns, &ns);
	if (s->counted_ns && s->opts->duration_ns && !s->kill_at_ns)
		wait_until(s->counted_ns + s->opts->duration_ns, &ns);
	return (int)((ns + 999999) / 1000000);
}

static int loop(struct session *s, struct aif_err *err)
{
	uint64_t next_progress = 0;

	while (!s->stop) {
		struct pollfd fds[] = {{.fd = s->signals, .events = POLLIN},
				       {.fd = s->listener.fd, .events = POLLIN}};
		struct signalfd_siginfo si;
		uint64_t now;

		if (poll(fds, 2, patience(s)) < 0 && errno != EINTR)
			return aif_err_set(err, -errno, "poll: %s", strerror(errno));
		while (read(s->signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
			on_signal(s, &si);
		aif_listener_accept(&s->listener);
		now = aif_now_ns();
		if (s->child > 0 && !s->child_ended)
			aif_job_look(&s->job, s->child, now);
		obey(s);
		look_after_attached(s, now);
		if (s->is_delayed && is_time(s, now))
			collect(s, true);
		if (geteuid() == 0 && s->child > 0)
			aif_foreign_uid_poll(&s->foreign_uid, now, on_stranger, s);
		aif_family_look(&s->family, now);
		check_duration(s, now);
		aif_syncs_look(&s->listener.syncs,
			       aif_attach_all_joined(&s->attach) &&
				       aif_owners_all_joined(&s->owners),
			       &(struct aif_sync_threads){.store = &s->store,
							  .drain = s->drain,
							  .naming = s->naming,
							  .writer = s->writer});
		if (now >= next_progress) {
			next_progress = now + PROGRESS_NS;
			show_progress(s, false);
		}
	}
	return 0;
}

static struct aif_ending ending_of(const struct session *s)
{
	int number = s->child_ended && WIFSIGNALED(s->status) ? WTERMSIG(s->status) : 0;

	return (struct aif_ending){
		.has_ended = s->child_ended,
		.status = s->status,
		.pid = s->child,
		.by_kill = s->kill_at_ns && (number == SIGTERM || number == SIGKILL),
		.oom_kills = s->oom_kills < 0 ? -1 : aif_ending_oom_kills() - s->oom_kills,
		.kernel_log = s->kernel_log};
}

/* True if the command ended as a program does whose driver has a defect; how: by which signal. */
static bool has_crashed(const struct session *s, char how[64])
{
	const struct aif_ending e = ending_of(s);
	int crash = aif_ending_crash(&e);

	if (crash && WIFSIGNALED(s->status))
		snprintf(how, 64, "by %s", aif_signal_name(crash));
	else if (crash)
		snprintf(how, 64, "with %d, as shells tell of %s", aif_ending_code(&e),
			 aif_signal_name(crash));
	return crash;
}

static void describe_end(struct session *s, const struct aif_drain_stats *st)
{
	bool has_launched = st->launches || st->execs || st->uncaptured;
	const struct aif_ending e = ending_of(s);
	char how[64], text[16];
	pid_t left = 0;

	/* A look costs 50 us a process: only where it may be the answer. */
	if (s->child_ended && !has_launched)
		left = aif_foreign_uid_count(s->listener.socket);
	aif_ending_describe(&e, &s->store, st);
	pthread_mutex_lock(&s->store.lock);
	if (s->set_metrics && !has_launched && has_crashed(s, how))
		aif_store_loss(&s->store, AIF_REASON_ZE_METRICS_SIGNAL, AIF_NONE,
			       aif_store_puts(&s->store, how), 1);
	snprintf(text, sizeof(text), "%d", (int)left);
	if (left)
		aif_store_meta(&s->store, "left_running", text);
	pthread_mutex_unlock(&s->store.lock);
	aif_describe_costs(&s->store, s->opts, st);
	aif_describe_stolen(&s->store, &s->cpus);
}

static void note_coverage(struct session *s)
{
	char file[4096];
	int reason = s->opts->argv ? aif_coverage_check(s->opts->argv[0], file, sizeof(file)) : 0;

	if (!reason)
		return;
	pthread_mutex_lock(&s->store.lock);
	aif_store_loss(&s->store, (enum aif_reason)reason, AIF_NONE,
		       aif_store_puts(&s->store, file), 1);
	pthread_mutex_unlock(&s->store.lock);
}

/* Each file behind a module stays open until it is named: a big program has hundreds. */
static unsigned long raise_nofile(void)
{
	struct rlimit lim;
	unsigned long was = 1024;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0) {
		was = (unsigned long)lim.rlim_cur;
		lim.rlim_cur = AIF_MIN(lim.rlim_max, 65536);
		setrlimit(RLIMIT_NOFILE, &lim);
	}
	return was;
}

static int start(struct session *s, struct aif_err *err)
{
	struct aif_spawn_env env = {.agent = s->opts->agent};
	unsigned long nofile = raise_nofile();
	int r;

	r = aif_watchers_new(&s->watchers);
	if (r < 0)
		return aif_err_set(err, r, "out of memory");
	if (s->opts->watcher)
		(void)aif_watchers_add(s->watchers, s->opts->watcher, true);
	r = s->opts->output
		    ? aif_outname(s->opts->output, s->result->path, sizeof(s->result->path), err)
		    : 0;
	if (r < 0)
		return r;
	if (access(s->opts->agent, R_OK) < 0)
		return aif_err_set(err, -errno,
				   "%s: %s; install aiflame completely, or set AIFLAME_AGENT to "
				   "libaiflame-agent.so",
				   s->opts->agent, strerror(errno));
	r = block_signals(s);
	if (r < 0)
		return aif_err_set(err, r, "signalfd: %s", strerror(-r));
	r = aif_attach_open(&s->attach, s->opts, err);
	if (!r)
		r = aif_listener_open(&s->listener, &s->store, s->opts, &s->attach, err);
	if (r < 0)
		return r;
	s->files.objects = open(s->listener.dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	aif_describe_recording(&s->store, s->opts);
	s->cpus = aif_describe_cpus();
	note_coverage(s);
	/* The file first: an unwritable name must be said before the command runs. */
	r = aif_writer_thread_new(&s->store, s->opts, s->result->path, s->watchers, &s->writer,
				  err);
	if (r < 0)
		return r;
	/* Before the command: sources must not miss its children. */
	r = aif_drain_thread_new(&s->store, &s->files, s->opts, &s->drain, err);
	if (r < 0)
		return r;
	r = aif_naming_new(&s->store, &s->files, s->opts, &s->naming);
	if (r < 0)
		return aif_thread_error(err, r);
	s->listener.drain = s->drain;
	s->listener.watchers = s->watchers;
	aif_owners_init(&s->owners, &s->attach, s->listener.fd, s->listener.token, s->opts,
			s->result->path);
	s->listener.owners = &s->owners;
	aif_family_init(&s->family, &s->listener);
	s->is_delayed = aif_record_is_delayed(s->opts);
	if (s->is_delayed)
		aif_drain_thread_command(s->drain, AIF_COMMAND_STOP);
	r = s->listener.in_standby
		    ? aif_attach_announce(&s->attach, &s->listener.in_dir, s->listener.token,
					  s->opts, s->result->path)
		    : 0;
	if (r < 0 && !s->opts->argv)
		return aif_err_set(err, r, "%s: %s", s->attach.shown, strerror(-r));
	/* Seen, even if none of them ever starts a runtime. */
	for (unsigned i = 0; i < s->attach.requests; i++)
		if (!s->attach.request[i].no_agent)
			(void)aif_listener_add_process(&s->listener, s->attach.request[i].pid);
	if (!s->opts->argv)
		return 0;
	s->kernel_log = aif_kernel_log_open();
	s->oom_kills = aif_ending_oom_kills();
	env.socket = s->listener.socket;
	env.token = s->listener.token;
	env.children = s->opts->children;
	env.cpu = s->opts->cpu;
	env.nvtx = s->opts->nvtx;
	env.runtime = s->opts->runtime;
	env.metrics = (s->opts->device_rate || s->opts->counters) && s->opts->can_have_metrics;
	s->set_metrics = env.metrics && !getenv("ZET_ENABLE_METRICS");
	env.ignore_sigchld = s->old_chld.sa_handler == SIG_IGN;
	r = aif_spawn(s->opts->argv, &env, &s->old_mask, nofile, &s->child, &s->result->exit_code,
		      err);
	if (r < 0)
		return r;
	aif_listener_add_command(&s->listener, s->child, s->opts->argv);
	s->foreign_uid =
		(struct aif_foreign_uid){.socket = s->listener.socket, .command = s->child};
	return 0;
}

/* Ends the threads in the order in which data flows. */
static int finish(struct session *s, struct aif_err *err)
{
	struct aif_drain_stats st = {0};
	struct signalfd_siginfo si;
	struct aif_finish_signals listener;
	uint64_t end_ns;
	int r = 0;

	aif_finish_signals_begin(&listener, s->signals, (unsigned)s->interrupts, s->listener.dir);
	show_progress(s, true);
	if (s->drain)
		aif_drain_thread_finish(s->drain, &st);
	/* Naming may take seconds more, in which nothing is collected. */
	end_ns = st.end_ns ? st.end_ns : aif_now_ns();
	s->is_held = !aif_naming_finish(s->naming, &listener.is_impatient);
	if (!s->is_held && !s->opts->no_source) {
		/* BPF samples processes of all users, whose line tables would choose what root reads. */
		struct aif_source_reader nobody = {0};

		aif_source_texts_add(&s->store, s->opts->ebpf ? &nobody : &s->listener.reader,
				     &listener.is_impatient);
	}
	/* A last look notes the processes that have ended since the one before. */
	s->family.next_ns = 0;
	if (s->family.listener)
		aif_family_look(&s->family, end_ns);
	describe_end(s, &st);
	s->result->goes_on = s->child > 0 && !s->child_ended ? s->child : 0;
	pthread_mutex_lock(&s->store.lock);
	/* The last one of that number: a program that calls exec is another process in the profile. */
	for (size_t i = s->child_ended ? s->store.p.processes_len : 0; i-- > 0;) {
		struct aif_process *p = &s->store.p.processes[i];

		if (p->pid != (uint32_t)s->child)
			continue;
		p->end_ns = p->end_ns ? p->end_ns : end_ns;
		p->exit_status = s->status;
		break;
	}
	pthread_mutex_unlock(&s->store.lock);
	if (s->writer) {
		r = aif_writer_thread_finish(s->writer, end_ns, err);
		s->result->have_profile = !r && *s->result->path;
	}
	aif_syncs_finish(&s->listener.syncs, r);
	aif_watchers_free(s->watchers);
	s->watchers = s->listener.watchers = NULL;
	aif_finish_signals_end(&listener);
	if (s->kernel_log >= 0)
		close(s->kernel_log);
	aif_foreign_uid_finish(&s->foreign_uid);
	aif_family_finish(&s->family);
	aif_listener_close(&s->listener);
	aif_joins_settle(s->attach.joins);
	report_joins(s, aif_now_ns());
	aif_owners_close(&s->owners);
	aif_attach_close(&s->attach);
	if (s->signals >= 0) {
		/* Signals that came meanwhile asked for the end, which is done now: once unblocked they would end us
		 * instead. */
		while (read(s->signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
			;
		close(s->signals);
		sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
	}
	if (!s->is_held) {
		aif_modfiles_finish(&s->files);
		aif_store_finish(&s->store);
	}
	return r;
}

static int run(struct session *s, struct aif_err *err)
{
	const struct aif_record_opts *opts = s->opts;
	struct aif_record_result *ret = s->result;
	struct aif_err finish_err = {0};
	struct aif_ending e;
	int r, r2;

	s->start_ns = s->delay_from_ns = aif_now_ns();
	s->counted_ns = opts->pids[0] || aif_record_is_delayed(opts) ? 0 : s->start_ns;
	r = aif_store_init(&s->store, s->start_ns);
	if (!r)
		r = aif_modfiles_init(&s->files);
	if (r < 0)
		return aif_err_set(err, r, "out of memory");
	r = start(s, err);
	if (!r) {
		r = loop(s, err);
		e = ending_of(s);
		ret->exit_code = r < 0 ? 125 : aif_ending_code(&e);
	}
	if (r < 0 && s->child <= 0 && s->writer) {
		/* The command never ran: no profile is better than an empty one. */
		finish(s, NULL);
		if (*ret->path)
			unlink(ret->path);
		ret->path[0] = '\0';
		ret->have_profile = false;
		return r;
	}
	r2 = finish(s, &finish_err);
	if (!r && r2 < 0) {
		r = r2;
		if (err)
			*err = finish_err;
	}
	return r;
}

int aif_record_run(const struct aif_record_opts *opts, const struct aif_record_observer *observer,
		   struct aif_record_result *ret, struct aif_err *err)
{
	struct session *s = malloc(sizeof(*s));
	int r;

	*ret = (struct aif_record_result){.exit_code = 125};
	if (!s)
		return aif_err_set(err, -ENOMEM, "out of memory");
	*s = (struct session){.chosen = *opts,
			      .opts = &s->chosen,
			      .observer = observer,
			      .result = ret,
			      .signals = -1,
			      .kernel_log = -1,
			      .oom_kills = -1,
			      .listener = {.fd = -1, .sock = -1},
			      .attach = {.dir = -1, .about = -1}};
	aif_cpu_clock_choose(&s->chosen);
	r = run(s, err);
	if (!s->is_held)
		free(s);
	return r;
}
