/* SPDX-License-Identifier: Apache-2.0 */
#include "record/naming.h"

#include "base/clock.h"
#include "record/binaries.h"
#include "record/ingest/device_names.h"
#include "record/ingest/jit_names.h"
#include "profile/code_pack.h"
#include "symbolize/kallsyms.h"
#include "symbolize/perf_map.h"
#include "symbolize/symbolize.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/*
 * Frames named in one go, module by module: the debug information of all modules of a large program does not fit
 * into what the symbolizer may keep, and reading it anew takes milliseconds. Where that happens new frames are left
 * to come together for a while.
 */
#define ROUND          4096
#define GATHER_NS      AIF_NS_PER_S
#define MAX_INLINED    32
#define POLL_NS        (50 * 1000 * 1000)
#define MAX_CODE_SIZE  (1u << 20)
#define MAX_SPIRV_SIZE (UINT64_C(16) << 20)
/* Modules without lines that are named, each by a kernel in it; the others are counted. */
#define MAX_NAMED 8
/* Largest perf map: 10 million functions, of a server that compiles for weeks, read in some
 * seconds. */
#define MAX_PERF_MAP (UINT64_C(1) << 30)
/*
 * The target's CPUs are the target's: where this thread was taken off its CPU for another, it pauses for nine
 * times what it has used, and so takes a tenth of one. That is what a nice value of 10 would give it, but
 * a nice value cannot be taken back without privileges: whoever waits for a thread that has one, for its
 * end or for a lock that it holds, waits behind everybody else's work. On 2 CPUs with 14 busy threads a
 * recording took 4 to 14 s to end, instead of 0.5 s.
 */
#define PAUSE_EACH_NS (2 * 1000 * 1000) /* less than the kernel's slices of 3 ms */
#define PAUSE_TIMES   9
#define PAUSE_MAX_NS  AIF_NS_PER_S
/* After which a thread that was told to end is given up. */
#define CANCEL_NS (2 * AIF_NS_PER_S)

struct aif_naming {
	struct aif_store *store;
	struct aif_modfiles *files;
	bool keep_code, keep_cpu_code; /* the latter: of functions on threads' stacks */
	bool keep_objects;             /* of devices, whole */
	struct aif_symbols *symbols;
	struct aif_device_names *devices;
	struct aif_kallsyms kernel; /* read when its first frame comes */
	bool has_kernel;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop, has_ended;
	atomic_bool cancel;   /* frames without a name so far get none */
	uint64_t cancelled;   /* frames that got none for that reason */
	struct aif_map slow;  /* modules of which it was said that their files take too long */
	uint64_t used_ns;     /* CPU time of the thread, and how often it was taken off its */
	long preempted;       /* CPU, when it last looked whether to pause */
	struct job *jobs;     /* ROUND of them */
	atomic_size_t next;   /* frame */
	struct aif_map known; /* modules that the symbolizer knows */
	unsigned named;       /* modules without lines */
	struct aif_map coded; /* functions whose code is kept: module << 48 | start */
	struct aif_map whole; /* modules whose file is kept */
	struct aif_binaries binaries;
	struct aif_quota quota; /* the files are the targets' */
};

/* A frame of one round, copied under the lock. */
struct job {
	uint32_t id;
	struct aif_frame frame;
	uint32_t module_kind;
	char *path; /* of a module that has no file: the symbolizer wants at least its name */
};

/* The frames of a process whose names its perf map may have. */
struct wanted_frames {
	struct aif_perf_map_want *wants;
	size_t len, cap;
	struct aif_map frames; /* address -> frame */
};

static int by_address(const void *a, const void *b)
{
	const struct aif_perf_map_want *x = a, *y = b;

	return AIF_ORDER(x->address, y->address);
}

static void find_frames(struct aif_naming *n, uint32_t module, struct wanted_frames *to)
{
	const struct aif_profile *p = &n->store->p;

	pthread_mutex_lock(&n->store->lock);
	for (size_t i = 0; i < p->frames_len; i++) {
		if (p->frames[i].module != module ||
		    aif_grow(&to->wants, &to->cap, to->len + 1, sizeof(*to->wants)) < 0)
			continue;
		to->wants[to->len++] = (struct aif_perf_map_want){.address = p->frames[i].address};
		aif_map_put(&to->frames, p->frames[i].address, i);
	}
	pthread_mutex_unlock(&n->store->lock);
	if (to->len)
		qsort(to->wants, to->len, sizeof(*to->wants), by_address);
}

