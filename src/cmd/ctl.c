/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/name_sanitize.h"
#include "base/process_read.h"
#include "cmd/command.h"
#include "cmd/stop.h"
#include "profile/file.h"
#include "record/attach/attach_dir.h"
#include "record/attach/recordings.h"
#include "record/sync.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* Time for the recorder's answer. It takes milliseconds; where 40 processes want two CPUs, some
 * take more than 2 s. */
#define ANSWER_MS 10000
/* A recorder that was told to stop drains, names and writes; its end is waited for this long. */
#define STOP_NS (120 * AIF_NS_PER_S)
/* A recorder commits each second; a disk that others keep busy may take many. */
#define SYNC_S 60
/* The same with names for what is new, and a copy of the file. */
#define SNAPSHOT_S 180
#define COPY_BYTES ((size_t)1 << 20)

struct values {
	const char *output;
};
static const struct aif_opt opts[] = {
	{'o', "output", "FILE", AIF_OPT_STRING, offsetof(struct values, output), 0,
	 "snapshot: the profile to write (NAME-DATE-TIME.data here); an existing profile becomes "
	 "FILE.old"},
	{0},
};
static const struct values defaults = {0};

static bool is_running(int dir, const char *recording)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/about", recording);
	return faccessat(dir, path, F_OK, 0) == 0;
}

static int say_not_synced(const struct aif_standby_recording *about, int r, struct aif_err *err)
{
	const char *name = about->call.name;

	if (r == -EAGAIN)
		return aif_err_set(
			err, -ETIMEDOUT,
			"ctl: %s (process %" PRIu32
			") has not committed within %d s what its processes had written; "
			"one of them is stopped, or the disk is slow: look at both, then "
			"ask again",
			name, about->pid, SYNC_S);
	if (r == -EIO)
		return aif_err_set(err, r,
				   "ctl: %s (process %" PRIu32
				   ") cannot write its profile; see what it says when it ends: "
				   "aiflame ctl stop",
				   name, about->pid);
	if (r == -EPROTO)
		return aif_err_set(err, r,
				   "ctl: %s (process %" PRIu32
				   ") was killed meanwhile, or is of another version of aiflame; "
				   "see aiflame ctl status",
				   name, about->pid);
	if (r == -EUSERS)
		return aif_err_set(err, r,
				   "ctl: %s (process %" PRIu32
				   ") has %d such requests already; ask again when they are over",
				   name, about->pid, AIF_SYNCS);
	return aif_err_set(
		err, r, "ctl: %s (process %" PRIu32 ") does not answer: %s; see aiflame ctl status",
		name, about->pid, strerror(-r));
}

static int say_no_snapshot(const struct aif_standby_recording *about, int r, struct aif_err *err)
{
	const char *name = about->call.name;

	if (r == -EAGAIN)
		return aif_err_set(err, -ETIMEDOUT,
				   "ctl: %s (process %" PRIu32
				   ") has not copied its profile within %d s; one of its processes "
				   "is stopped, or the disk is slow: look at both, then ask again",
				   name, about->pid, SNAPSHOT_S);
	if (r == -ECANCELED)
		return aif_err_set(err, r,
				   "ctl: %s (process %" PRIu32
				   ") has ended meanwhile; its own profile has all",
				   name, about->pid);
	if (r == -EIO)
		return aif_err_set(
			err, r,
			"ctl: %s (process %" PRIu32
			") cannot copy its profile: it writes none (aiflame top), or no copy "
			"can be made beside the file, as on a full disk; free space and ask "
			"again",
			name, about->pid);
	return say_not_synced(about, r, err);
}

/* ---- snapshot -------------------------------------------------------------------------------- */

/*
 * The recorder answers with a copy of its file that has no name; it is given one here, with the rights of who asked.
 */

/* Names a snapshot of the recording `name` by the time of day: "aiflame.data" -> "aiflame-20250131-140502.data", in the
 * working directory. */
static void snapshot_name(const char *name, char *ret, size_t size)
{
	const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
	size_t len = strlen(base);
	time_t now = time(NULL);
	struct tm tm;
	char at[32] = "";

	if (len > 5 && !strcmp(base + len - 5, ".data"))
		len -= 5;
	if (localtime_r(&now, &tm))
		strftime(at, sizeof(at), "-%Y%m%d-%H%M%S", &tm);
	if (!len || *base == '.' || *base == '-')
		snprintf(ret, size, "aiflame%s.data", at);
	else
		snprintf(ret, size, "%.*s%s.data", (int)AIF_MIN(len, (size_t)150), base, at);
}

