/* SPDX-License-Identifier: Apache-2.0 */
#include "record/cycles/cycles.h"

#include "analysis/loop/cycle_steps.h"
#include "base/clock.h"
#include "base/human.h"
#include "profile/live.h"
#include "text/values.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Rows of a cycle that is waited for: half an hour of a busy training step. */
#define KEPT_BYTES (UINT64_C(256) << 20)
/* Commits, of which there is one a second, for which a cycle waits until all its functions have names. */
#define NAMES_COMMITS 10
/* Looking takes at most this part of the time. */
#define LOOK_PART 5

struct aif_cycles {
	struct aif_cycles_opts o;
	struct aif_cycle_steps steps;
	struct aif_slow_steps slow; /* in place of .steps where .o.slow is given */
	struct aif_live_reader *reader;
	pthread_t thread;
	int stream;
	atomic_bool is_over; /* the recorder has written all to .stream */
	bool has_failed, has_ended_it;
	char name[4096 + 32];
	uint64_t look_at;
	/* The cycle that was found: commits since, and how many names there were at the last one. */
	unsigned waited;
	size_t names;
	/* Cycles that the command was run for, of those that were written, and the one that runs now. */
	uint64_t commands, written;
	int running; /* a pipe that gets its status; -1: none runs */
	struct aif_cycle first, last;
	uint8_t buffer[1 << 18]; /* what was read of .stream */
};

int aif_cycles_parse(const char *text, struct aif_schedule *ret)
{
	uint32_t *const to[] = {&ret->wait, &ret->warmup, &ret->active, &ret->repeat, &ret->skip};
	size_t n = 0;

	*ret = (struct aif_schedule){.is_for_unmarked = 1};
	for (const char *at = text; at; n++) {
		const char *colon = strchr(at, ':');
		size_t len = colon ? (size_t)(colon - at) : strlen(at);
		char number[16];

		if (n == AIF_ARRAY_LEN(to) || len >= sizeof(number))
			return -EINVAL;
		memcpy(number, at, len);
		number[len] = '\0';
		if (aif_parse_count(number, to[n]) < 0)
			return -EINVAL;
		at = colon ? colon + 1 : NULL;
	}
	return n < 3 || !ret->active ? -EINVAL : 0;
}

int aif_cycles_parse_slow(const char *text, struct aif_slow_limit *ret)
{
	size_t len = strlen(text);
	struct aif_slow_limit slow = {.by = AIF_SLOW_P99};
	char *end;

	if (len && text[len - 1] == 'x') {
		slow.by = AIF_SLOW_FACTOR;
		slow.factor = strtod(text, &end);
		if (text[0] < '0' || text[0] > '9' || end != text + len - 1 ||
		    !(slow.factor > 1 && slow.factor < 1e6))
			return -EINVAL;
	} else if (strcmp(text, "p99") != 0) {
		slow.by = AIF_SLOW_TIME;
		if (aif_parse_time(text, &slow.ns) < 0 || !slow.ns)
			return -EINVAL;
	}
	*ret = slow;
	return 0;
}

static const char *option_of(const struct aif_cycles *c)
{
	return c->o.slow.by ? "--snapshot-slow" : "--schedule";
}

