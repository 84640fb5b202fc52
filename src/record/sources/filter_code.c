/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/filter_code.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/process_read.h"
#include "record/ingest/elf_peek.h"
#include "record/ingest/modfiles.h"
#include "symbolize/own_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* CPU time for one file; PyTorch's largest takes 0.2 s. What the rest of one that takes more has is not known. */
#define FILE_NS (5 * AIF_NS_PER_S)
/* The same where the recorder waits for it, and all time for the files of one look; what takes more is left to the thread. */
#define SMALL_NS UINT64_C(10000000)
#define READS_NS (2 * SMALL_NS)
/* Most files of one process, and that wait for the thread. */
#define FILES_MAX   1024
#define WAITING_MAX 64
/* A program's maps are read so often at most. */
#define LOOK_NS (AIF_NS_PER_S / 10)
/* Bytes of a file that takes some milliseconds at most. */
#define SMALL (1 << 20)

/* Files whose own calls are none of a program's: by the beginnings of their names. */
static const char *const known[] = {
	"ld-linux",   "libc.so",    "libc-2.",          "libpthread", "libasan",
	"libhwasan",  "liblsan",    "libtsan",          "libubsan",   "libclang_rt.",
	"libcuda.so", "libnvidia-", "libaiflame-agent",
};

/* Knowledge of a file's code. */
enum knowledge {
	UNREAD,
	NO_FILTERS,
	ANY_CALLS, /* it makes calls whose numbers it is given, or was too long to be read through */
	FILTERS,
};

struct file {
	enum knowledge code;
	bool is_program;
	int fd;           /* -1: nothing is to be done */
	uint64_t address; /* in the file's own numbering: of the call */
};

struct aif_filter_code {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	atomic_bool stop;
	struct file *files;
	size_t files_len, files_cap, next, waiting;
	struct aif_map by_inode; /* of files */
};

/* ---- the thread ---- */

/* Closes `fd`. Returns UNREAD if that takes longer than `limit_ns`. */
static enum knowledge judge(const struct aif_filter_code *c, int fd, bool is_program,
			    uint64_t limit_ns, uint64_t *ret_address)
{
	struct aif_effort effort = {.cancel = &c->stop, .limit_ns = limit_ns};
	struct aif_elf elf;
	int r;

	*ret_address = 0;
	if (aif_elf_init(&elf, fd, 0) < 0)
		return NO_FILTERS;
	elf.effort = &effort;
	aif_effort_begin(&effort);
	r = aif_own_calls_find(&elf, is_program ? AIF_OWN_CALLS_ANY : AIF_OWN_CALLS_FILTER,
			       ret_address);
	aif_effort_end(&effort);
	aif_elf_finish(&elf);
	if (effort.is_over)
		return UNREAD;
	return r == AIF_OWN_CALLS_FILTER ? FILTERS
	       : r == AIF_OWN_CALLS_ANY  ? ANY_CALLS
					 : NO_FILTERS;
}