static void store_names(struct aif_naming *n, const struct aif_perf_map *m,
			const struct wanted_frames *from)
{
	uint64_t frame;

	aif_store_lock_as(n->store, &n->quota);
	for (size_t i = 0; i < m->wants_len; i++) {
		const struct aif_perf_map_want *w = &m->wants[i];
		struct aif_frame_name name = {.file = AIF_NONE};

		if (!w->name_len || !aif_map_get(&from->frames, w->address, &frame))
			continue;
		name.frame = (uint32_t)frame;
		name.name = aif_jit_names_put(n->store, (const char *)m->names.data + w->name,
					      w->name_len);
		if (name.name != AIF_NONE)
			aif_store_name(n->store, &name);
	}
	aif_store_unlock_as(n->store);
}

/* The process has ended, so all frames of the module are there. */
static void learn_perf_map(struct aif_naming *n, const struct aif_modfile *file)
{
	struct aif_perf_map *m = malloc(sizeof(*m));
	struct wanted_frames wanted = {0};
	uint64_t left = MAX_PERF_MAP;
	char bytes[16384];
	ssize_t r;

	find_frames(n, file->module, &wanted);
	if (m && wanted.len) {
		aif_perf_map_init(m, wanted.wants, wanted.len);
		while (left && !atomic_load(&n->cancel) &&
		       (r = read(file->fd, bytes, AIF_MIN(sizeof(bytes), left))) > 0 &&
		       aif_perf_map_feed(m, bytes, (size_t)r))
			left -= (uint64_t)r;
		aif_perf_map_end(m);
		store_names(n, m, &wanted);
		aif_perf_map_finish(m);
	}
	free(m);
	free(wanted.wants);
	aif_map_finish(&wanted.frames);
}

/* Takes code->bytes. */
static void put_code(struct aif_naming *n, struct aif_code *code, const char *name,
		     const char *arch)
{
	aif_code_pack(code);
	aif_store_lock_as(n->store, &n->quota);
	code->name = aif_store_puts(n->store, name);
	code->arch = aif_store_puts(n->store, arch);
	aif_store_code(n->store, code);
	aif_store_unlock_as(n->store);
}

/* Puts the SPIR-V that device code was compiled from into the store, as a module of its own. Takes
 * the bytes. */
static void put_spirv(struct aif_naming *n, uint64_t hash, uint8_t *bytes, size_t size)
{
	struct aif_code code = {.bytes = bytes, .size = size};
	char path[AIF_SPIRV_NAME_MAX], id[32];

	if (size > MAX_SPIRV_SIZE) {
		free(bytes);
		return;
	}
	aif_store_lock_as(n->store, &n->quota);
	code.module =
		aif_store_module(n->store, AIF_MODULE_DEVICE, path,
				 (size_t)snprintf(path, sizeof(path), AIF_SPIRV_NAME, hash), id,
				 (size_t)snprintf(id, sizeof(id), "%016" PRIx64 ".spirv", hash));
	aif_store_unlock_as(n->store);
	put_code(n, &code, "SPIR-V", "spirv");
}

/* Keeps the SPIR-V of a function's object. */
static void keep_spirv(struct aif_naming *n, uint32_t function)
{
	uint8_t *bytes;
	uint64_t hash;
	size_t size;

	if (n->keep_code && aif_device_names_spirv(n->devices, function, &bytes, &size, &hash) == 0)
		put_spirv(n, hash, bytes, size);
}

/* Keeps the SPIR-V of a program whose code no agent could get. */
static void keep_program(struct aif_naming *n, uint64_t hash)
{
	uint8_t *bytes;
	size_t size;

	if (n->keep_code && aif_device_names_program(n->devices, hash, &bytes, &size) == 0)
		put_spirv(n, hash, bytes, size);
}

