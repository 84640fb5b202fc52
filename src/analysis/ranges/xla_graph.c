/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions of XLA that the nodes of a replayed graph are of. XLA records a command buffer inside the buffer's own
 * range, one range for each command, and again where a command's addresses have changed; then it launches the graph:
 *
 *   XlaModule | Thunk command_buffer_1 | Thunk fusion.1, Thunk cublas-lt-matmul.2, ...
 *                                      | cuGraphLaunch: kernels fusion_1, sm90_xmma_gemm_...
 *
 * The first time it does so when the module begins, before the buffer's range. A replay is in the buffer's range only. The
 * commands of the graph are the most that were in it before one launch; or, if kernels are left over, the most before it
 * in the module. They are aligned with the kernels of a replay in the order of time, as sequences: a kernel that XLA compiled has the name of
 * its instruction, or of another that does the same ("fusion_55" for fusion.54); kernels of libraries are those of the
 * instructions in between that have no such kernel. Where a tenth of XLA's own kernels finds no instruction, the graph is
 * another's, or ran in another order: nothing is said then.
 */
#include "analysis/ranges/building.h"

#include "profile/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Ranges of a thread that are looked through for commands, and commands times kernels of a graph. */
#define MOST_COMMANDS 8192
#define MOST_CELLS    (4U << 20)

/* Scores of a pair. */
enum { NO_PAIR = 0, LIBRARY_MORE = 1, LIBRARY = 3, SAME_BASE = 5, SAME = 8 };

struct graph_exec {
	uint64_t launch, start;
	uint32_t process, graph, node, kernel; /* kernel AIF_NONE: a copy or fill */
};

struct graph_launch {
	uint32_t thread;
	int64_t at;
};

/* Replays of a graph. */
struct graph {
	const struct graph_exec *execs;
	size_t len;
};

struct graphs {
	struct aif_range_building *b;
	AIF_TABLE(graph_exec, execs);
	AIF_TABLE(graph_launch, launches);
	struct aif_map by_launch;
	/* The commands of the graph that is looked at, names of the index. */
	struct commands {
		uint32_t *at;
		size_t len, cap;
	} in_buffer, in_module;
	const struct commands *commands; /* one of these */
	struct aif_map node_names;       /* by node: its command's index */
	size_t left_over;                /* kernels that have none */
};

/* ---- reading --------------------------------------------------------------------------------- */