/* run.data becomes run.1.data, or run.slow1.data; another name gets .1 behind it. */
static const char *name_of(struct aif_cycles *c, uint64_t cycle)
{
	size_t len = strlen(c->o.profile);
	size_t stem = len > 5 && !strcmp(c->o.profile + len - 5, ".data") ? len - 5 : len;

	snprintf(c->name, sizeof(c->name), "%.*s.%s%" PRIu64 "%s", (int)stem, c->o.profile,
		 c->o.slow.by ? "slow" : "", cycle, c->o.profile + stem);
	return c->name;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Starts the command for a cycle. The shell writes the command's status to a pipe, since the recorder, which waits for any
 * child of this process, would take it from waitpid(). */
static int command_start(struct aif_cycles *c, uint64_t cycle)
{
	static const char script[] = "(exec 3>&-; exec /bin/sh -c \"$1\" sh \"$2\"); echo $? >&3";
	extern char **environ;
	char *argv[] = {(char *)"sh", (char *)"-c",         (char *)script,
			(char *)"sh", (char *)c->o.command, (char *)name_of(c, cycle),
			NULL};
	posix_spawn_file_actions_t actions;
	char number[48], *path = NULL, **env;
	posix_spawnattr_t attr;
	size_t n = 0, kept = 0;
	sigset_t none, all;
	int ends[2], r;
	pid_t pid;

	while (environ[n])
		n++;
	env = calloc(n + 3, sizeof(*env));
	if (asprintf(&path, "AIFLAME_PROFILE=%s", c->name) < 0)
		path = NULL;
	if (!env || !path || pipe2(ends, O_CLOEXEC) < 0) {
		r = env && path ? -errno : -ENOMEM;
		free(env);
		free(path);
		return r;
	}
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "AIFLAME_PROFILE=", 16) != 0 &&
		    strncmp(environ[i], "AIFLAME_CYCLE=", 14) != 0)
			env[kept++] = environ[i];
	snprintf(number, sizeof(number), "AIFLAME_CYCLE=%" PRIu64, cycle);
	env[kept++] = path;
	env[kept++] = number;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 3);
	/* Standard output is the recorded command's. */
	posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	r = -posix_spawn(&pid, "/bin/sh", &actions, &attr, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	close(ends[1]);
	free(path);
	free(env);
	if (r < 0)
		close(ends[0]);
	else
		c->running = ends[0];
	return r;
}

static void commands_next(struct aif_cycles *c)
{
	while (c->o.command && c->running < 0 && c->commands < c->written) {
		int r = command_start(c, ++c->commands);

		if (r < 0)
			c->o.say("--on-cycle: cycle %" PRIu64 ": cannot run the command: %s",
				 c->commands, strerror(-r));
	}
}

static void command_ended(struct aif_cycles *c)
{
	char text[16] = "";
	ssize_t n;

	do
		n = read(c->running, text, sizeof(text) - 1);
	while (n < 0 && errno == EINTR);
	close(c->running);
	c->running = -1;
	if (n <= 0)
		c->o.say("--on-cycle: cycle %" PRIu64 ": the command was killed", c->commands);
	else if (strcmp(text, "0\n") != 0)
		c->o.say("--on-cycle: cycle %" PRIu64 ": the command ended with status %.*s",
			 c->commands, (int)strcspn(text, "\n"), text);
	commands_next(c);
}

/* ---- cycles ---------------------------------------------------------------------------------- */

/* Says which step was slow, what is usual, and where to look. */
static void say_slow(struct aif_cycles *c)
{
	const struct aif_profile *p = aif_live_profile(c->reader);
	const struct aif_slow_step *x = &c->slow.found;
	struct aif_buf b = {0};

	if (c->o.quiet)
		return;
	aif_buf_printf(&b, "%s of process %" PRIu32 " took ", aif_profile_str(p, x->name),
		       x->process < p->processes_len ? p->processes[x->process].pid : 0);
	aif_human_ns(&b, x->to_ns - x->from_ns);
	if (x->before) {
		aif_buf_puts(&b, ", ");
		aif_human_counted(&b, x->before, "step");
		aif_buf_puts(&b, " before it ");
		aif_human_ns(&b, x->usual_ns);
		aif_buf_puts(&b, " (median), 99 of 100 at most ");
		aif_human_ns(&b, x->p99_ns);
	}
	aif_buf_puts(&b, "; next: aiflame why ");
	aif_buf_shell_path(&b, c->name);
	c->o.say("%s", aif_buf_str(&b));
	aif_buf_finish(&b);
}

static void save(struct aif_cycles *c, const struct aif_cycle *cycle)
{
	struct aif_err err = {0};

	if (aif_live_save(c->reader, name_of(c, cycle->cycle), cycle, &err) < 0) {
		c->o.say("%s: %s %" PRIu64 ": %s; no other is written", option_of(c),
			 c->o.slow.by ? "profile" : "cycle", cycle->cycle, err.text);
		c->has_failed = true;
		return;
	}
	if (c->o.slow.by)
		say_slow(c);
	if (!c->written++)
		c->first = *cycle;
	c->last = *cycle;
	if (c->o.slow.by)
		aif_slow_steps_next(&c->slow);
	else
		aif_cycle_steps_next(&c->steps, cycle);
	c->waited = 0;
	commands_next(c);
}