static void learn_files(struct aif_naming *n)
{
	struct aif_modfile file;

	while (aif_modfiles_take(n->files, &file)) {
		if (file.function) {
			aif_device_names_add(n->devices, &file);
			aif_modfile_finish(&file);
			continue;
		}
		if (file.spirv) {
			keep_program(n, file.spirv);
			aif_modfile_finish(&file);
			continue;
		}
		if (file.is_perf_map) {
			learn_perf_map(n, &file);
			aif_modfile_finish(&file);
			continue;
		}
		/* A file of no use leaves the module known by its path: that is what is said then. */
		aif_symbols_module(n->symbols, file.module, file.fd, file.path, file.build_id);
		file.fd = -1; /* taken */
		aif_map_put(&n->known, file.module, 1);
		aif_modfile_finish(&file);
	}
}

static size_t take_jobs(struct aif_naming *n, struct job *jobs)
{
	const struct aif_profile *p = &n->store->p;
	size_t len = 0;

	pthread_mutex_lock(&n->store->lock);
	while (len < ROUND && n->next + len < p->frames_len) {
		struct job *j = &jobs[len];

		*j = (struct job){.id = (uint32_t)(n->next + len),
				  .frame = p->frames[n->next + len]};
		if (j->frame.module != AIF_NONE) {
			const struct aif_module *m = &p->modules[j->frame.module];

			j->module_kind = m->kind;
			if (!aif_map_get(&n->known, j->frame.module, NULL))
				j->path = strdup(aif_profile_str(p, m->path));
		}
		len++;
	}
	pthread_mutex_unlock(&n->store->lock);
	return len;
}

/* Keeps the object that a device's own function is in, once; the function's own code and lines apart. */
static void keep_object(struct aif_naming *n, uint32_t module)
{
	uint8_t *bytes;
	size_t size;

	if (n->keep_code &&
	    aif_device_names_binary(n->devices, module, n->keep_objects, &bytes, &size) == 0)
		aif_binaries_put(&n->binaries, n->store, &n->quota, module, bytes, size);
}

static void keep_lines(struct aif_naming *n, uint32_t module)
{
	struct aif_device_piece piece;

	for (size_t at = 0; aif_device_names_lines(n->devices, module, &at, &piece);)
		aif_binaries_lines(&n->binaries, n->store, &n->quota, module, piece.bytes,
				   piece.offset, piece.size);
}

/* Keeps the code of a device's own function, which is a module, once. */
static void keep_device_code(struct aif_naming *n, uint32_t module)
{
	struct aif_code code = {.module = module};
	struct aif_device_code at;

	if (aif_map_get(&n->coded, (uint64_t)module << 48, NULL) ||
	    aif_device_names_code(n->devices, module, &at) < 0 || at.size > MAX_CODE_SIZE)
		return;
	aif_map_put(&n->coded, (uint64_t)module << 48, 1);
	code.size = at.size;
	code.file_offset = at.offset;
	if (n->keep_code) {
		uint8_t *bytes = malloc(at.size);

		if (bytes)
			memcpy(bytes, at.bytes, at.size);
		code.bytes = bytes;
	}
	put_code(n, &code, at.name, at.arch);
	if (n->keep_code && !n->keep_objects)
		keep_lines(n, module);
	keep_spirv(n, module);
}

/* Keeps the file of a module with a device function that the CPU executes, once. */
static void keep_file(struct aif_naming *n, uint32_t module)
{
	struct aif_buf bytes = {0};
	uint64_t size;

	if (!n->keep_code || aif_map_get(&n->whole, module, NULL) ||
	    aif_map_put(&n->whole, module, 1) < 0 ||
	    aif_symbols_file(n->symbols, module, AIF_BINARY_MAX, &bytes, &size) < 0)
		return;
	aif_binaries_put(&n->binaries, n->store, &n->quota, module, bytes.data, size);
}

