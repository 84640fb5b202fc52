/* SPDX-License-Identifier: Apache-2.0 */
#include "record/source_texts.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/open_regular.h"
#include "base/source_blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534

/* Reasons for which an existing file has no text in the profile. */
enum why { CHANGED, FORBIDDEN, TOO_MUCH, UNREADABLE, HURRIED, GONE, SEVERAL, WHYS };
static const char *const why_words[WHYS] = {
	[CHANGED] = "changed since the program began",
	[FORBIDDEN] = "not readable for the program's user",
	[TOO_MUCH] = "too large, or too many",
	[UNREADABLE] = "could not be read",
	[HURRIED] = "the recording was ended at once",
	[GONE] = "of containers whose processes have ended",
	[SEVERAL] = "one path of several files, of containers or of one and its host",
};

/* A line that a frame stands on. */
struct place {
	uint32_t file, line;
	unsigned home; /* homes.h */
};

struct texts {
	struct aif_store *store;
	struct aif_source_reader reader;
	const atomic_bool *is_impatient;
	struct place *places; /* by file, then by line */
	size_t len, cap;
	uint64_t changed_ns; /* CLOCK_REALTIME: files changed later are not what ran */
	uint64_t read, kept; /* bytes */
	unsigned files;
	struct aif_buf path, file, text;
	struct {
		uint64_t files;
		struct aif_buf first; /* path of one of them */
	} skipped[WHYS];
};

void aif_source_reader_add(struct aif_source_reader *r, uid_t uid, gid_t gid)
{
	if (!r->is_known && r->uid != NOBODY)
		*r = (struct aif_source_reader){.is_known = true, .uid = uid, .gid = gid};
	else if (r->uid != uid || r->gid != gid)
		*r = (struct aif_source_reader){.uid = NOBODY, .gid = NOBODY};
}

static int by_place(const void *pa, const void *pb)
{
	const struct place *a = pa, *b = pb;

	return AIF_ORDER(a->file, b->file) ?: AIF_ORDER(a->line, b->line);
}

/* True if frames of the module are of the program's own source. */
static bool is_host(const struct aif_profile *p, uint32_t module)
{
	return module < p->modules_len && (p->modules[module].kind == AIF_MODULE_ELF ||
					   p->modules[module].kind == AIF_MODULE_SOURCE);
}

static uint64_t ns_of(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * AIF_NS_PER_S + (uint64_t)t->tv_nsec;
}

/* CLOCK_REALTIME when the first process began that carried the agent, or the recording. */
static uint64_t began_at(const struct aif_profile *p)
{
	uint64_t began = p->start_ns;
	struct timespec now;

	for (size_t i = 0; i < p->processes_len; i++)
		if ((p->processes[i].flags & AIF_PROCESS_AGENT) && p->processes[i].start_ns)
			began = AIF_MIN(began, p->processes[i].start_ns);
	clock_gettime(CLOCK_REALTIME, &now);
	return ns_of(&now) - (aif_now_ns() - began);
}

/* Finds the places, but those in files whose whole text is kept. 0 or -ENOMEM. */
static int find_places(struct texts *t)
{
	const struct aif_profile *p = &t->store->p;
	struct aif_map whole = {0};
	int r = 0;

	pthread_mutex_lock(&t->store->lock);
	t->changed_ns = began_at(p);
	for (size_t i = 0; i < p->programs_len && !r; i++)
		if (p->programs[i].source != AIF_NONE && p->programs[i].source_name != AIF_NONE)
			r = aif_map_put(&whole, p->programs[i].source_name, 1);
	for (size_t i = 0; i < p->frame_names_len && !r; i++) {
		const struct aif_frame_name *n = &p->frame_names[i];

		if (!n->line || n->file == AIF_NONE || !is_host(p, p->frames[n->frame].module) ||
		    aif_map_get(&whole, n->file, NULL))
			continue;
		r = aif_grow(&t->places, &t->cap, t->len + 1, sizeof(*t->places));
		if (!r)
			t->places[t->len++] = (struct place){
				n->file, n->line,
				aif_homes_get(&t->store->homes, p->frames[n->frame].module)};
	}
	pthread_mutex_unlock(&t->store->lock);
	aif_map_finish(&whole);
	if (t->len)
		qsort(t->places, t->len, sizeof(*t->places), by_place);
	return r;
}

static void skip(struct texts *t, enum why why)
{
	if (!t->skipped[why].files++)
		aif_buf_append(&t->skipped[why].first, t->path.data, t->path.len);
}