static void *judge_main(void *arg)
{
	struct aif_filter_code *c = arg;

	pthread_mutex_lock(&c->lock);
	while (!atomic_load(&c->stop)) {
		size_t i = c->next;
		enum knowledge found;
		bool is_program;
		uint64_t address;
		int fd;

		if (i == c->files_len) {
			pthread_cond_wait(&c->wake, &c->lock);
			continue;
		}
		fd = c->files[i].fd;
		is_program = c->files[i].is_program;
		pthread_mutex_unlock(&c->lock);
		found = fd < 0 ? UNREAD : judge(c, fd, is_program, FILE_NS, &address);
		if (found == UNREAD)
			found = ANY_CALLS;
		pthread_mutex_lock(&c->lock);
		if (fd >= 0) {
			c->files[i] = (struct file){.code = found,
						    .is_program = is_program,
						    .fd = -1,
						    .address = address};
			c->waiting--;
		}
		c->next++;
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

struct aif_filter_code *aif_filter_code_new(void)
{
	struct aif_filter_code *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->wake, NULL);
	if (pthread_create(&c->thread, NULL, judge_main, c) == 0)
		return c;
	free(c);
	return NULL;
}

void aif_filter_code_free(struct aif_filter_code *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	atomic_store(&c->stop, true);
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	for (size_t i = 0; i < c->files_len; i++)
		if (c->files[i].fd >= 0)
			close(c->files[i].fd);
	free(c->files);
	aif_map_finish(&c->by_inode);
	pthread_cond_destroy(&c->wake);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* ---- a process's files ---- */

static bool is_known(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < AIF_ARRAY_LEN(known); i++)
		if (!strncmp(name, known[i], strlen(known[i])))
			return true;
	return false;
}

/* A line of a process's maps. */
struct mapping {
	uint64_t lo, hi, inode;
	char device[16];
	const char *path;
	bool is_exe; /* it is what the process executes */
};

/* Opens a mapping's file. One that has been deleted is left to who may look at any mapping, unless it is executed. */
static int open_file(struct aif_process_files *files, const struct mapping *m)
{
	int fd = aif_modfile_open(files, m->lo, m->hi, m->path);

	return fd < 0 && m->is_exe ? aif_process_open_exe(files) : fd;
}

/* True of programs, not of libraries: a loader that is executed itself maps one as if it were a library. */
static bool is_of_program(int fd, const struct mapping *m)
{
	struct aif_elf_peek e;

	return m->is_exe || (aif_elf_peek(fd, &e) == 0 && (*e.interp || !e.is_shared));
}

/* Sets *ret to the number of the file of a mapping, which is new in its process. Reads it at once if it is small, and if that is
 * before `until`. 0, -EAGAIN: too many files wait; or -errno. */
static int file_of(struct aif_filter_code *c, struct aif_process_files *files,
		   const struct mapping *m, uint64_t until, size_t *ret)
{
	uint64_t key = aif_mix64(aif_hash_bytes(m->device, strlen(m->device)) ^ m->inode), at;
	struct file file = {.code = UNREAD};
	struct stat st;
	bool waits;
	int fd, r;

	if (aif_map_get(&c->by_inode, key, &at)) {
		*ret = (size_t)at;
		return 0;
	}
	fd = open_file(files, m);
	if (fd < 0)
		return fd;
	file.fd = fd;
	file.is_program = is_of_program(fd, m);
	/* A short program would be over before the thread had begun. Programs of Python have a hundred small libraries. */
	if (fstat(fd, &st) == 0 && st.st_size <= SMALL && aif_now_ns() < until) {
		int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

		if (copy >= 0)
			file.code = judge(c, copy, file.is_program, SMALL_NS, &file.address);
		if (file.code != UNREAD) {
			close(fd);
			file.fd = -1;
		}
	}
	waits = file.fd >= 0;
	pthread_mutex_lock(&c->lock);
	r = waits && c->waiting == WAITING_MAX ? -EAGAIN : 0;
	if (r == 0 &&
	    (aif_grow(&c->files, &c->files_cap, c->files_len + 1, sizeof(*c->files)) < 0 ||
	     aif_map_put(&c->by_inode, key, c->files_len) < 0))
		r = -ENOMEM;
	if (r < 0) {
		pthread_mutex_unlock(&c->lock);
		if (waits)
			close(fd);
		return r;
	}
	c->waiting += waits;
	*ret = c->files_len;
	c->files[c->files_len++] = file;
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
	return 0;
}

/* Returns false if the file has no room yet. */
static bool add(struct aif_filter_code *c, struct aif_filter_code_target *t,
		struct aif_process_files *files, const struct mapping *m, uint64_t until)
{
	uint64_t key = aif_mix64(aif_hash_bytes(m->path, strlen(m->path)) ^ m->lo), was;
	size_t file = 0;
	int r;

	if (t->files_len == FILES_MAX || aif_map_get(&t->seen, key, &was))
		return true;
	r = is_known(m->path) ? -ENOENT : file_of(c, files, m, until, &file);
	if (r == -EAGAIN)
		return false;
	if (r < 0 && m->is_exe &&
	    !is_known(m->path)) /* what it has is not known, and it may be anything */
		snprintf(t->place, sizeof(t->place), "%s", m->path);
	if (aif_map_put(&t->seen, key, 1) < 0 || r < 0)
		return true;
	/* A file that is mapped again, at another address. */
	for (size_t i = 0; i < t->files_len; i++)
		if (t->files[i].number == file)
			return true;
	if (aif_grow(&t->files, &t->files_cap, t->files_len + 1, sizeof(*t->files)) < 0)
		return true;
	t->files[t->files_len].number = file;
	snprintf(t->files[t->files_len].name, sizeof(t->files[0].name), "%s", m->path);
	t->files_len++;
	return true;
}

static void read_maps(struct aif_filter_code *c, struct aif_filter_code_target *t,
		      struct aif_process_files *files)
{
	uint64_t until = aif_now_ns() + READS_NS;
	struct aif_buf text = {0};
	char *line, *rest = NULL, link[32], exe[4096];
	ssize_t n;

	t->is_behind = false;
	snprintf(link, sizeof(link), "/proc/%d/exe", files->pid);
	n = readlink(link, exe, sizeof(exe) - 1);
	exe[AIF_MAX(n, 0)] = '\0';
	(void)aif_process_text(files->pid, "maps", AIF_PROCESS_MAPS_MAX, &text);
	aif_buf_putc(&text, '\0');
	for (line = aif_buf_failed(&text) ? NULL : strtok_r((char *)text.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		struct mapping m;
		char perms[8];
		int at = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %15s %" SCNu64 " %n", &m.lo,
			   &m.hi, perms, m.device, &m.inode, &at) != 5 ||
		    perms[2] != 'x' || line[at] != '/' || !m.inode)
			continue;
		m.path = line + at;
		m.is_exe = !strcmp(m.path, exe);
		if (add(c, t, files, &m, until))
			continue;
		t->is_behind = true;
		if (!t->files_len)
			break; /* the program itself comes first, and is waited for */
	}
	aif_buf_finish(&text);
}

