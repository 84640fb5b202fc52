/* SPDX-License-Identifier: Apache-2.0 */
#include "import/host.h"

#include "base/sort.h"

#include <string.h>

void aif_host_finish(struct aif_host *h)
{
	aif_map_finish(&h->frames);
	aif_map_finish(&h->processes);
	aif_map_finish(&h->threads);
	free(h->known);
	free(h->known_threads);
}

uint32_t aif_host_module_of(struct aif_host *h, enum aif_frame_kind kind, uint32_t path,
			    uint32_t build_id)
{
	const char *text;

	if (kind == AIF_FRAME_OS)
		return aif_builder_module(h->b, AIF_MODULE_OS,
					  aif_builder_puts(h->b, AIF_OS_KERNEL));
	if (path == AIF_NONE)
		return AIF_NONE;
	if (kind == AIF_FRAME_PYTHON)
		return aif_builder_module(h->b, AIF_MODULE_SOURCE, path);
	text = aif_profile_str(&h->b->p, path);
	if (!strcmp(text, "[vdso]"))
		return aif_builder_module_build(h->b, AIF_MODULE_VDSO, path, build_id);
	return aif_builder_module_build(
		h->b, text[0] == '/' && text[1] != '/' ? AIF_MODULE_ELF : AIF_MODULE_ANON, path,
		build_id);
}

static uint32_t module_of(struct aif_host *h, enum aif_frame_kind kind, uint32_t path)
{
	return aif_host_module_of(h, kind, path, AIF_NONE);
}

static uint32_t frame_of(struct aif_host *h, struct aif_host_frame f)
{
	struct aif_frame row = {.kind = f.kind};
	size_t compared = offsetof(struct aif_host_frame, frame);
	uint64_t key = aif_hash_bytes(&f, compared), i;

	for (; aif_map_get(&h->frames, key, &i); key++)
		if (!memcmp(&h->known[i], &f, compared))
			return h->known[i].frame;
	if (aif_grow(&h->known, &h->known_cap, h->known_len + 1, sizeof(f)) < 0 ||
	    aif_map_put(&h->frames, key, h->known_len) < 0) {
		h->b->failed = true;
		return AIF_NONE;
	}
	row.module = f.kind == AIF_FRAME_PYTHON ? module_of(h, f.kind, f.file)
						: module_of(h, f.kind, f.module);
	/* No address of one's own: that which is known of is the name. */
	row.address = f.address                    ? f.address
		      : f.kind == AIF_FRAME_PYTHON ? (uint64_t)f.name << 32 | f.line
						   : f.name;
	/* A mark is its own text. */
	f.frame = f.kind == AIF_FRAME_MARK
			  ? aif_builder_frame(h->b, &row)
			  : aif_builder_named_frame(h->b, &row, f.name, f.file, f.line);
	if (f.is_inlined && f.frame != AIF_NONE && h->b->p.frame_names_len)
		h->b->p.frame_names[h->b->p.frame_names_len - 1].inline_depth = 1;
	h->known[h->known_len++] = f;
	return f.frame;
}

uint32_t aif_host_frame(struct aif_host *h, enum aif_frame_kind kind, uint32_t module,
			uint32_t name, uint32_t file, uint32_t line)
{
	return frame_of(
		h,
		(struct aif_host_frame){
			.kind = kind, .module = module, .name = name, .file = file, .line = line});
}

uint32_t aif_host_native(struct aif_host *h, uint32_t module, uint32_t name, uint32_t file,
			 uint32_t line, uint64_t address)
{
	return frame_of(h, (struct aif_host_frame){.kind = AIF_FRAME_NATIVE,
						   .module = module,
						   .name = name,
						   .file = file,
						   .line = line,
						   .address = address});
}

uint32_t aif_host_inlined(struct aif_host *h, enum aif_frame_kind kind, uint32_t module,
			  uint32_t name, uint32_t file, uint32_t line)
{
	return frame_of(h, (struct aif_host_frame){.kind = kind,
						   .module = module,
						   .name = name,
						   .file = file,
						   .line = line,
						   .is_inlined = true});
}

uint32_t aif_host_unnamed(struct aif_host *h, uint32_t module, uint64_t address)
{
	bool is_os = address >> 63;
	struct aif_frame row = {.kind = is_os ? AIF_FRAME_OS : AIF_FRAME_NATIVE,
				.address = is_os ? address & 0xffffffffffff : address};

	row.module = module_of(h, row.kind, module);
	if (row.module == AIF_NONE)
		row.module = aif_builder_module(h->b, AIF_MODULE_ANON,
						aif_builder_puts(h->b, "unknown"));
	return aif_builder_frame(h->b, &row);
}

static bool ends(const char *text, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len >= n && !memcmp(text + len - n, with, n);
}