/* Keeps the code of the function that a sampled device frame lies in, once. */
static void keep_code(struct aif_naming *n, const struct job *j)
{
	struct aif_buf bytes = {0};
	struct aif_code code = {.module = j->frame.module};
	const char *name;
	char *copy;
	uint64_t key;

	if (aif_symbols_function(n->symbols, j->frame.module, j->frame.address, &code.address,
				 &code.size, &name) < 0 ||
	    code.size > MAX_CODE_SIZE || code.address >> 48)
		return;
	key = (uint64_t)j->frame.module << 48 | code.address;
	if (aif_map_get(&n->coded, key, NULL))
		return;
	aif_map_put(&n->coded, key, 1);
	copy = strdup(name);
	if (copy && n->keep_code &&
	    aif_symbols_code(n->symbols, j->frame.module, code.address, code.size, &bytes) == 0)
		code.bytes = bytes.data; /* the store's from here */
	put_code(n, &code, copy ? copy : "", aif_symbols_arch(n->symbols, j->frame.module));
	free(copy);
}

static void put_names(struct aif_naming *n, uint32_t id, const struct aif_symbol *sym, int len)
{
	aif_store_lock_as(n->store, &n->quota);
	for (int i = 0; i < len; i++) {
		struct aif_frame_name name = {
			.frame = id,
			.inline_depth = (uint32_t)i,
			.name = aif_store_puts(n->store, sym[i].name),
			.file = sym[i].file ? aif_store_puts(n->store, sym[i].file) : AIF_NONE,
			.line = sym[i].line,
		};

		aif_store_name(n->store, &name);
	}
	aif_store_unlock_as(n->store);
}

static void name_device_frame(struct aif_naming *n, uint32_t id, const struct aif_frame *frame)
{
	struct aif_symbol sym[MAX_INLINED];
	uint32_t loss;
	int len = aif_device_names_resolve(n->devices, frame->module, frame->address, sym,
					   MAX_INLINED, &loss);

	if (len > 0)
		put_names(n, id, sym, len);
	if (loss != AIF_NONE) {
		bool is_named = loss == AIF_REASON_CODE_NO_LINES ||
				loss == AIF_REASON_CODE_LOST_LINES || loss == AIF_REASON_NO_CODE;

		aif_store_lock_as(n->store, &n->quota);
		aif_store_loss(n->store, loss, AIF_NONE,
			       is_named && len > 0 && n->named++ < MAX_NAMED
				       ? aif_store_puts(n->store, sym[0].name)
				       : AIF_NONE,
			       1);
		aif_store_unlock_as(n->store);
	}
	keep_object(n, frame->module);
	keep_device_code(n, frame->module);
}

/* 60 ms to read, once. */
static void learn_kernel(struct aif_naming *n)
{
	n->has_kernel = true;
	if (aif_kallsyms_read(&n->kernel, "/proc/kallsyms") == 0)
		return;
	pthread_mutex_lock(&n->store->lock);
	aif_store_loss(n->store, AIF_REASON_EBPF_KALLSYMS, AIF_NONE, AIF_NONE, 1);
	pthread_mutex_unlock(&n->store->lock);
}

static void name_os_frame(struct aif_naming *n, uint32_t id, const struct aif_frame *frame)
{
	const struct aif_kallsym *found;
	struct aif_symbol sym = {0};

	if (frame->address == AIF_OS_ANYWHERE) {
		sym.name = "[kernel]";
		put_names(n, id, &sym, 1);
		return;
	}
	if (!n->has_kernel)
		learn_kernel(n);
	found = aif_kallsyms_find(&n->kernel, frame->address);
	if (!found)
		return;
	sym.name = aif_strset_get(&n->kernel.strings, found->name, NULL);
	if (found->module != AIF_STR_NONE)
		sym.file = aif_strset_get(&n->kernel.strings, found->module, NULL);
	put_names(n, id, &sym, 1);
}

static bool is_cancelled(const struct aif_naming *n)
{
	return atomic_load_explicit(&n->cancel, memory_order_relaxed);
}

/* Says once of a module that the names of its functions take too long. */
static void tell_slow(struct aif_naming *n, uint32_t module)
{
	if (aif_map_get(&n->slow, module, NULL) || aif_map_put(&n->slow, module, 1) < 0)
		return;
	aif_store_lock_as(n->store, &n->quota);
	aif_store_loss(n->store, AIF_REASON_NAMES_SLOW, AIF_NONE, n->store->p.modules[module].path,
		       1);
	aif_store_unlock_as(n->store);
}