/* True once the executions and names of a cycle have come, or are waited for no more. */
static bool is_settled(struct aif_cycles *c, const struct aif_profile *p, bool all_ended)
{
	bool named = p->frame_names_len == c->names;

	c->names = p->frame_names_len;
	return c->waited++ >= NAMES_COMMITS || (c->waited > 1 && named && all_ended);
}

/* Finds a slow step among the steps that are new; as aif_cycle_steps_find(). */
static int find_slow(struct aif_cycles *c, const struct aif_profile *p, struct aif_cycle *ret)
{
	const struct aif_slow_step *x = &c->slow.found;
	uint64_t now = p->end_ns - p->start_ns, at;
	int r;

	c->slow.p = p;
	r = aif_live_new_ops(c->reader, aif_slow_steps_take, &c->slow);
	at = c->slow.has_found ? x->from_ns : now;
	c->steps.keep_from = at > c->o.keep_ns ? at - c->o.keep_ns : 0;
	if (r || !c->slow.has_found)
		return r;
	*ret = (struct aif_cycle){.first = x->number,
				  .last = x->number,
				  .from_ns = x->from_ns,
				  .to_ns = x->to_ns,
				  .is_slow = true,
				  .usual_ns = x->usual_ns};
	return 1;
}

static int find(struct aif_cycles *c, const struct aif_profile *p, bool is_over,
		struct aif_cycle *ret)
{
	return c->o.slow.by ? find_slow(c, p, ret)
			    : aif_cycle_steps_find(&c->steps, p, is_over, ret);
}

static void look(struct aif_cycles *c, bool is_over)
{
	const struct aif_profile *p = aif_live_profile(c->reader);
	uint64_t began = aif_now_ns();
	struct aif_cycle cycle;
	int r = 0;

	if (!p || c->has_failed || (!is_over && began < c->look_at))
		return;
	while (!c->has_failed && (r = find(c, p, is_over, &cycle)) > 0 &&
	       (is_over || is_settled(c, p, r == 1))) {
		cycle.cycle = c->written + 1;
		save(c, &cycle);
	}
	if (r < 0) {
		c->o.say("%s: %s", option_of(c), strerror(-r));
		c->has_failed = true;
	}
	aif_live_drop(c->reader, p->start_ns + c->steps.keep_from);
	c->look_at = began + (aif_now_ns() - began) * LOOK_PART;
	if (c->o.ends && c->o.schedule.repeat && c->steps.cycles >= c->o.schedule.repeat &&
	    !is_over && !c->has_ended_it) {
		c->has_ended_it = true;
		kill(getpid(), SIGTERM); /* as a user would end it */
	}
}

/* Takes what the recorder has sent. False: that was all. */
static bool take(struct aif_cycles *c)
{
	ssize_t n = read(c->stream, c->buffer, sizeof(c->buffer));
	struct aif_err err = {0};
	unsigned commits;

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (!n || c->has_failed)
		return n != 0;
	if (aif_live_feed(c->reader, c->buffer, (size_t)n, &commits, &err) < 0) {
		c->o.say("%s: %s", option_of(c), err.text);
		c->has_failed = true;
	} else if (commits) {
		look(c, false);
	}
	return true;
}

static void *cycles_main(void *arg)
{
	struct aif_cycles *c = arg;
	bool more = true;

	while (more || c->running >= 0) {
		struct pollfd fds[] = {{.fd = more ? c->stream : -1, .events = POLLIN},
				       {.fd = c->running, .events = POLLIN}};
		bool was_over = c->is_over;

		if (poll(fds, AIF_ARRAY_LEN(fds), 250) < 0)
			continue;
		if (fds[1].revents)
			command_ended(c);
		if (!more || (!fds[0].revents && !was_over))
			continue;
		more = fds[0].revents && take(c);
		if (!more)
			look(c, true);
	}
	return NULL;
}

int aif_cycles_start(const struct aif_cycles_opts *o, struct aif_cycles **ret, int *ret_watcher,
		     struct aif_err *err)
{
	struct aif_cycles *c = calloc(1, sizeof(*c));
	int ends[2] = {-1, -1}, r = c ? 0 : -ENOMEM;
	sigset_t all, old;