static int copy_all(int from, int to, const volatile sig_atomic_t *stopped)
{
	uint8_t *bytes = malloc(COPY_BYTES);
	off_t at = 0;
	ssize_t n = bytes ? 1 : -1;

	while (n > 0 && !*stopped) {
		n = pread(from, bytes, COPY_BYTES, at);
		for (ssize_t done = 0, w; done < n; done += w) {
			w = write(to, bytes + done, (size_t)(n - done));
			if (w < 0 && errno != EINTR) {
				n = -1;
				break;
			}
			w = AIF_MAX(w, 0);
		}
		at += n;
	}
	n = n < 0 ? -errno : *stopped ? -EINTR : 0;
	free(bytes);
	return (int)n;
}

static int cannot_write(const char *path, int code, struct aif_err *err)
{
	return aif_err_set(err, code, "ctl: cannot write %s: %s", path,
			   code == -EINTR    ? "stopped"
			   : code == -ENOSPC ? "the disk is full"
					     : strerror(-code));
}

static int save_part(int fd, const char *part, const char *path,
		     const volatile sig_atomic_t *stopped, struct aif_err *err)
{
	int to = open(part, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	int r = to < 0 ? -errno : copy_all(fd, to, stopped);

	if (to < 0)
		return cannot_write(path, r, err);
	if (close(to) < 0 && !r)
		r = -errno;
	if (r)
		r = cannot_write(path, r, err);
	if (!r)
		r = aif_profile_move_away(path, err);
	if (!r && rename(part, path) < 0)
		r = cannot_write(path, -errno, err);
	if (r)
		unlink(part);
	return r;
}

/* Writes what `fd` has to `path`, whole or not at all; a profile that is there becomes path.old. 0 or -errno with *err. */
static int snapshot_save(int fd, const char *path, struct aif_err *err)
{
	const volatile sig_atomic_t *stopped;
	char part[4096];
	int r;

	if ((size_t)snprintf(part, sizeof(part), "%s.part%d", path, (int)getpid()) >= sizeof(part))
		return cannot_write(path, -ENAMETOOLONG, err);
	stopped = aif_stop_begin();
	aif_scratch_put(aif_stop_scratch(), part);
	r = save_part(fd, part, path, stopped, err);
	aif_scratch_take(aif_stop_scratch(), part);
	aif_stop_end();
	return r;
}

/* Asks for a copy of a recording's file, and writes it. */
static int take_snapshot(const char *path, const struct aif_recording_search *s, const char *output,
			 struct aif_err *err)
{
	const struct aif_standby_recording *about = &s->at.about;
	struct aif_hello hello = {.magic = AIF_WIRE_MAGIC,
				  .version = AIF_WIRE_VERSION,
				  .kind = AIF_HELLO_CONTROL,
				  .control = AIF_CONTROL_SNAPSHOT};
	char socket[256], name[256];
	int r, fd = -1;

	if (!output) {
		snapshot_name(about->call.name, name, sizeof(name));
		output = name;
	}
	/* Checks the place before the recorder copies its file. */
	r = aif_profile_check_place(output, err);
	if (r < 0)
		return r;
	memcpy(hello.token, about->call.token, sizeof(hello.token));
	snprintf(socket, sizeof(socket), "%s/%s", path, about->call.socket);
	r = aif_hello_send(socket, &hello, SNAPSHOT_S * 1000, &fd);
	if (r < 0)
		return say_no_snapshot(about, r, err);
	r = snapshot_save(fd, output, err);
	close(fd);
	if (!r)
		printf("%s\n", output);
	return r;
}

/* ---- orders to a recorder --------------------------------------------------------------------- */

static int tell(int dir, const char *path, const struct aif_recording_search *s,
		enum aif_control control, struct aif_err *err)
{
	const struct aif_standby_recording *about = &s->at.about;
	struct aif_hello hello = {.magic = AIF_WIRE_MAGIC,
				  .version = AIF_WIRE_VERSION,
				  .kind = AIF_HELLO_CONTROL,
				  .control = control};
	uint64_t until = aif_now_ns() + STOP_NS;
	char socket[256];
	int r;

	memcpy(hello.token, about->call.token, sizeof(hello.token));
	snprintf(socket, sizeof(socket), "%s/%s", path, about->call.socket);
	r = aif_hello_send(socket, &hello, control == AIF_CONTROL_SYNC ? SYNC_S * 1000 : ANSWER_MS,
			   NULL);
	if (r < 0 && control == AIF_CONTROL_SYNC)
		return say_not_synced(about, r, err);
	if (r < 0)
		return aif_err_set(err, r,
				   "ctl: %s (process %" PRIu32 ") does not answer: %s; end it with "
				   "kill -INT %" PRIu32,
				   about->call.name, about->pid, strerror(-r), about->pid);
	if (control != AIF_CONTROL_STOP)
		return 0;
	while (is_running(dir, s->at.name)) {
		if (aif_now_ns() > until)
			return aif_err_set(err, -ETIMEDOUT,
					   "ctl: %s (process %" PRIu32
					   ") was asked to end, and is still writing",
					   about->call.name, about->pid);
		nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
	}
	return 0;
}

/* ---- status ---------------------------------------------------------------------------------- */

static bool print_recording(void *arg, const struct aif_standby_found *f)
{
	struct aif_standby_recording about = f->about, *a = &about;
	static const char *const wants[] = {"", "named processes", "all on standby"};
	uint64_t now = aif_clock_ns(CLOCK_REALTIME);

	if (f->has_ended)
		return true;
	aif_name_sanitize_in_place(a->call.name);
	aif_name_sanitize_in_place(a->command);
	if (!(*(unsigned *)arg)++)
		printf("%-20s %8s %8s  %-10s %s\n", "RECORDING", "PROCESS", "SECONDS", "STATE",
		       "OF");
	printf("%-20s %8" PRIu32 " %8.0f  %-10s %s\n", a->call.name, a->pid,
	       now > a->started_realtime_ns ? (double)(now - a->started_realtime_ns) / 1e9 : 0.0,
	       a->state == AIF_STATE_HELD ? "paused" : "collects",
	       a->wants < AIF_ARRAY_LEN(wants) && *wants[a->wants] ? wants[a->wants] : a->command);
	return true;
}

static void command_line(int pid, char text[64])
{
	struct aif_buf all = {0};
	size_t n;

	if (pid)
		(void)aif_process_text(pid, "cmdline", 63, &all);
	n = all.len;
	memcpy(text, aif_buf_str(&all), n);
	aif_buf_finish(&all);
	while (n && !text[n - 1])
		n--;
	for (size_t i = 0; i < n; i++)
		text[i] = text[i] ? text[i] : ' ';
	text[n] = '\0';
	aif_name_sanitize_in_place(text);
}

static void print_process_head(unsigned *printed)
{
	if (!(*printed)++)
		printf("%-10s %-10s %-8s %-20s %s\n", "PROCESS", "RUNTIME", "VERSION",
		       "RECORDED BY", "COMMAND");
}

static bool print_process(void *arg, struct aif_standby_entry *e)
{
	char command[64], pid[24];
	bool is_free = flock(e->fd, LOCK_SH | LOCK_NB) == 0;

	print_process_head(arg);
	command_line(e->pid, command);
	aif_name_sanitize_in_place(e->page.runtime);
	aif_name_sanitize_in_place(e->page.version);
	aif_name_sanitize_in_place(e->page.call.name);
	/* Processes of another PID namespace are known by their number in it only. */
	snprintf(pid, sizeof(pid), e->pid ? "%" PRIu32 : "(%" PRIu32 ")", e->page.pid);
	printf("%-10s %-10s %-8s %-20s %s\n", pid, e->page.runtime, e->page.version,
	       is_free || !e->page.recorder ? "-" : e->page.call.name, command);
	return true;
}

/* Prints a process whose runtime has not started: until then it leaves nothing in the directory. */
static void print_waiting(void *arg, int pid)
{
	char command[64];

	print_process_head(arg);
	command_line(pid, command);
	printf("%-10d %-10s %-8s %-20s %s\n", pid, "none yet", "-", "-", command);
}

static void print_status(int dir, const char *path)
{
	unsigned recordings = 0, processes = 0, unread, more;

	aif_standby_recordings(dir, print_recording, &recordings);
	if (!recordings)
		puts("no recording is running");
	putchar('\n');
	more = aif_standby_pages(dir, NULL, 0, print_process, &processes);
	unread = aif_standby_waiting(dir, print_waiting, &processes);
	if (!processes)
		printf("no process is on standby in %s\n", path);
	if (more)
		printf("%u more files in %s were not looked at\n", more, path);
	if (unread)
		printf("%u processes of other users were not looked at: one of theirs keeps readers "
		       "waiting\n",
		       unread);
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	static const struct {
		const char *word;
		enum aif_control control;
	} verbs[] = {{"start", AIF_CONTROL_RUN},         {"pause", AIF_CONTROL_HOLD},
		     {"stop", AIF_CONTROL_STOP},         {"sync", AIF_CONTROL_SYNC},
		     {"snapshot", AIF_CONTROL_SNAPSHOT}, {"status", 0}};
	const struct values *v = values;
	struct aif_recording_search s = {.name = words_len > 1 ? words[1] : NULL};
	char path[AIF_STANDBY_DIR_MAX];
	size_t i = 0;
	int r;

	while (i < AIF_ARRAY_LEN(verbs) && strcmp(words[0], verbs[i].word) != 0)
		i++;
	if (i == AIF_ARRAY_LEN(verbs)) {
		aif_err_set(err, -EINVAL,
			    "ctl: '%s' is not understood; use start, pause, stop, sync, "
			    "snapshot or status",
			    words[0]);
		return AIF_EXIT_USAGE;
	}
	if (v->output && (verbs[i].control != AIF_CONTROL_SNAPSHOT || !*v->output)) {
		aif_err_set(err, -EINVAL, "ctl: -o is the name of a snapshot's profile; %s",
			    *v->output ? "leave it out" : "give one");
		return AIF_EXIT_USAGE;
	}
	aif_standby_default(path);
	s.dir = aif_standby_open(path, geteuid(), false);
	if (s.dir < 0 && s.dir != -ENOENT) {
		aif_err_set(err, s.dir, "%s: %s; it must be a directory of yours with mode 0700",
			    path, strerror(-s.dir));
		return AIF_EXIT_FAILURE;
	}
	if (!verbs[i].control) {
		print_status(s.dir, path);
		r = 0;
	} else {
		if (s.name && aif_parse_count(s.name, &s.pid) < 0)
			s.pid = 0;
		r = aif_recording_find(&s, "ctl", err);
		if (!r && verbs[i].control == AIF_CONTROL_SNAPSHOT)
			r = take_snapshot(path, &s, v->output, err);
		else if (!r)
			r = tell(s.dir, path, &s, verbs[i].control, err);
		/* Names the recording where the user did not: another one may have been meant. */
		if (!r && !s.name && verbs[i].control != AIF_CONTROL_SNAPSHOT)
			printf("%s: %s (process %" PRIu32 ")\n", words[0], s.at.about.call.name,
			       s.at.about.pid);
	}
	if (s.dir >= 0)
		close(s.dir);
	return r < 0 ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
}

const struct aif_command aif_command_ctl = {
	.name = "ctl",
	.words = "start|pause|stop|sync|snapshot|status [NAME|PID]",
	.summary = "control recordings that run, list processes on standby",
	.description =
		"start     starts collecting, at first (record --delay) or again\n"
		"pause     stops collecting for a while\n"
		"stop      ends the recording and waits for its profile; its processes go on\n"
		"sync      waits until the processes follow the last start or pause, and until\n"
		"          all that they had written by then is in the file; gives up after a\n"
		"          minute\n"
		"snapshot  writes a profile of what was recorded so far, and prints its name;\n"
		"          the recording goes on. With record --keep 30s: of the last 30 s. It\n"
		"          lacks what is known at a recording's end only: costs, texts of\n"
		"          source files\n"
		"status    lists recordings, and processes that wait to be recorded\n\n"
		"NAME is what `record --name` said, or else the name of the recording's file; PID\n"
		"is the recorder or one of the processes that it records. Without either: the\n"
		"only recording.",
	.examples =
		"aiflame ctl status\twho records whom\n"
		"aiflame ctl sync aiflame.data\twhat was launched is in the file then\n"
		"aiflame record -q --keep 30s -o server.data ./server &\ta server; of it the last 30 s\n"
		"aiflame ctl snapshot server.data -o slow.data\twhat it did until now\n"
		"aiflame ctl stop aiflame.data\tas Ctrl-C in its terminal\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(defaults),
	.min_words = 1,
	.max_words = 2,
	.run = run,
};