static int take_execs(void *arg, const struct aif_exec_row *rows, size_t n)
{
	struct graphs *g = arg;

	for (size_t i = 0; i < n; i++) {
		const struct aif_exec_row *e = &rows[i];

		if (!e->graph || e->process == AIF_NONE)
			continue;
		if (aif_grow(&g->execs, &g->execs_cap, g->execs_len + 1, sizeof(*g->execs)) < 0)
			return -ENOMEM;
		g->execs[g->execs_len++] = (struct graph_exec){
			.launch = e->launch,
			.start = e->start,
			.process = e->process,
			.graph = e->graph,
			.node = e->node,
			.kernel = e->kind == AIF_LAUNCH_KERNEL ? e->kernel : AIF_NONE};
		if (aif_map_put(&g->by_launch, e->launch, UINT64_MAX) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int take_launches(void *arg, const struct aif_launch_row *rows, size_t n)
{
	struct graphs *g = arg;
	uint64_t known;

	for (size_t i = 0; i < n; i++) {
		const struct aif_launch_row *l = &rows[i];

		if (l->thread == AIF_NONE || !aif_map_get(&g->by_launch, l->launch, &known))
			continue;
		if (aif_grow(&g->launches, &g->launches_cap, g->launches_len + 1,
			     sizeof(*g->launches)) < 0 ||
		    aif_map_put(&g->by_launch, l->launch, g->launches_len) < 0)
			return -ENOMEM;
		g->launches[g->launches_len++] = (struct graph_launch){
			l->thread,
			aif_timeline_map(g->b->timeline, AIF_CLOCK_MONOTONIC,
					 g->b->p->threads[l->thread].process, l->time, NULL)};
	}
	return 0;
}

static const struct graph_launch *launch_of(const struct graphs *g, uint64_t launch)
{
	uint64_t i;

	return aif_map_get(&g->by_launch, launch, &i) && i < g->launches_len ? &g->launches[i]
									     : NULL;
}

static int by_replay(const void *a, const void *b)
{
	const struct graph_exec *x = a, *y = b;

	return AIF_ORDER(x->process, y->process) ?: AIF_ORDER(x->graph, y->graph)
	       ?: AIF_ORDER(x->launch, y->launch) ?: AIF_ORDER(x->start, y->start)
	       ?: AIF_ORDER(x->node, y->node);
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Finds the first range of the thread that begins behind that time. */
static size_t range_after(const struct aif_range_building *b, uint32_t thread, int64_t at)
{
	return AIF_BISECT(mid, 0, b->len,
			  b->ranges[mid].thread < thread ||
				  (b->ranges[mid].thread == thread && b->ranges[mid].start <= at));
}

/* Takes the instructions whose ranges are [from, end), if they are more than those of other launches. */
static int take_longest(struct graphs *g, struct commands *c, size_t from, size_t end,
			int64_t until)
{
	const struct aif_range_building *b = g->b;
	size_t n = 0;

	for (size_t i = from; i < end; i++)
		n += b->names[b->ranges[i].name].is_thunk && b->ranges[i].end <= until;
	if (n <= c->len)
		return 0;
	if (aif_grow(&c->at, &c->cap, n, sizeof(*c->at)) < 0)
		return -ENOMEM;
	c->len = 0;
	for (size_t i = from; i < end; i++)
		if (b->names[b->ranges[i].name].is_thunk && b->ranges[i].end <= until)
			c->at[c->len++] = b->ranges[i].name;
	return 0;
}

/* Takes the commands that were recorded before a launch: in the buffer's range, which it is in, and in what is around. */
static int take_commands(struct graphs *g, const struct graph_launch *l)
{
	const struct aif_range_building *b = g->b;
	size_t end = range_after(b, l->thread, l->at), from = end, buffer = SIZE_MAX;
	int r;

	while (from && end - from < MOST_COMMANDS && b->ranges[from - 1].thread == l->thread) {
		const struct aif_range *range = &b->ranges[--from];

		if (range->end <= l->at)
			continue;
		if (buffer != SIZE_MAX)
			break;
		if (!b->names[range->name].is_thunk)
			return 0;
		buffer = from;
	}
	if (buffer == SIZE_MAX)
		return 0;
	r = take_longest(g, &g->in_buffer, buffer, end, l->at);
	return r ? r : take_longest(g, &g->in_module, from, buffer, b->ranges[buffer].start);
}

/* The name of a command's instruction. */
static const char *instruction(const struct graphs *g, size_t command)
{
	const struct aif_range_name *n = &g->b->names[g->commands->at[command]];

	for (uint32_t i = n->len; i-- > 0;)
		if (g->b->elements[n->first + i].kind == AIF_RANGE_HLO)
			return aif_strset_get(&g->b->x->names, g->b->elements[n->first + i].name,
					      NULL);
	return "";
}

/* ---- alignment ------------------------------------------------------------------------------- */

/* A name as XLA gives it to a kernel, and without the numbers at its end. */
struct plain {
	uint32_t whole, base; /* in .texts */
	bool is_library;
};

struct alignment {
	struct graphs *g;
	const struct graph_exec **kernels; /* of one replay, in the order of time */
	size_t rows, columns;
	struct aif_strset texts;
	struct plain *of_kernel, *of_command;
	uint32_t *pair, *best; /* by (row + 1, column + 1): with this pair, of all before */
};

static int plain_name(struct alignment *a, const char *name, struct plain *ret)
{
	struct aif_buf b = {0};
	size_t len;

	for (const char *c = name; *c; c++)
		aif_buf_putc(&b, *c == '.' || *c == '-' ? '_' : *c);
	len = b.len;
	ret->whole = aif_buf_failed(&b) ? AIF_STR_NONE : aif_strset_put(&a->texts, b.data, len);
	for (size_t digits = len; digits; len = digits) {
		while (digits && b.data[digits - 1] >= '0' && b.data[digits - 1] <= '9')
			digits--;
		if (digits == len || !digits || b.data[--digits] != '_')
			break;
	}
	ret->base = aif_buf_failed(&b) ? AIF_STR_NONE : aif_strset_put(&a->texts, b.data, len);
	aif_buf_finish(&b);
	return ret->whole == AIF_STR_NONE || ret->base == AIF_STR_NONE ? -ENOMEM : 0;
}

/* Notes which names of one side have no base of the other. */
static int note_libraries(struct plain *names, size_t n, const struct plain *others, size_t m)
{
	struct aif_map bases = {0};
	uint64_t one;
	int r = 0;

	for (size_t i = 0; i < m && !r; i++)
		r = aif_map_put(&bases, others[i].base, 1);
	for (size_t i = 0; i < n; i++)
		names[i].is_library = !aif_map_get(&bases, names[i].base, &one);
	aif_map_finish(&bases);
	return r;
}

static int name_both(struct alignment *a)
{
	const struct aif_profile *p = a->g->b->p;
	int r = 0;

	for (size_t i = 0; i < a->rows && !r; i++)
		r = plain_name(a, aif_profile_str(p, p->kernels[a->kernels[i]->kernel].name),
			       &a->of_kernel[i]);
	for (size_t i = 0; i < a->columns && !r; i++)
		r = plain_name(a, instruction(a->g, i), &a->of_command[i]);
	if (!r)
		r = note_libraries(a->of_kernel, a->rows, a->of_command, a->columns);
	if (!r)
		r = note_libraries(a->of_command, a->columns, a->of_kernel, a->rows);
	return r;
}

static uint32_t score(const struct alignment *a, size_t row, size_t column)
{
	const struct plain *k = &a->of_kernel[row], *c = &a->of_command[column];

	if (k->whole == c->whole)
		return SAME;
	if (k->base == c->base)
		return SAME_BASE;
	return k->is_library && c->is_library ? LIBRARY : NO_PAIR;
}

static size_t cell(const struct alignment *a, size_t row, size_t column)
{
	return row * (a->columns + 1) + column;
}

/* True if the best pair of that cell's command has the kernel before it, too. */
static bool is_more(const struct alignment *a, size_t row, size_t column)
{
	return row && column && a->of_kernel[row].is_library && a->of_kernel[row - 1].is_library &&
	       a->pair[cell(a, row, column)] &&
	       a->pair[cell(a, row + 1, column)] == a->pair[cell(a, row, column)] + LIBRARY_MORE;
}

static void fill_cells(struct alignment *a)
{
	for (size_t i = 1; i <= a->rows; i++)
		for (size_t j = 1; j <= a->columns; j++) {
			uint32_t s = score(a, i - 1, j - 1), *pair = &a->pair[cell(a, i, j)];
			uint32_t before = a->pair[cell(a, i - 1, j)];

			*pair = s ? a->best[cell(a, i - 1, j - 1)] + s : 0;
			if (s == LIBRARY && before && i > 1 && a->of_kernel[i - 2].is_library &&
			    before + LIBRARY_MORE > *pair)
				*pair = before + LIBRARY_MORE;
			a->best[cell(a, i, j)] =
				AIF_MAX(*pair, AIF_MAX(a->best[cell(a, i - 1, j)],
						       a->best[cell(a, i, j - 1)]));
		}
}

static void forget(struct graphs *g)
{
	aif_map_finish(&g->node_names);
	g->node_names = (struct aif_map){0};
}

/* Gives the nodes of the pairs their commands, from the last one on. */
static int take_pairs(struct alignment *a)
{
	size_t i = a->rows, j = a->columns, own = 0, unpaired = 0, left_over = 0;
	int r = 0;

	for (size_t k = 0; k < a->rows; k++)
		own += !a->of_kernel[k].is_library;
	while (i && !r) {
		if (!j || a->best[cell(a, i, j)] == a->best[cell(a, i - 1, j)]) {
			unpaired += !a->of_kernel[i - 1].is_library;
			left_over++;
			i--;
			continue;
		}
		if (a->best[cell(a, i, j)] == a->best[cell(a, i, j - 1)]) {
			j--;
			continue;
		}
		r = aif_map_put(&a->g->node_names, a->kernels[i - 1]->node, j - 1);
		for (; !r && i > 1 && is_more(a, i - 1, j); i--)
			r = aif_map_put(&a->g->node_names, a->kernels[i - 2]->node, j - 1);
		i--;
		j--;
	}
	a->g->left_over = left_over;
	if (unpaired > own / 10) {
		forget(a->g);
		a->g->left_over = a->rows;
	}
	return r;
}

/* Adds fills: a library writes before its kernel, for the same command. */
static int take_fills(struct graphs *g, const struct graph_exec *replay, size_t n)
{
	const struct aif_profile *p = g->b->p;
	uint64_t command = 0;
	bool is_known = false;
	int r = 0;

	for (size_t i = n; i-- > 0 && !r;) {
		if (replay[i].kernel == AIF_NONE) {
			if (is_known)
				r = aif_map_put(&g->node_names, replay[i].node, command);
			continue;
		}
		is_known = aif_map_get(&g->node_names, replay[i].node, &command) &&
			   p->kernels[replay[i].kernel].name != AIF_NONE;
	}
	return r;
}

/* Finds the commands of a replay's nodes. */
static int align(struct graphs *g, const struct commands *commands, const struct graph_exec *replay,
		 size_t n)
{
	struct alignment a = {.g = g, .columns = commands->len};
	size_t cells;
	int r;

	forget(g);
	g->commands = commands;
	g->left_over = n;

	a.kernels = malloc((n + 1) * sizeof(*a.kernels));
	if (!a.kernels)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (replay[i].kernel != AIF_NONE)
			a.kernels[a.rows++] = &replay[i];
	if (!a.rows || !a.columns || a.rows > MOST_CELLS / a.columns) {
		free(a.kernels);
		return 0;
	}
	cells = (a.rows + 1) * (a.columns + 1);
	a.of_kernel = calloc(a.rows, sizeof(*a.of_kernel));
	a.of_command = calloc(a.columns, sizeof(*a.of_command));
	a.pair = calloc(cells, sizeof(*a.pair));
	a.best = calloc(cells, sizeof(*a.best));
	r = a.of_kernel && a.of_command && a.pair && a.best ? name_both(&a) : -ENOMEM;
	if (!r) {
		fill_cells(&a);
		r = take_pairs(&a);
	}
	if (!r)
		r = take_fills(g, replay, n);
	aif_strset_finish(&a.texts);
	free(a.kernels);
	free(a.of_kernel);
	free(a.of_command);
	free(a.pair);
	free(a.best);
	return r;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static int add_command(struct graphs *g, uint32_t name)
{
	const struct aif_range_name *n = &g->b->names[name];
	struct aif_range_index *x = g->b->x;
	struct aif_range_command c = {.name = n->string, .payload = n->payload};

	if (aif_grow(&x->commands, &x->commands_cap, x->commands_len + 1, sizeof(*x->commands)) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->len; i++)
		c.is_kept |= g->b->elements[n->first + i].is_kept;
	x->commands[x->commands_len++] = c;
	return 0;
}

/* Says in which chain each node of each replay of a graph is. */
static int place_nodes(struct graphs *g, const struct graph *graph)
{
	struct aif_range_index *x = g->b->x;
	uint64_t number = x->graphs.len, node, command, placed;
	int r = aif_map_put(&x->graphs, (uint64_t)graph->execs->process << 32 | graph->execs->graph,
			    number);

	for (size_t i = 0; i < graph->len && !r; i++) {
		const struct graph_exec *e = &graph->execs[i];
		const struct graph_launch *l = launch_of(g, e->launch);
		uint64_t key = number << 32 | e->node;
		uint32_t chain, to;
		bool is_other;

		if (!l || !aif_map_get(&g->node_names, e->node, &command))
			continue;
		if (!aif_map_get(&x->nodes, key, &node)) {
			node = x->nodes.len;
			r = aif_map_put(&x->nodes, key, node);
			if (!r)
				r = add_command(g, g->commands->at[command]);
		}
		chain = aif_range_index_of_launch(x, l->thread, l->at, &is_other);
		if (r || chain == AIF_NONE ||
		    aif_map_get(&x->placed, (uint64_t)chain << 32 | node, &placed))
			continue;
		r = aif_range_chain_of(g->b, chain, g->commands->at[command], true, &to);
		if (!r)
			r = aif_map_put(&x->placed, (uint64_t)chain << 32 | node, to);
	}
	return r;
}

static int add_graph(struct graphs *g, const struct graph *graph)
{
	const struct graph_exec *replay = NULL;
	size_t most = 0, n, left_over;
	int r = 0;

	g->in_buffer.len = g->in_module.len = 0;
	for (size_t i = 0; i < graph->len && !r; i += n) {
		const struct graph_launch *l = launch_of(g, graph->execs[i].launch);

		for (n = 1;
		     i + n < graph->len && graph->execs[i + n].launch == graph->execs[i].launch;)
			n++;
		if (n > most) {
			most = n;
			replay = &graph->execs[i];
		}
		if (l)
			r = take_commands(g, l);
	}
	if (!r)
		r = align(g, &g->in_buffer, replay, most);
	if (!r && g->left_over && g->in_module.len) {
		left_over = g->left_over;
		r = align(g, &g->in_module, replay, most);
		if (!r && g->left_over >= left_over)
			r = align(g, &g->in_buffer, replay, most);
	}
	if (!r)
		r = place_nodes(g, graph);
	forget(g);
	return r;
}

int aif_range_graphs(struct aif_range_building *b)
{
	struct graphs g = {.b = b};
	int r = aif_profile_execs(b->p, take_execs, &g, &b->x->damaged);

	if (!r && g.execs_len)
		r = aif_profile_launches(b->p, take_launches, &g, &b->x->damaged);
	if (g.execs_len)
		qsort(g.execs, g.execs_len, sizeof(*g.execs), by_replay);
	for (size_t i = 0, n; i < g.execs_len && !r; i += n) {
		const struct graph_exec *e = &g.execs[i];

		for (n = 1;
		     i + n < g.execs_len && e[n].process == e->process && e[n].graph == e->graph;)
			n++;
		r = add_graph(&g, &(struct graph){e, n});
	}
	free(g.execs);
	free(g.launches);
	free(g.in_buffer.at);
	free(g.in_module.at);
	aif_map_finish(&g.by_launch);
	return r;
}

/* Finds the node's number. */
static bool find_node(const struct aif_range_index *x, uint32_t process, uint32_t graph,
		      uint32_t node, uint64_t *ret)
{
	uint64_t number;

	return graph && aif_map_get(&x->graphs, (uint64_t)process << 32 | graph, &number) &&
	       aif_map_get(&x->nodes, number << 32 | node, ret);
}

uint32_t aif_range_index_node(const struct aif_range_index *x, uint32_t chain, uint32_t process,
			      uint32_t graph, uint32_t node)
{
	uint64_t id, placed;

	return chain != AIF_NONE && find_node(x, process, graph, node, &id) &&
			       aif_map_get(&x->placed, (uint64_t)chain << 32 | id, &placed)
		       ? (uint32_t)placed
		       : chain;
}

bool aif_range_index_command(const struct aif_range_index *x, uint32_t process, uint32_t graph,
			     uint32_t node, uint32_t *ret_name, uint32_t *ret_payload)
{
	uint64_t id;

	if (!find_node(x, process, graph, node, &id))
		return false;
	*ret_name = x->commands[id].name;
	*ret_payload = x->commands[id].payload;
	return true;
}

bool aif_range_index_keeps_node(const struct aif_range_index *x, uint32_t process, uint32_t graph,
				uint32_t node)
{
	uint64_t id;

	return find_node(x, process, graph, node, &id) && x->commands[id].is_kept;
}
