/* SPDX-License-Identifier: Apache-2.0 */
/*
 * golden_profiles full|sampled FILE CUBINS: writes a profile that is the same on each machine and each day, for golden.sh.
 * CUBINS is the directory tests/golden/cubin.
 */
#include "golden_profiles.h"

#define DEVICE_CLOCK_START UINT64_C(77000000000)

void golden_must(struct golden *g, int r)
{
	if (r >= 0)
		return;
	fprintf(stderr, "golden_profiles: %d %s\n", r, g->err.text);
	exit(1);
}

uint32_t golden_str(struct golden *g, const char *text)
{
	return text ? aif_strset_puts(&g->p.strings, text) : AIF_NONE;
}

void golden_meta(struct golden *g, const char *key, const char *value)
{
	FIXTURE_ADD(&g->p, meta, golden_str(g, key), golden_str(g, value));
}

uint32_t golden_module(struct golden *g, uint32_t kind, const char *path, const char *build_id)
{
	FIXTURE_ADD(&g->p, modules, .kind = kind, .path = golden_str(g, path),
		    .build_id = golden_str(g, build_id), .kernel = AIF_NONE, .program = AIF_NONE);
	return (uint32_t)g->p.modules_len - 1;
}

uint32_t golden_frame(struct golden *g, uint32_t kind, uint32_t module, const char *name,
		      const char *file, uint32_t line)
{
	uint32_t id = (uint32_t)g->p.frames_len;

	FIXTURE_ADD(&g->p, frames, .kind = kind, .module = module, .address = 0x1000 + 0x40 * id);
	if (name)
		FIXTURE_ADD(&g->p, frame_names, .frame = id, .name = golden_str(g, name),
			    .file = golden_str(g, file), .line = line);
	return id;
}

void golden_inlined(struct golden *g, uint32_t depth, const char *name, const char *file,
		    uint32_t line)
{
	FIXTURE_ADD(&g->p, frame_names, .frame = (uint32_t)g->p.frames_len - 1,
		    .inline_depth = depth, .name = golden_str(g, name), .file = golden_str(g, file),
		    .line = line);
}

uint32_t golden_named(struct golden *g, uint32_t kind, const char *name)
{
	FIXTURE_ADD(&g->p, frames, .kind = kind, .module = AIF_NONE,
		    .address = golden_str(g, name));
	return (uint32_t)g->p.frames_len - 1;
}

uint32_t golden_stack(struct golden *g, uint32_t parent, const uint32_t *frames, size_t len,
		      uint32_t flags)
{
	for (size_t i = 0; i < len; i++) {
		uint32_t depth = parent == AIF_NONE ? 1 : g->p.stacks[parent].depth + 1;

		FIXTURE_ADD(&g->p, stacks, .parent = parent, .frame = frames[i], .depth = depth,
			    .flags = i + 1 == len ? flags : 0);
		parent = (uint32_t)g->p.stacks_len - 1;
	}
	return parent;
}

uint32_t golden_kernel(struct golden *g, const char *name, size_t len, uint32_t program)
{
	uint32_t id = aif_strset_put(&g->p.strings, name, (uint32_t)len);

	FIXTURE_ADD(&g->p, kernels, .name = id, .short_name = AIF_NONE, .program = program);
	return (uint32_t)g->p.kernels_len - 1;
}

/* Three kinds of clocks: the host's, the calendar's, and a device's own that runs at 1.25 ticks a ns. */
uint64_t golden_stamp(const struct golden *g, uint32_t device, uint64_t ns)
{
	uint32_t clock = g->p.devices[device].clock;

	if (clock == AIF_CLOCK_REALTIME)
		return GOLDEN_DATE + ns;
	if (clock >= AIF_CLOCK_DEVICE)
		return DEVICE_CLOCK_START + ns + ns / 4;
	return GOLDEN_START + ns;
}

void golden_launch(struct golden *g, struct golden_launch l)
{
	const struct aif_stream *s = &g->p.streams[l.stream];
	uint64_t number = UINT64_C(1) << 40 | ++g->launches;
	uint32_t nodes = l.nodes ? l.nodes : 1;
	uint64_t each = (l.end - l.start) / nodes;
	struct aif_launch_row row = {.launch = number,
				     .time = GOLDEN_START + l.at,
				     .thread = l.thread,
				     .kind = l.kind,
				     .kernel = l.kernel,
				     .device = s->device,
				     .stream = l.stream,
				     .stack = l.stack,
				     .shape = l.shape,
				     .bytes = l.bytes};

	GOLDEN_ROW(g, launches, &row);
	for (uint32_t i = 0; l.start && i < nodes; i++) {
		struct aif_exec_row x = {
			.launch = number,
			.start = golden_stamp(g, s->device, l.start + i * each),
			.end = golden_stamp(g, s->device, l.start + (i + 1) * each - 400 * i),
			.clock = g->p.devices[s->device].clock,
			.process = s->process,
			.kind = l.kind,
			.kernel = l.kernel,
			.device = s->device,
			.stream = l.stream,
			.bytes = l.bytes,
			.graph = l.graph,
			.node = l.graph ? i + 1 : 0,
			.registers = l.registers,
			.shared_bytes = l.shared_bytes};

		GOLDEN_ROW(g, execs, &x);
	}
}

#define WRITE(g, table)                                                                           \
	do {                                                                                      \
		golden_must(g, aif_writer_##table((g)->w, (g)->rows.table, (g)->rows.table##_len, \
						  &(g)->err));                                    \
		(g)->rows.table##_len = 0;                                                        \
	} while (0)

void golden_write_rows(struct golden *g)
{
	WRITE(g, launches);
	WRITE(g, execs);
	WRITE(g, samples);
	WRITE(g, windows);
	WRITE(g, cpu);
	WRITE(g, ops);
	WRITE(g, counters);
	WRITE(g, memory);
	WRITE(g, step_sums);
}

static void free_rows(struct golden *g)
{
	free(g->rows.launches);
	free(g->rows.execs);
	free(g->rows.samples);
	free(g->rows.windows);
	free(g->rows.cpu);
	free(g->rows.ops);
	free(g->rows.counters);
	free(g->rows.memory);
	free(g->rows.step_sums);
}

int main(int argc, char **argv)
{
	struct golden g = {0};
	struct aif_profile read;
	bool is_full;

	if (argc != 4 || (strcmp(argv[1], "full") && strcmp(argv[1], "sampled"))) {
		fprintf(stderr, "usage: golden_profiles full|sampled FILE CUBINS\n");
		return 2;
	}
	is_full = !strcmp(argv[1], "full");
	g.cubins = argv[3];
	g.p.start_ns = GOLDEN_START;
	golden_must(&g, aif_writer_new(argv[2], GOLDEN_START, &g.w, &g.err));
	if (is_full)
		golden_full(&g);
	else
		golden_sampled(&g);
	golden_write_rows(&g);
	golden_must(&g, aif_writer_tables(g.w, &g.p, &g.err));
	golden_must(&g, aif_writer_finish(g.w, g.p.end_ns, &g.err));
	golden_must(&g, aif_profile_open(argv[2], &read, &g.err));
	if (is_full)
		golden_full_listings(&g, &read);
	aif_profile_finish(&read);
	aif_profile_finish(&g.p);
	free_rows(&g);
	return 0;
}