/* Opens it as one of the processes of that home, while one lives. -ESRCH: none does. */
static int open_at_home(struct texts *t, unsigned home)
{
	struct aif_home at;

	pthread_mutex_lock(&t->store->lock);
	at = t->store->homes.at[home - AIF_HOME_FIRST];
	pthread_mutex_unlock(&t->store->lock);
	for (unsigned i = 0; i < AIF_HOME_PIDS; i++) {
		struct aif_process_files f;

		if (!at.pids[i])
			continue;
		aif_process_files_init(&f, at.pids[i]);
		if (f.is_known && !memcmp(&f.home, &at.id, sizeof(at.id)))
			return aif_process_open(&f, aif_buf_str(&t->path), 0);
	}
	return -ESRCH;
}

/* Opens the file of t->path. Returns a descriptor, or -1 after an existing file was counted. */
static int open_file(struct texts *t, unsigned home, uint64_t *ret_size)
{
	int fd = aif_open_spare(
		home >= AIF_HOME_FIRST
			? open_at_home(t, home)
			: aif_open_regular(AT_FDCWD, aif_buf_str(&t->path), O_RDONLY));
	struct stat st;

	if (fd == -ESRCH)
		skip(t, GONE);
	else if (fd == -EACCES || fd == -EPERM)
		skip(t, FORBIDDEN);
	else if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR && fd != -EINVAL)
		skip(t, UNREADABLE);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0) {
		skip(t, UNREADABLE);
	} else if (ns_of(&st.st_mtim) > t->changed_ns || ns_of(&st.st_ctim) > t->changed_ns) {
		/* Unpacking sets st_mtim to an old time, but not st_ctim. */
		skip(t, CHANGED);
	} else if (t->files >= AIF_SOURCE_TEXT_FILES ||
		   (uint64_t)st.st_size > AIF_SOURCE_TEXT_FILE_MAX ||
		   t->read + (uint64_t)st.st_size > AIF_SOURCE_TEXT_READ_MAX) {
		skip(t, TOO_MUCH);
	} else {
		*ret_size = (uint64_t)st.st_size;
		return fd;
	}
	close(fd);
	return -1;
}

/* Marks, by line, those of the places [first, end), those next to them and those that begin blocks around them. */
static void mark_lines(const struct texts *t, const struct aif_source_blocks *b, size_t first,
		       size_t end, uint8_t *marks)
{
	for (; first < end; first++) {
		uint32_t line = t->places[first].line;

		if (line <= b->lines)
			aif_source_mark_around(b, line, marks);
		for (uint32_t i = line - AIF_MIN(line - 1, AIF_SOURCE_TEXT_CONTEXT);
		     i <= b->lines && i - AIF_MIN(i, AIF_SOURCE_TEXT_CONTEXT) <= line; i++)
			marks[i] = 1;
	}
}

/* Copies the lines of the places [first, end), and what is around them, out of the file. 0, -EFBIG or -ENOMEM. */
static int copy_lines(struct texts *t, size_t first, size_t end)
{
	struct aif_source_blocks b;
	int r = aif_source_blocks_init(&b, (const char *)t->file.data, t->file.len);
	uint8_t *marks = r ? NULL : calloc((size_t)b.lines + 1, 1);
	uint32_t last = 0;

	if (!r && !marks)
		r = -ENOMEM;
	if (!r)
		mark_lines(t, &b, first, end, marks);
	for (uint32_t i = 1; i <= b.lines && !r; i++)
		last = marks[i] ? i : last;
	/* The text ends with a line. */
	if (last == b.lines && t->file.len && t->file.data[t->file.len - 1] == '\n')
		last--;
	for (uint32_t i = 1; i <= last && !r; i++) {
		size_t len = b.starts[i] - 1 - b.starts[i - 1];

		if (marks[i])
			aif_buf_append(&t->text, b.text + b.starts[i - 1],
				       AIF_MIN(len, AIF_SOURCE_TEXT_LINE_MAX));
		aif_buf_putc(&t->text, '\n');
	}
	free(marks);
	aif_source_blocks_finish(&b);
	return r;
}