enum aif_frame_kind aif_host_kind(const char *name, size_t len, const char *file, size_t file_len)
{
	if (!len)
		return AIF_FRAME_NATIVE;
	if ((len > 10 && !memcmp(name, "<built-in ", 10)) ||
	    (len > 11 && !memcmp(name, "nn.Module: ", 11)))
		return AIF_FRAME_PYTHON;
	if (ends(file, file_len, ".py") || (len > 4 && !memcmp(name, "py::", 4)) ||
	    memmem(name, len, ".py)", 4) || memmem(name, len, ".py:", 4))
		return AIF_FRAME_PYTHON;
	return AIF_FRAME_NATIVE;
}

bool aif_host_is_os(const char *module, size_t len, uint64_t address)
{
	static const char *const no[] = {"[vdso]", "[heap]",     "[stack",    "[unknown]",
					 "[anon",  "[vsyscall]", "[uprobes]", "[vvar"};

	if (ends(module, len, "/vmlinux") || (ends(module, len, ".ko") && module[0] == '/'))
		return true;
	if (len < 3 || module[0] != '[')
		return false;
	for (size_t i = 0; i < AIF_ARRAY_LEN(no); i++)
		if (len >= strlen(no[i]) && !memcmp(module, no[i], strlen(no[i])))
			return false;
	if (memmem(module, AIF_MIN(len, (size_t)16), "kernel", 6))
		return true;
	if (address > UINT32_MAX && !(address >> 63)) /* the program's half of 64 bits */
		return false;
	/* "[kernel.kallsyms]" and "[nf_tables]" are; "[JIT app cache]", "[JIT] tid 7" are not. */
	for (size_t i = 1; i + 1 < len; i++)
		if (!(module[i] >= 'a' && module[i] <= 'z') &&
		    !(module[i] >= '0' && module[i] <= '9') && !strchr("_-.", module[i]))
			return false;
	return module[len - 1] == ']';
}

static uint32_t process_of(struct aif_host *h, uint64_t pid, uint32_t name)
{
	struct aif_process row = {.pid = pid < UINT32_MAX ? (uint32_t)pid : 0,
				  .exe = name,
				  .cmdline = name,
				  .host = AIF_NONE,
				  .exit_status = -1};
	uint64_t id;

	if (aif_map_get(&h->processes, pid, &id))
		return (uint32_t)id;
	id = aif_builder_process(h->b, &row);
	h->b->failed |= aif_map_put(&h->processes, pid, id) < 0;
	return (uint32_t)id;
}

uint32_t aif_host_thread(struct aif_host *h, uint64_t pid, uint64_t tid, uint32_t process_name,
			 uint32_t thread_name)
{
	struct aif_host_thread t = {.pid = pid, .tid = tid};
	struct aif_thread row = {.tid = (uint32_t)tid, .name = thread_name};
	uint64_t key = aif_mix64(pid * 31) + tid, i;

	for (; aif_map_get(&h->threads, key, &i); key++)
		if (h->known_threads[i].pid == pid && h->known_threads[i].tid == tid)
			return h->known_threads[i].thread;
	if (aif_grow(&h->known_threads, &h->known_threads_cap, h->known_threads_len + 1,
		     sizeof(t)) < 0 ||
	    aif_map_put(&h->threads, key, h->known_threads_len) < 0) {
		h->b->failed = true;
		return AIF_NONE;
	}
	row.process = process_of(h, pid, process_name);
	t.thread = aif_builder_thread(h->b, &row);
	h->known_threads[h->known_threads_len++] = t;
	return t.thread;
}

uint64_t aif_host_usual_gap(struct aif_builder *b, size_t first)
{
	size_t rows = b->waits_len - first, n = 0;
	uint64_t *gaps = malloc((rows + 1) * sizeof(*gaps)),
		 *counts = calloc(b->p.threads_len + 1, sizeof(*counts)), last = 0, gap = 0;
	uint32_t busiest = 0;

	b->failed |= !gaps || !counts;
	for (size_t i = first; counts && i < b->waits_len; i++)
		counts[b->waits[i].thread]++;
	for (uint32_t t = 0; counts && t < b->p.threads_len; t++)
		if (counts[t] > counts[busiest])
			busiest = t;
	for (size_t i = first; gaps && counts && i < b->waits_len; i++) {
		if (b->waits[i].thread != busiest)
			continue;
		if (last && b->waits[i].time > last)
			gaps[n++] = b->waits[i].time - last;
		last = b->waits[i].time;
	}
	if (n) {
		qsort(gaps, n, sizeof(*gaps), aif_by_u64);
		gap = gaps[n / 2];
	}
	free(gaps);
	free(counts);
	return gap;
}
