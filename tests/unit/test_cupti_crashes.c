/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the memory of programs that ended inside CUPTI: the file, the kernel's log, the end of a recording. */
#include "fixture_ingest.h"

#include "base/state.h"
#include "record/cupti_crashes.h"
#include "record/ending.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define ID_A "1a2b00000000000000000000000000000000000f"
#define ID_B "ff"
#define MAX  AIF_SHM_CUPTI_CRASHES

/* ---- the file ------------------------------------------------------------------------------------ */

static size_t parse(const char *text, struct aif_cupti_crash ret[MAX])
{
	return aif_cupti_crashes_parse(text, strlen(text), ret, MAX);
}

static void lines_are_read(void **state)
{
	struct aif_cupti_crash c[MAX];

	(void)state;
	assert_int_equal(parse(ID_A " blocks 2026-11-20 SIGSEGV python3 a.py --b\n" ID_B
				    " records 2026-11-21 SIGABRT \n",
			       c),
			 2);
	/* The newest first; what is not there of an id is zero. */
	assert_int_equal(c[0].id[0], 0xff);
	assert_int_equal(c[0].id[1], 0);
	assert_int_equal(c[0].use, AIF_CUPTI_USE_RECORDS);
	assert_string_equal(c[0].signal, "SIGABRT");
	assert_string_equal(c[0].command, "");
	assert_int_equal(c[1].id[1], 0x2b);
	assert_int_equal(c[1].id[19], 0x0f);
	assert_int_equal(c[1].use, AIF_CUPTI_USE_BLOCKS);
	assert_string_equal(c[1].date, "2026-11-20");
	assert_string_equal(c[1].command, "python3 a.py --b");
}

static void of_a_build_the_use_that_asked_least_counts(void **state)
{
	struct aif_cupti_crash c[MAX];

	(void)state;
	assert_int_equal(parse(ID_A " throughout 2026-11-20 SIGSEGV old\n" ID_A
				    " blocks 2026-11-21 SIGBUS new\n",
			       c),
			 1);
	assert_int_equal(c[0].use, AIF_CUPTI_USE_THROUGHOUT);
	assert_string_equal(c[0].command, "new");
}

static void broken_lines_are_skipped(void **state)
{
	static const char *const broken[] = {
		"",
		" ",
		"blocks 2026-11-20 SIGSEGV x",
		ID_A,
		ID_A " blocks",
		ID_A " blocks 2026-11-20",
		ID_A " auto 2026-11-20 SIGSEGV x",
		ID_A " block 2026-11-20 SIGSEGV x",
		ID_A " blocks 2026-11-2 SIGSEGV x",
		ID_A " blocks 2026-11-200 SIGSEGV x",
		ID_A " blocks 2026/11/20 SIGSEGV x",
		ID_A " blocks 2026-11-20 SEGV x",
		ID_A " blocks 2026-11-20  SIGSEGV x",
		ID_A "00 blocks 2026-11-20 SIGSEGV x",
		"1A2B blocks 2026-11-20 SIGSEGV x",
		"1a2 blocks 2026-11-20 SIGSEGV x",
		"0000 blocks 2026-11-20 SIGSEGV x",
		"xx blocks 2026-11-20 SIGSEGV x",
		"\t" ID_A " blocks 2026-11-20 SIGSEGV x",
	};
	struct aif_cupti_crash c[MAX];
	struct aif_buf all = {0};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(broken); i++) {
		struct aif_buf one = {0};

		aif_buf_printf(&one, "%s\n", broken[i]);
		if (parse(aif_buf_str(&one), c))
			fail_msg("was taken: %s", broken[i]);
		aif_buf_puts(&all, aif_buf_str(&one));
		aif_buf_finish(&one);
	}
	aif_buf_puts(&all, ID_B " blocks 2026-11-20 SIGFPE a \x1b[31m b\n");
	aif_buf_puts(&all, ID_A " blocks 2026-11-20 SIGFPE its end is miss");
	assert_int_equal(parse(aif_buf_str(&all), c), 1);
	assert_int_equal(c[0].id[0], 0xff);
	assert_string_equal(c[0].command, "a ?[31m b");
	aif_buf_finish(&all);
	assert_int_equal(
		aif_cupti_crashes_parse(ID_B " blocks 2026-11-20 SIGFPE a\0b\n", 33, c, MAX), 0);
}