static void name_frame(struct aif_naming *n, uint32_t id, struct job *j)
{
	struct aif_symbol sym[MAX_INLINED];
	int len;

	/* Python's frames came with their names; what is in no file gets them later, if at all. */
	if (j->frame.module == AIF_NONE || j->module_kind == AIF_MODULE_ANON ||
	    j->module_kind == AIF_MODULE_SOURCE)
		return;
	if (is_cancelled(n)) {
		n->cancelled++;
		return;
	}
	if (j->module_kind == AIF_MODULE_OS) {
		name_os_frame(n, id, &j->frame);
		return;
	}
	if (j->module_kind == AIF_MODULE_DEVICE) {
		name_device_frame(n, id, &j->frame);
		return;
	}
	if (j->path && j->module_kind == AIF_MODULE_VDSO) {
		aif_symbols_vdso(n->symbols, j->frame.module, NULL);
		aif_map_put(&n->known, j->frame.module, 1);
	} else if (j->path && !aif_map_get(&n->known, j->frame.module, NULL)) {
		aif_symbols_module(n->symbols, j->frame.module, -1, j->path, NULL);
		aif_map_put(&n->known, j->frame.module, 1);
	}
	len = aif_symbols_resolve(n->symbols, j->frame.module, j->frame.address, sym, MAX_INLINED);
	if (len < 0)
		return;
	if (aif_symbols_is_slow(n->symbols, j->frame.module) && !is_cancelled(n))
		tell_slow(n, j->frame.module);
	put_names(n, id, sym, len);
	if (j->frame.kind == AIF_FRAME_DEVICE)
		keep_file(n, j->frame.module);
	if (j->frame.kind == AIF_FRAME_DEVICE ||
	    (n->keep_cpu_code && j->frame.kind == AIF_FRAME_NATIVE))
		keep_code(n, j);
}

/* Until the end is wanted. Holding the lock. */
static void wait_for(struct aif_naming *n, uint64_t ns)
{
	uint64_t until = aif_now_ns() + ns;
	struct timespec t = {.tv_sec = (time_t)(until / AIF_NS_PER_S),
			     .tv_nsec = (long)(until % AIF_NS_PER_S)};

	while (!n->stop && pthread_cond_timedwait(&n->wake, &n->lock, &t) == 0)
		;
}

static void give_way(struct aif_naming *n)
{
	uint64_t cpu = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID), used = cpu - n->used_ns;
	struct rusage usage;

	if (used < PAUSE_EACH_NS || getrusage(RUSAGE_THREAD, &usage) < 0)
		return;
	if (usage.ru_nivcsw != n->preempted) {
		pthread_mutex_lock(&n->lock);
		wait_for(n, AIF_MIN(used * PAUSE_TIMES, PAUSE_MAX_NS));
		pthread_mutex_unlock(&n->lock);
	}
	n->used_ns = cpu;
	n->preempted = usage.ru_nivcsw;
}

static int by_place(const void *a, const void *b)
{
	const struct job *x = a, *y = b;

	if (x->frame.module != y->frame.module)
		return x->frame.module > y->frame.module ? 1 : -1;
	return AIF_ORDER(x->frame.address, y->frame.address);
}

/* Returns whether there was anything to do. */
static bool round_of_names(struct aif_naming *n)
{
	struct job *jobs = n->jobs;
	size_t len = take_jobs(n, jobs);

	/* After the frames: the file behind a frame's module was added before the frame was. */
	learn_files(n);
	if (len)
		qsort(jobs, len, sizeof(*jobs), by_place);
	for (size_t i = 0; i < len; i++) {
		name_frame(n, jobs[i].id, &jobs[i]);
		free(jobs[i].path);
		give_way(n);
	}
	n->next += len;
	return len > 0;
}

/* Returns how often the data of one file were dropped for those of another. */
static uint64_t drops_of(const struct aif_naming *n)
{
	return aif_symbols_drops(n->symbols) + aif_device_names_drops(n->devices);
}