	if (!r) {
		c->o = *o;
		c->running = -1;
		r = aif_live_reader_new(UINT64_MAX, KEPT_BYTES, &c->reader);
	}
	if (!r && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		r = -errno;
	if (!r) {
		c->steps.schedule = &c->o.schedule;
		c->slow.limit = o->slow;
		c->slow.is_asked = o->is_step;
		c->slow.arg = o->arg;
		c->stream = ends[0];
		/* Signals are for the recorder. */
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, &old);
		r = -pthread_create(&c->thread, NULL, cycles_main, c);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	if (r < 0) {
		if (ends[0] >= 0)
			close(ends[0]);
		if (ends[1] >= 0)
			close(ends[1]);
		if (c)
			aif_live_reader_free(c->reader);
		free(c);
		return aif_err_set(err, r, "record: %s: %s",
				   o->slow.by ? "--snapshot-slow" : "--schedule", strerror(-r));
	}
	*ret = c;
	*ret_watcher = ends[1];
	return 0;
}

/* Says how many steps were slow, and of how many there is no profile. */
static void say_slow_sum(struct aif_cycles *c)
{
	const struct aif_slow_steps *s = &c->slow;
	struct aif_buf b = {0};

	if (!s->steps) {
		c->o.say("--snapshot-slow: no step %s: see docs/standby.md",
			 c->o.is_step ? "has a name that --slow-range matches"
				      : "is marked; name a range with --slow-range");
		return;
	}
	aif_human_count(&b, s->slow);
	aif_buf_puts(&b, " of ");
	aif_human_counted(&b, s->steps, "step");
	aif_buf_puts(&b, s->slow == 1 ? " was slow" : " were slow");
	if (s->snapshots) {
		aif_buf_puts(&b, "; ");
		aif_human_counted(&b, s->snapshots, "profile");
		aif_buf_printf(&b, ": %s", name_of(c, 1));
		if (s->snapshots > 1)
			aif_buf_printf(&b, " to %s", name_of(c, s->snapshots));
	}
	if (s->left_out) {
		aif_buf_puts(&b, "; ");
		aif_human_count(&b, s->left_out);
		aif_buf_puts(&b, s->left_out == 1 ? " has none" : " have none");
		aif_buf_printf(&b, ", less than %d s behind another or beyond the first %d",
			       (int)(AIF_SLOW_APART_NS / AIF_NS_PER_S), AIF_SLOW_SNAPSHOTS);
	}
	if (s->others) {
		aif_buf_puts(&b, "; not judged: ");
		aif_human_counted(&b, s->others, "step");
		aif_buf_printf(&b, " of more than %d kinds", AIF_SLOW_KINDS);
	}
	c->o.say("%s", aif_buf_str(&b));
	aif_buf_finish(&b);
}

static void say(struct aif_cycles *c)
{
	uint64_t missed = aif_live_last(c->reader)->missed + aif_live_dropped(c->reader);
	char *first = c->written ? strdup(name_of(c, 1)) : NULL;

	if (c->o.slow.by)
		say_slow_sum(c);
	else if (c->written == 1)
		c->o.say("cycle 1, steps %" PRIu64 " to %" PRIu64 ": %s", c->first.first,
			 c->first.last, c->name);
	else if (c->written)
		c->o.say("%" PRIu64 " cycles, from steps %" PRIu64 " to %" PRIu64
			 " (%s) to steps %" PRIu64 " to %" PRIu64 " (%s)",
			 c->written, c->first.first, c->first.last, first ? first : "",
			 c->last.first, c->last.last, name_of(c, c->written));
	else if (!c->has_failed)
		c->o.say("no cycle: step %" PRIu64 " was not reached%s",
			 aif_schedule_first(&c->o.schedule, 0),
			 c->steps.has_marks   ? ""
			 : c->steps.is_sparse ? "; the program marks none, and those found in the "
						"launches are not whole: record with --all-launches"
					      : "; no step is marked, and no loop was found in the "
						"launches: see docs/program.md");
	if (missed)
		c->o.say("%" PRIu64 " pieces of the recording came too fast for the %s "
			 "files; %s has them",
			 missed, c->o.slow.by ? "snapshots'" : "cycles'", c->o.profile);
	free(first);
}

void aif_cycles_finish(struct aif_cycles *c)
{
	c->is_over = true;
	pthread_join(c->thread, NULL);
	if (!c->o.quiet)
		say(c);
	close(c->stream);
	aif_live_reader_free(c->reader);
	aif_slow_steps_finish(&c->slow);
	free(c);
}