static void eight_builds_are_enough(void **state)
{
	struct aif_cupti_crash c[MAX];
	struct aif_buf all = {0};

	(void)state;
	for (int i = 1; i < 200; i++)
		aif_buf_printf(&all, "%02x records 2026-11-20 SIGSEGV x\n", i);
	assert_int_equal(parse(aif_buf_str(&all), c), MAX);
	for (int i = 0; i < MAX; i++)
		assert_int_equal(c[i].id[0], 199 - i);
	aif_buf_finish(&all);
}

static uint64_t seed = 1;
static unsigned next_random(unsigned below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(seed >> 33) % below;
}

/* Valid lines and log records, with bytes changed, doubled and cut out, in memory of exactly their size. */
static void anything_can_be_in_it(void **state)
{
	static const char *const whole[] = {
		ID_A " blocks 2026-11-20 SIGSEGV python3 a.py\n" ID_B
		     " launches 2026-11-20 SIGBUS x\n",
		"6,343,3164881412,-;python3[1999]: segfault at 10 ip 0 sp 0 error 4 in "
		"libc.so.6[167ad8,7f49b6be5000+156000]\n SUBSYSTEM=x\n",
		"4,1,2,c;traps: a b[7] trap invalid opcode ip:1 sp:2 error:0 in l[1+2]\n",
	};
	static const char odd[] = "\n \0[];:,0af-\xff";

	(void)state;
	for (int round = 0; round < 200000; round++) {
		const char *from = whole[round % 3];
		size_t len = strlen(from);
		struct aif_cupti_crash c[MAX];
		struct aif_fault fault;
		char *text;

		len = next_random(4) ? len : next_random((unsigned)len + 1);
		text = malloc(len + 1);
		memcpy(text, from, len);
		for (unsigned k = next_random(6); len && k; k--)
			text[next_random((unsigned)len)] = next_random(2)
								   ? odd[next_random(sizeof(odd))]
								   : (char)next_random(256);
		text[len] = '\0';
		if (round % 3) {
			if (aif_fault_parse(text, &fault))
				assert_true(strlen(fault.name) < sizeof(fault.name) &&
					    strlen(fault.library) < sizeof(fault.library));
		} else {
			/* Not terminated. */
			char *exact = malloc(AIF_MAX(len, 1));
			size_t n;

			memcpy(exact, text, len);
			n = aif_cupti_crashes_parse(exact, len, c, MAX);
			assert_true(n <= 2);
			for (size_t i = 0; i < n; i++) {
				assert_non_null(aif_cupti_use_name(c[i].use));
				assert_true(c[i].use);
				assert_int_equal(strlen(c[i].date), 10);
				assert_true(strlen(c[i].command) < sizeof(c[i].command));
			}
			free(exact);
		}
		free(text);
	}
}

struct home {
	char dir[64], file[128];
};

static void move_into(struct home *h)
{
	snprintf(h->dir, sizeof(h->dir), "/tmp/aiflame-crashes-XXXXXX");
	assert_non_null(mkdtemp(h->dir));
	setenv("HOME", h->dir, 1);
	unsetenv("XDG_STATE_HOME");
	snprintf(h->file, sizeof(h->file), "%s/.local/state/aiflame/cupti-crashes", h->dir);
}

static int move_in(void **state)
{
	struct home *h = calloc(1, sizeof(*h));

	assert_non_null(h);
	move_into(h);
	*state = h;
	return 0;
}

static int move_out(void **state)
{
	struct home *h = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", h->dir);
	assert_int_equal(system(command), 0);
	free(h);
	return 0;
}

static const struct aif_cupti_crash one = {
	.id = {1, 2, 3},
	.use = AIF_CUPTI_USE_BLOCKS,
	.date = "2026-11-20",
	.signal = "SIGSEGV",
	.command = "python3 a\nb.py",
};