static void *naming_main(void *arg)
{
	struct aif_naming *n = arg;

	uint64_t drops = 0;

	for (bool stop = false, worked = true; worked || !stop;) {
		pthread_mutex_lock(&n->lock);
		if (!worked || drops_of(n) != drops)
			wait_for(n, worked ? GATHER_NS : POLL_NS);
		drops = drops_of(n);
		stop = n->stop; /* asked before the round: nothing comes after it */
		pthread_mutex_unlock(&n->lock);
		worked = round_of_names(n);
	}
	pthread_mutex_lock(&n->lock);
	n->has_ended = true;
	pthread_cond_signal(&n->wake);
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

int aif_naming_new(struct aif_store *s, struct aif_modfiles *files,
		   const struct aif_record_opts *opts, struct aif_naming **ret)
{
	struct aif_naming *n = calloc(1, sizeof(*n));
	pthread_condattr_t monotonic;
	int r;

	if (!n)
		return -ENOMEM;
	n->store = s;
	n->files = files;
	n->keep_code = !opts->no_code;
	n->keep_objects = opts->keep_code;
	n->keep_cpu_code = opts->cpu && !opts->no_code;
	pthread_mutex_init(&n->lock, NULL);
	/* A step of the wall clock must not make names wait for as long. */
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&n->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	n->jobs = calloc(ROUND, sizeof(*n->jobs));
	r = n->jobs ? aif_symbols_new(&n->symbols) : -ENOMEM;
	if (!r)
		aif_symbols_cancel_by(n->symbols, &n->cancel);
	if (!r)
		r = aif_device_names_new(files->objects, &files->others, !opts->argv, &n->devices);
	if (!r)
		r = -pthread_create(&n->thread, NULL, naming_main, n);
	if (r < 0) {
		aif_symbols_free(n->symbols);
		aif_device_names_free(n->devices);
		free(n->jobs);
		free(n);
		return r;
	}
	*ret = n;
	return 0;
}

/* Waits for the thread's end. False if it does not end although it was cancelled. */
static bool await_end(struct aif_naming *n, const atomic_bool *is_impatient)
{
	uint64_t cancelled_ns = 0;
	bool has_ended;

	pthread_mutex_lock(&n->lock);
	n->stop = true;
	pthread_cond_signal(&n->wake);
	while (!n->has_ended) {
		uint64_t now = aif_now_ns(), until = now + POLL_NS;
		struct timespec t = {.tv_sec = (time_t)(until / AIF_NS_PER_S),
				     .tv_nsec = (long)(until % AIF_NS_PER_S)};

		if (atomic_load(is_impatient) && !cancelled_ns) {
			cancelled_ns = now;
			atomic_store(&n->cancel, true);
		}
		if (cancelled_ns && now - cancelled_ns >= CANCEL_NS)
			break;
		pthread_cond_timedwait(&n->wake, &n->lock, &t);
	}
	has_ended = n->has_ended;
	pthread_mutex_unlock(&n->lock);
	return has_ended;
}

bool aif_naming_has(const struct aif_naming *n, size_t frames)
{
	return atomic_load(&n->next) >= frames;
}

bool aif_naming_finish(struct aif_naming *n, const atomic_bool *is_impatient)
{
	if (!n)
		return true;
	if (!await_end(n, is_impatient)) {
		pthread_mutex_lock(&n->store->lock);
		aif_store_loss(n->store, AIF_REASON_NAMES_STOPPED, AIF_NONE, AIF_NONE,
			       n->store->p.frames_len - n->next);
		pthread_mutex_unlock(&n->store->lock);
		return false;
	}
	pthread_join(n->thread, NULL);
	if (n->cancelled) {
		pthread_mutex_lock(&n->store->lock);
		aif_store_loss(n->store, AIF_REASON_NAMES_STOPPED, AIF_NONE, AIF_NONE,
			       n->cancelled);
		pthread_mutex_unlock(&n->store->lock);
	}
	aif_symbols_free(n->symbols);
	aif_device_names_free(n->devices);
	aif_kallsyms_finish(&n->kernel);
	aif_map_finish(&n->known);
	aif_map_finish(&n->coded);
	aif_binaries_finish(&n->binaries);
	aif_map_finish(&n->whole);
	aif_map_finish(&n->slow);
	free(n->jobs);
	pthread_cond_destroy(&n->wake);
	pthread_mutex_destroy(&n->lock);
	free(n);
	return true;
}
