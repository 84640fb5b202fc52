/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/profile_arg.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct values {
	bool children, ranks, full, verbose;
	int json; /* 0, 1: the words of --format */
};
static const struct aif_opt opts[] = {
	{0, "children", NULL, AIF_OPT_FLAG, offsetof(struct values, children), 0,
	 "their descendants, too"},
	{0, "ranks", NULL, AIF_OPT_FLAG, offsetof(struct values, ranks), 0,
	 "all ranks of a job on this host: which one the others wait for"},
	{0, "format", "text|json", AIF_OPT_CHOICE, offsetof(struct values, json), 0,
	 "text for people, JSON for programs"},
	{0, "json", NULL, AIF_OPT_SET, offsetof(struct values, json), 1,
	 "write JSON, as --format json"},
	{0, "full", NULL, AIF_OPT_FLAG, offsetof(struct values, full), 0,
	 "the Python interpreter's own functions, too"},
	{'v', "verbose", NULL, AIF_OPT_FLAG, offsetof(struct values, verbose), 0,
	 "say which threads were stopped, and for how long"},
	{0},
};

#if defined(__x86_64__) || defined(__aarch64__)

#include "base/clock.h"
#include "base/proc.h"
#include "base/process.h"
#include "cmd/message.h"
#include "stacks/ranks.h"

#include <dirent.h>
#include <unistd.h>

/* Processes that are asked for, each once, in order. */
struct pids {
	int *at;
	size_t len, cap;
};

static int add(struct pids *p, int pid)
{
	for (size_t i = 0; i < p->len; i++)
		if (p->at[i] == pid)
			return 0;
	if (aif_grow(&p->at, &p->cap, p->len + 1, sizeof(*p->at)))
		return -ENOMEM;
	p->at[p->len++] = pid;
	return 0;
}

/* Adds each process for which is_wanted(). 0, with *ret_any if there was one; or -errno. */
static int add_where(struct pids *p,
		     bool (*is_wanted)(const struct pids *p, int pid, const char *name),
		     const char *name, bool *ret_any)
{
	struct dirent *entry;
	DIR *dir = opendir("/proc");
	int r = 0;

	*ret_any = false;
	if (!dir)
		return -errno;
	while (!r && (entry = readdir(dir)) != NULL) {
		int pid = atoi(entry->d_name);
		size_t before = p->len;

		if (pid > 0 && pid != getpid() && is_wanted(p, pid, name))
			r = add(p, pid);
		*ret_any |= p->len > before;
	}
	closedir(dir);
	return r;
}