static void what_is_added_is_read_again(void **state)
{
	const struct home *h = *state;
	struct aif_cupti_crash c[MAX];
	struct stat st;

	assert_int_equal(aif_cupti_crashes_load(c, MAX), 0);
	assert_int_equal(aif_cupti_crashes_add(&one), 0);
	assert_int_equal(stat(h->file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(aif_cupti_crashes_add(&one), 0);
	assert_int_equal(aif_cupti_crashes_load(c, MAX), 1);
	assert_memory_equal(c[0].id, one.id, sizeof(one.id));
	assert_int_equal(c[0].use, one.use);
	assert_string_equal(c[0].date, one.date);
	assert_string_equal(c[0].signal, one.signal);
	assert_string_equal(c[0].command, "python3 a?b.py");
	assert_int_equal(aif_cupti_crashes_add(&(struct aif_cupti_crash){.id = {1}}), -EINVAL);
}

static void a_long_file_is_read_from_its_end(void **state)
{
	const struct home *h = *state;
	struct aif_cupti_crash c[MAX];
	FILE *f;

	assert_int_equal(aif_cupti_crashes_add(&one), 0);
	f = fopen(h->file, "a");
	for (int i = 0; i < 3000; i++)
		fputs("bb launches 2026-11-20 SIGSEGV x\n", f);
	fclose(f);
	assert_int_equal(aif_cupti_crashes_load(c, MAX), 1);
	assert_int_equal(c[0].id[0], 0xbb);
	assert_int_equal(aif_cupti_crashes_add(&one), 0);
	assert_int_equal(aif_cupti_crashes_load(c, MAX), 2);
}

static void other_things_than_files_are_left_alone(void **state)
{
	const struct home *h = *state;
	struct aif_cupti_crash c[MAX];
	char other[128];
	int fd;

	assert_int_equal(aif_cupti_crashes_add(&one), 0);
	snprintf(other, sizeof(other), "%s/other", h->dir);
	assert_int_equal(rename(h->file, other), 0);
	assert_int_equal(symlink(other, h->file), 0);
	assert_int_equal(aif_cupti_crashes_load(c, MAX), 0);
	assert_int_equal(aif_cupti_crashes_add(&one), -EACCES);
	unlink(h->file);
	assert_int_equal(mkfifo(h->file, 0600), 0);
	assert_int_equal(aif_cupti_crashes_load(c, MAX), 0); /* and it waits for nobody */
	fd = open(h->file, O_RDONLY | O_NONBLOCK);
	assert_int_equal(aif_cupti_crashes_add(&one), -EACCES);
	close(fd);
	unlink(h->file);
	assert_int_equal(mkdir(h->file, 0700), 0);
	assert_int_equal(aif_cupti_crashes_load(c, MAX), 0);
	assert_int_equal(aif_cupti_crashes_add(&one), -EACCES);
	rmdir(h->file);
	if (geteuid() == 0) {
		assert_int_equal(rename(other, h->file), 0);
		assert_int_equal(chown(h->file, 12345, (gid_t)-1), 0);
		assert_int_equal(aif_cupti_crashes_load(c, MAX), 0);
		assert_int_equal(aif_cupti_crashes_add(&one), -EACCES);
		/* A home of another user's, as sudo has it where it keeps HOME. */
		unlink(h->file);
		assert_int_equal(chown(h->dir, 12345, (gid_t)-1), 0);
		assert_int_equal(aif_cupti_crashes_add(&one), -EACCES);
		assert_int_equal(chown(h->dir, 0, (gid_t)-1), 0);
		assert_int_equal(aif_cupti_crashes_add(&one), 0);
	}
}

static void there_may_be_no_home(void **state)
{
	const struct home *h = *state;
	struct aif_cupti_crash c[MAX];
	char path[128];

	unsetenv("HOME");
	assert_int_equal(aif_cupti_crashes_add(&one), -ENOENT);
	assert_int_equal(aif_cupti_crashes_load(c, MAX), 0);
	setenv("HOME", "relative", 1);
	assert_int_equal(aif_cupti_crashes_add(&one), -ENOENT);
	snprintf(path, sizeof(path), "%s/none", h->dir);
	setenv("HOME", path, 1);
	assert_int_equal(aif_cupti_crashes_add(&one), -EACCES);
	assert_int_equal(access(path, F_OK), -1);
	/* The state directory may be made. */
	setenv("XDG_STATE_HOME", path, 1);
	assert_int_equal(aif_cupti_crashes_add(&one), 0);
	assert_int_equal(aif_cupti_crashes_load(c, MAX), 1);
	unsetenv("XDG_STATE_HOME");
}

/* ---- the kernel's log ---------------------------------------------------------------------------- */

static void program_errors_are_known(void **state)
{
	static const struct {
		const char *record;
		uint32_t tid;
		const char *name, *library;
	} faults[] = {
		{"6,343,3164881412,-;python3[1999]: segfault at 10 ip 00007f49b6d26ad8 sp "
		 "00007fff74f21308 error 4 in libc.so.6[167ad8,7f49b6be5000+156000] likely on CPU 1 "
		 "(core 1, socket 0)\n",
		 1999, "python3", "libc.so.6"},
		{"6,1,2,-;python3[1234]: segfault at 19 ip 00007f sp 00007f error 4 in "
		 "libcupti.so.2025.3.1[7f0000+25a000]\n SUBSYSTEM=x\n DEVICE=in y[1]\n",
		 1234, "python3", "libcupti.so.2025.3.1"},
		{"6,1,2,-;app[30471]: segfault at 0 ip 0000000000000000 sp 00007ffdb7f2dd68 error 14 "
		 "likely on CPU 0 (core 0, socket 0)\n",
		 30471, "app", ""},
		{"4,1,2,-;traps: a [in b[7] general protection fault ip:7f sp:7f error:0 in "
		 "libx.so[7f+1]\n",
		 7, "a [in b", "libx.so"},
		{"4,1,2,c;traps: x[12] trap invalid opcode ip:7f sp:7f error:0 in x[7f+1]\n", 12,
		 "x", "x"},
		{"4,1,2,-;x[12]: unhandled exception: DABT (lower EL), ESR 0x92000005, level 1 "
		 "translation fault in libcuda.so.580[7f+1]\n",
		 12, "x", "libcuda.so.580"},
	};
	static const char *const others[] = {
		"",
		"6",
		"6,1,2,-",
		"6,1,2,-;",
		"14,1,2,-;x[12]: segfault at 1 in libx.so[1]\n", /* written by a program */
		"6,1,2,-;x[]: segfault at 1 in libx.so[1]\n",
		"6,1,2,-;x[99999999999]: segfault at 1 in libx.so[1]\n",
		"6,1,2,-;x[12]: hello in libx.so[1]\n",
		"6,1,2,-;eth0: link up\n",
	};
	struct aif_fault f;

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(faults); i++) {
		assert_true(aif_fault_parse(faults[i].record, &f));
		assert_int_equal(f.tid, faults[i].tid);
		assert_string_equal(f.name, faults[i].name);
		assert_string_equal(f.library, faults[i].library);
	}
	for (size_t i = 0; i < AIF_ARRAY_LEN(others); i++)
		if (aif_fault_parse(others[i], &f))
			fail_msg("was taken: %s", others[i]);
}

static int log_of(const char *const *records)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds), 0);
	for (; *records; records++)
		assert_true(write(fds[1], *records, strlen(*records)) > 0);
	close(fds[1]);
	return fds[0];
}