static void keep(struct texts *t, uint32_t file)
{
	struct aif_program row = {.process = AIF_NONE, .source_name = file};

	if (t->kept + t->text.len > AIF_SOURCE_TEXT_KEPT_MAX) {
		skip(t, TOO_MUCH);
		return;
	}
	t->kept += t->text.len;
	pthread_mutex_lock(&t->store->lock);
	row.options = aif_store_puts(t->store, "");
	row.source = aif_store_str(t->store, t->text.data, t->text.len);
	if (row.source == AIF_NONE || row.options == AIF_NONE ||
	    aif_store_program(t->store, &row) == AIF_NONE)
		skip(t, UNREADABLE);
	pthread_mutex_unlock(&t->store->lock);
}

/* Adds the file of the places [first, end). */
static void add_file(struct texts *t, size_t first, size_t end)
{
	uint64_t size = 0;
	int fd;

	aif_buf_clear(&t->path);
	aif_buf_clear(&t->file);
	aif_buf_clear(&t->text);
	pthread_mutex_lock(&t->store->lock);
	aif_buf_puts(&t->path, aif_profile_str(&t->store->p, t->places[first].file));
	pthread_mutex_unlock(&t->store->lock);
	if (aif_buf_failed(&t->path) || *aif_buf_str(&t->path) != '/')
		return;
	if (atomic_load(t->is_impatient)) {
		skip(t, HURRIED);
		return;
	}
	for (size_t i = first; i < end; i++)
		if (t->places[i].home != t->places[first].home)
			t->places[first].home = AIF_HOME_SEVERAL;
	if (t->places[first].home == AIF_HOME_SEVERAL) {
		skip(t, SEVERAL);
		return;
	}
	fd = open_file(t, t->places[first].home, &size);
	if (fd < 0)
		return;
	t->files++;
	t->read += size;
	if (aif_read_regular(fd, size, &t->file) < 0) {
		skip(t, UNREADABLE);
	} else if (!memchr(aif_buf_str(&t->file), '\0', size)) { /* else it is no text */
		if (copy_lines(t, first, end) < 0 || aif_buf_failed(&t->text))
			skip(t, UNREADABLE);
		else
			keep(t, t->places[first].file);
	}
	close(fd);
}

/* Gives the calling thread, and no other, the rights of the reader. False: it has others. */
static bool take_rights(const struct aif_source_reader *r)
{
	uid_t uid = r->is_known ? r->uid : NOBODY;
	gid_t gid = r->is_known ? r->gid : NOBODY;

	if (geteuid() != 0 || uid == 0)
		return true;
	/* The C library's setgroups() is for all threads. */
	if (syscall(SYS_setgroups, 0, NULL) < 0)
		return false;
	setfsgid(gid);
	setfsuid(uid);
	return (uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid;
}

static void *texts_main(void *arg)
{
	struct texts *t = arg;

	if (!take_rights(&t->reader) || find_places(t) < 0) {
		skip(t, UNREADABLE);
		return NULL;
	}
	for (size_t i = 0, end; i < t->len; i = end) {
		for (end = i; end < t->len && t->places[end].file == t->places[i].file; end++)
			;
		add_file(t, i, end);
	}
	return NULL;
}

/* Counts what was skipped, a row for each reason, with one of the files as an example. */
static void count_skipped(struct texts *t)
{
	pthread_mutex_lock(&t->store->lock);
	for (unsigned i = 0; i < WHYS; i++) {
		struct aif_buf detail = {0};

		if (!t->skipped[i].files)
			continue;
		aif_buf_printf(&detail, "%s: %s", why_words[i], aif_buf_str(&t->skipped[i].first));
		if (!aif_buf_failed(&detail))
			aif_store_loss(t->store, AIF_REASON_SOURCE_SKIPPED, AIF_NONE,
				       aif_store_str(t->store, detail.data, detail.len),
				       t->skipped[i].files);
		aif_buf_finish(&detail);
	}
	pthread_mutex_unlock(&t->store->lock);
}

void aif_source_texts_add(struct aif_store *s, const struct aif_source_reader *reader,
			  const atomic_bool *is_impatient)
{
	struct texts t = {.store = s, .reader = *reader, .is_impatient = is_impatient};
	pthread_t thread;

	if (pthread_create(&thread, NULL, texts_main, &t) == 0)
		pthread_join(thread, NULL);
	else
		skip(&t, UNREADABLE);
	count_skipped(&t);
	for (unsigned i = 0; i < WHYS; i++)
		aif_buf_finish(&t.skipped[i].first);
	free(t.places);
	aif_buf_finish(&t.path);
	aif_buf_finish(&t.file);
	aif_buf_finish(&t.text);
}