/*
 * Large libraries make calls of any number, or take too long to be read through, and install no filters (libtorch_cpu.so of PyTorch
 * 2.11 for CUDA, in which no program of PyTorch was sampled). A program that does so makes all its calls past the C library.
 */
static enum aif_filter_code_verdict verdict_of(enum knowledge code, bool is_program)
{
	if (code == UNREAD)
		return AIF_FILTER_CODE_UNKNOWN;
	return code == FILTERS || (code == ANY_CALLS && is_program) ? AIF_FILTER_CODE_HAS
								    : AIF_FILTER_CODE_NONE;
}

enum aif_filter_code_verdict aif_filter_code_look(struct aif_filter_code *c,
						  struct aif_filter_code_target *t,
						  struct aif_process_files *files, bool is_due)
{
	enum aif_filter_code_verdict ret = AIF_FILTER_CODE_NONE;
	uint64_t now = aif_now_ns();

	if (*t->place)
		return AIF_FILTER_CODE_HAS;
	if ((is_due || t->is_behind) && now - t->looked_ns >= LOOK_NS) {
		t->looked_ns = now;
		read_maps(c, t, files);
	}
	if (*t->place)
		return AIF_FILTER_CODE_HAS;
	if (t->is_behind && !t->files_len)
		return AIF_FILTER_CODE_UNKNOWN;
	pthread_mutex_lock(&c->lock);
	for (size_t i = t->asked; i < t->files_len && ret != AIF_FILTER_CODE_HAS; i++) {
		const struct file *f = &c->files[t->files[i].number];
		enum aif_filter_code_verdict v = verdict_of(f->code, f->is_program);

		if (v == AIF_FILTER_CODE_NONE && i == t->asked)
			t->asked++;
		else if (v == AIF_FILTER_CODE_HAS || f->is_program)
			ret = v; /* a program is waited for, and no library */
		if (v == AIF_FILTER_CODE_HAS)
			snprintf(t->place, sizeof(t->place), "%s+0x%" PRIx64, t->files[i].name,
				 f->address);
	}
	pthread_mutex_unlock(&c->lock);
	return ret;
}

void aif_filter_code_target_finish(struct aif_filter_code_target *t)
{
	aif_map_finish(&t->seen);
	free(t->files);
}