static enum aif_fault_place find(const char *a, const char *b, const char *library)
{
	const uint32_t tids[] = {12, 13};
	const struct aif_fault_of of = {
		.tids = tids, .tids_len = 2, .names = {"/usr/bin/python3.11", "python3", NULL}};
	int log = log_of((const char *const[]){a, b, NULL});
	enum aif_fault_place place;
	char text[64];

	place = aif_kernel_log_find(log, &of, text);
	close(log);
	assert_string_equal(text, library);
	return place;
}

#define FAULT(who, in) "6,1,2,-;" who ": segfault at 1 ip 1 sp 1 error 4 in " in "[1+2]\n"

static void the_log_says_where_it_ended(void **state)
{
	const struct aif_fault_of of = {0};
	char library[64] = "x";

	(void)state;
	assert_int_equal(find(FAULT("cuda-thread[13]", "libcupti.so.13"), NULL, "libcupti.so.13"),
			 AIF_FAULT_CUPTI);
	assert_int_equal(find(FAULT("pt_autograd_0[13]", "libtorch.so"), NULL, "libtorch.so"),
			 AIF_FAULT_ELSEWHERE);
	/* A thread's number of another PID namespace. */
	assert_int_equal(
		find(FAULT("python3[900]", "libnvperf_host.so"), NULL, "libnvperf_host.so"),
		AIF_FAULT_CUPTI);
	assert_int_equal(find(FAULT("thread[900]", "libcuda.so.580.1"), NULL, "libcuda.so.580.1"),
			 AIF_FAULT_CUPTI);
	/* Lines of other programs say nothing of it, and do not hide its own. */
	assert_int_equal(find(FAULT("bash[900]", "libc.so.6"), NULL, ""), AIF_FAULT_UNKNOWN);
	assert_int_equal(
		find(FAULT("x[12]", "libx.so"), FAULT("bash[900]", "libc.so.6"), "libx.so"),
		AIF_FAULT_ELSEWHERE);
	assert_int_equal(find(FAULT("x[12]", "libcupti.so.12"), FAULT("python3[13]", "libc.so.6"),
			      "libcupti.so.12"),
			 AIF_FAULT_CUPTI);
	assert_int_equal(find("6,1,2,-;x[12]: segfault at 1 ip 1 sp 1 error 14\n", NULL, ""),
			 AIF_FAULT_UNKNOWN);
	assert_int_equal(aif_kernel_log_find(-1, &of, library), AIF_FAULT_UNKNOWN);
	assert_string_equal(library, "");
}