/* True if the process calls itself so, or its program has that name. */
static bool has_name(const struct pids *p, int pid, const char *name)
{
	char path[64], text[4096];
	const char *slash;

	(void)p;
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (aif_proc_read(path, text, sizeof(text)) <= 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	if (!strcmp(text, name))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	if (aif_proc_read(path, text, sizeof(text)) <= 0)
		return false;
	slash = strrchr(text, '/');
	return !strcmp(slash ? slash + 1 : text, name);
}

static bool is_child(const struct pids *p, int pid, const char *name)
{
	uint64_t start;
	int parent;

	(void)name;
	if (!aif_proc_stat(pid, &parent, &start))
		return false;
	for (size_t i = 0; i < p->len; i++)
		if (p->at[i] == parent)
			return true;
	return false;
}

/* The process of a number, which may be one of its threads'. */
static int process_of(int tid)
{
	char path[64], text[8192];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	if (aif_proc_read(path, text, sizeof(text)) <= 0 || !(at = strstr(text, "\nTgid:")))
		return tid;
	return atoi(at + strlen("\nTgid:"));
}

static int find(const struct values *v, char **words, int words_len, struct pids *p,
		struct aif_err *err)
{
	bool any;
	int r;

	for (int i = 0; i < words_len; i++) {
		uint32_t number;

		if (aif_parse_count(words[i], &number) == 0 && number && number <= INT32_MAX) {
			r = add(p, process_of((int)number));
		} else {
			r = add_where(p, has_name, words[i], &any);
			if (!r && !any)
				return aif_err_set(err, -ESRCH, "there is no process named %s",
						   words[i]);
		}
		if (r < 0)
			return aif_err_set(err, r, "/proc: %s", strerror(-r));
	}
	do {
		r = v->children ? add_where(p, is_child, NULL, &any) : 0;
		if (r < 0)
			return aif_err_set(err, r, "/proc: %s", strerror(-r));
	} while (v->children && any);
	return 0;
}

static int show(const struct values *v, int pid, struct aif_buf *out, struct aif_err *err)
{
	const struct aif_stacks_opts o = {.full = v->full, .verbose = v->verbose};
	struct aif_stacks s;
	int r = aif_stacks_take(&s, pid, err);

	if (!r)
		r = aif_stacks_name(&s);
	if (!r)
		r = aif_stacks_waits(&s);
	if (!r)
		r = aif_stacks_deadlocks(&s);
	if (r == -ENOMEM && !err->code)
		aif_err_set(err, r, "out of memory");
	if (!r && v->json)
		aif_stacks_json(&s, out);
	else if (!r)
		aif_stacks_text(&s, &o, out);
	aif_stacks_finish(&s);
	return r;
}

/* Time between two looks at a job. */
#define APART_NS (AIF_NS_PER_S / 2)

static int show_jobs(const struct values *v, struct aif_stacks_job *jobs, size_t len,
		     struct aif_err *err)
{
	const struct aif_stacks_opts o = {.full = v->full};
	struct aif_buf out = {0};
	int r = 0;

	aif_buf_puts(&out, v->json ? "{\"jobs\":[" : "");
	for (size_t i = 0; i < len && !r; i++) {
		r = aif_stacks_job_look(&jobs[i], APART_NS);
		aif_buf_puts(&out, !i ? "" : v->json ? ",\n" : "\n");
		if (v->json)
			aif_stacks_job_json(&jobs[i], &out);
		else
			aif_stacks_job_text(&jobs[i], &o, &out);
	}
	aif_buf_puts(&out, v->json ? "]}\n" : "");
	if (r < 0)
		aif_err_set(err, r, "out of memory");
	else
		r = v->json ? aif_view_print(&out, err) : aif_view_print_text(&out, err);
	aif_buf_finish(&out);
	return r;
}

/* Shows the ranks of jobs. All that could be seen of a job is status 0 only if each of its ranks was. */
static int run_ranks(const struct values *v, const struct pids *p, struct aif_err *err)
{
	struct aif_stacks_job *jobs = NULL;
	size_t len = 0;
	int r = aif_stacks_jobs_find(p->at, p->len, &jobs, &len);

	if (r < 0)
		aif_err_set(err, r, "/proc: %s", strerror(-r));
	else if (!len)
		r = aif_err_set(
			err, -ESRCH,
			"no process that may be read is a rank of a job (RANK and WORLD_SIZE, "
			"OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID ...); name the "
			"processes: aiflame stacks --ranks PID...");
	else
		r = show_jobs(v, jobs, len, err);
	for (size_t i = 0; i < len; i++)
		for (size_t k = 0; k < jobs[i].len; k++)
			r = jobs[i].ranks[k].why.code ? -1 : r;
	aif_stacks_jobs_free(jobs, len);
	return r < 0 ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	struct aif_buf out = {0};
	int status = AIF_EXIT_OK;
	struct pids p = {0};
	size_t shown = 0;

	if (!words_len && !v->ranks) {
		aif_err_set(err, -EINVAL, "stacks: name a process, or give --ranks");
		return AIF_EXIT_USAGE;
	}
	if (find(v, words, words_len, &p, err) < 0)
		status = AIF_EXIT_FAILURE;
	if (v->ranks) {
		status = err->code ? status : run_ranks(v, &p, err);
		free(p.at);
		return status;
	}
	if (v->json)
		aif_buf_puts(&out, "{\"processes\":[");
	for (size_t i = 0; i < p.len && !err->code; i++) {
		struct aif_buf one = {0};
		struct aif_err why = {0};

		if (show(v, p.at[i], &one, &why) == 0) {
			aif_buf_puts(&out, v->json ? (shown ? ",\n " : "\n ") : shown ? "\n" : "");
			aif_buf_append(&out, one.data, one.len);
			out.failed |= one.failed;
			shown++;
		} else {
			status = AIF_EXIT_FAILURE;
			aif_message("%s", why.text);
		}
		aif_buf_finish(&one);
	}
	if (v->json)
		aif_buf_puts(&out, "]}\n");
	if (shown && (v->json ? aif_view_print(&out, err) : aif_view_print_text(&out, err)))
		status = AIF_EXIT_FAILURE;
	aif_buf_finish(&out);
	free(p.at);
	return status;
}

#else

#include "record/attach/agent_path.h"

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	(void)values, (void)words, (void)words_len;
	aif_err_set(err, -ENOTSUP, "stacks: %s", aif_agent_why_none());
	return AIF_EXIT_FAILURE;
}

#endif

const struct aif_command aif_command_stacks = {
	.name = "stacks",
	.words = "[PID|NAME...]",
	.summary =
		"what every thread of a process does now: its stack, what it waits in, who holds it up",
	.description =
		"Prints the stack of each thread: C and C++ functions with the Python functions\n"
		"(3.8 to 3.14) that they run, innermost first. Of a thread that waits it says in what:\n"
		"the system call, the file, pipe or socket, the lock and the thread that holds it\n"
		"(mutexes and read-write locks of glibc, Python's GIL, threads that are joined).\n"
		"Threads that wait for each other are a deadlock, which is said at the end.\n"
		"The process needs no preparation, is not recorded, and goes on meanwhile. A\n"
		"thread that waits is not disturbed where its stack can be read as it is;\n"
		"others are stopped for as long as their registers and stack are copied, some\n"
		"50 microseconds (-v says it). None is stopped in a system call that would fail\n"
		"by it (epoll_wait, semop, ...).\n"
		"NAME is that of a program or of a process. Processes of your own need no\n"
		"rights, unless kernel.yama.ptrace_scope is set; those of others need root.\n"
		"With --ranks it looks at all ranks of a job on this host, by what their launcher\n"
		"has set, twice, half a second apart: it says in which collective operation each\n"
		"waits, by which line it was called, and which rank is elsewhere; of programs that\n"
		"run under aiflame record --nvtx or env --nvtx also how many operations of each of NCCL's\n"
		"communicators each has begun. PID is then a rank, or the launcher; without one it\n"
		"is all jobs.\n"
		"[truncated] and [guessed] are those of recordings: docs/stacks.md.",
	.examples = "aiflame stacks 4711\tof process 4711\n"
		    "sudo aiflame stacks --children nginx\tnginx, and what it started\n"
		    "aiflame stacks --ranks\ta job that hangs: which rank is missing\n"
		    "aiflame stacks --json 4711\tfor programs\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.min_words = 0,
	.max_words = -1,
	.run = run,
};