/* ---- the end of a recording ---------------------------------------------------------------------- */

static void what_a_target_says_of_its_cupti_is_bounded(void **state)
{
	struct world *w = *state;
	struct aif_target_cupti *c = &w->t->cupti;

	aif_target_cupti(w->t);
	assert_false(c->in_use);
	w->shm->cupti_id[0] = 9;
	w->shm->cupti_version = 130000;
	w->shm->cupti_use = AIF_CUPTI_USE_COUNT;
	aif_target_cupti(w->t);
	assert_false(c->in_use);
	assert_int_equal(c->use, 0);
	w->shm->cupti_use = UINT32_MAX;
	aif_target_cupti(w->t);
	assert_false(c->in_use);
	w->shm->cupti_use = AIF_CUPTI_USE_BLOCKS;
	aif_target_cupti(w->t);
	assert_true(c->in_use);
	assert_int_equal(c->id[0], 9);
	assert_int_equal(c->version, 130000);
	/* Not any more: what it was is known all the same. */
	w->shm->cupti_use = 0;
	aif_target_cupti(w->t);
	assert_false(c->in_use);
	assert_int_equal(c->use, AIF_CUPTI_USE_BLOCKS);
}

#define PID 77

static int end_set_up(void **state)
{
	struct world *w;
	struct home home;

	assert_int_equal(set_up(state), 0);
	w = *state;
	aif_store_meta(&w->store, "command", "python3 x.py");
	move_into(&home);
	return 0;
}

/* Describes the end of a process with CUPTI in that use. Returns how many builds are remembered then. */
static size_t end(struct world *w, int status, uint32_t use, bool in_use, int pid,
		  const char *record)
{
	struct aif_process p = {.pid = (uint32_t)pid};
	struct aif_drain_stats st = {.cupti_len = 1};
	struct aif_cupti_crash c[MAX];
	struct aif_ending e = {.has_ended = true, .status = status, .pid = PID, .kernel_log = -1};

	p.exe = aif_store_puts(&w->store, "/usr/bin/python3");
	p.cmdline = aif_store_puts(&w->store, "python3 x.py");
	st.cupti[0] = (struct aif_drain_cupti){
		.its = {.id = {0xab, 0xcd}, .version = 130000, .use = use, .in_use = in_use},
		.pid = pid,
		.process = aif_store_process(&w->store, &p),
		.ended = true};
	if (record)
		e.kernel_log = log_of((const char *const[]){record, NULL});
	aif_ending_describe(&e, &w->store, &st);
	if (record)
		close(e.kernel_log);
	return aif_cupti_crashes_load(c, MAX);
}

static const char *meta(struct world *w, const char *key)
{
	return aif_profile_meta(&w->store.p, key);
}

static void an_end_in_cupti_is_remembered(void **state)
{
	struct world *w = *state;
	struct aif_cupti_crash c[MAX];

	assert_int_equal(end(w, SIGSEGV, AIF_CUPTI_USE_BLOCKS, true, PID,
			     FAULT("python3[77]", "libcupti.so.13")),
			 1);
	assert_string_equal(meta(w, "exit_status"), "139");
	assert_string_equal(meta(w, "end.signal"), "11");
	assert_string_equal(meta(w, "end.in"), "libcupti.so.13");
	assert_string_equal(meta(w, "end.remembered"), "libcupti");
	assert_string_equal(meta(w, "cupti.use"), "blocks");
	assert_string_equal(meta(w, "cupti.version"), "130000");
	assert_string_equal(meta(w, "cupti.id"), "abcd000000000000000000000000000000000000");
	assert_int_equal(aif_cupti_crashes_load(c, MAX), 1);
	assert_int_equal(c[0].id[1], 0xcd);
	assert_string_equal(c[0].signal, "SIGSEGV");
	assert_string_equal(c[0].command, "python3 x.py");
}

static void an_end_that_nobody_saw_is_suspected(void **state)
{
	struct world *w = *state;

	assert_int_equal(end(w, SIGSEGV, AIF_CUPTI_USE_RECORDS, true, PID, NULL), 1);
	assert_string_equal(meta(w, "end.remembered"), "suspected");
	assert_string_equal(meta(w, "end.in"), "");
}

/* The kernel's log never has one, and mostly it is the program's own. */
static void an_abort_is_not(void **state)
{
	struct world *w = *state;

	assert_int_equal(end(w, SIGABRT, AIF_CUPTI_USE_RECORDS, true, PID, NULL), 0);
	assert_string_equal(meta(w, "end.remembered"), "");
	assert_string_equal(meta(w, "cupti.use"), "records");
}

static void an_end_that_a_shell_tells_of_is_remembered(void **state)
{
	struct world *w = *state;

	assert_int_equal(end(w, 139 << 8, AIF_CUPTI_USE_BLOCKS, true, PID + 1, NULL), 1);
	assert_string_equal(meta(w, "exit_status"), "139");
	assert_string_equal(meta(w, "end.signal"), "");
	assert_string_equal(meta(w, "end.remembered"), "suspected");
}

static void other_ends_are_not(void **state)
{
	struct world *w = *state;

	assert_int_equal(end(w, SIGSEGV, AIF_CUPTI_USE_BLOCKS, true, PID,
			     FAULT("python3[77]", "libtorch.so")),
			 0);
	assert_string_equal(meta(w, "end.in"), "libtorch.so");
	assert_int_equal(end(w, SIGSEGV, AIF_CUPTI_USE_BLOCKS, false, PID, NULL), 0);
	/* A child of the command has CUPTI, and it is the command that ended so. */
	assert_int_equal(end(w, SIGSEGV, AIF_CUPTI_USE_BLOCKS, true, PID + 1, NULL), 0);
	assert_int_equal(end(w, SIGINT, AIF_CUPTI_USE_BLOCKS, true, PID, NULL), 0);
	assert_int_equal(end(w, SIGKILL, AIF_CUPTI_USE_BLOCKS, true, PID, NULL), 0);
	assert_int_equal(end(w, 137 << 8, AIF_CUPTI_USE_BLOCKS, true, PID, NULL), 0);
	assert_int_equal(end(w, 1 << 8, AIF_CUPTI_USE_BLOCKS, true, PID, NULL), 0);
	assert_int_equal(end(w, 0, AIF_CUPTI_USE_BLOCKS, true, PID, NULL), 0);
	assert_string_equal(meta(w, "end.remembered"), "");
	assert_string_equal(meta(w, "cupti.use"), "blocks");
}

static int end_tear_down(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", getenv("HOME"));
	assert_int_equal(system(command), 0);
	return tear_down(state);
}

int main(void)
{
#define FILES(name) cmocka_unit_test_setup_teardown(name, move_in, move_out)
#define END(name)   cmocka_unit_test_setup_teardown(name, end_set_up, end_tear_down)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_read),
		cmocka_unit_test(of_a_build_the_use_that_asked_least_counts),
		cmocka_unit_test(broken_lines_are_skipped),
		cmocka_unit_test(eight_builds_are_enough),
		cmocka_unit_test(anything_can_be_in_it),
		FILES(what_is_added_is_read_again),
		FILES(a_long_file_is_read_from_its_end),
		FILES(other_things_than_files_are_left_alone),
		FILES(there_may_be_no_home),
		cmocka_unit_test(program_errors_are_known),
		cmocka_unit_test(the_log_says_where_it_ended),
		cmocka_unit_test_setup_teardown(what_a_target_says_of_its_cupti_is_bounded, set_up,
						tear_down),
		END(an_end_in_cupti_is_remembered),
		END(an_end_that_nobody_saw_is_suspected),
		END(an_abort_is_not),
		END(an_end_that_a_shell_tells_of_is_remembered),
		END(other_ends_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
