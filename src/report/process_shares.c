/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"

#include "analysis/traits.h"
#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

/* The number of processes that fit on a line of a terminal. */
#define SHOWN_PROCESSES ((size_t)4)

struct share {
	uint64_t width;
	uint32_t process;
};

static int by_width(const void *pa, const void *pb)
{
	const struct share *a = pa, *b = pb;

	return AIF_ORDER(b->width, a->width) ?: AIF_ORDER(a->process, b->process);
}

void aif_report_processes(const struct aif_profile *p, const struct aif_attribution *a,
			  const struct aif_process_names *names, struct aif_buf *out)
{
	struct share *shares = aif_memory_calloc(p->processes_len + 1, sizeof(*shares));
	bool is_untimed = aif_is_untimed(p, a);
	uint64_t whole = 0;
	size_t n = 0;

	for (uint32_t i = 0; shares && i < p->processes_len; i++)
		shares[i].process = i;
	for (size_t i = 0; shares && i < a->rows_len; i++)
		if (a->rows[i].process < p->processes_len) {
			uint64_t width = is_untimed ? a->rows[i].samples : a->rows[i].wall_ns;

			shares[a->rows[i].process].width += width;
			whole += width;
		}
	if (shares)
		qsort(shares, p->processes_len, sizeof(*shares), by_width);
	while (shares && n < p->processes_len && shares[n].width)
		n++;
	for (size_t i = 0; i < AIF_MIN(n, SHOWN_PROCESSES) && n > 1; i++) {
		const char *name = aif_process_names_show(names, shares[i].process);

		aif_buf_puts(out, i ? ", " : "");
		if (name)
			aif_name_sanitize(name, strlen(name), out);
		else
			aif_buf_printf(out, "%" PRIu32, p->processes[shares[i].process].pid);
		aif_buf_putc(out, ' ');
		aif_human_share(out, aif_share_ppm(shares[i].width, whole));
	}
	if (n > SHOWN_PROCESSES)
		aif_buf_printf(out, ", and %zu more", n - SHOWN_PROCESSES);
	free(shares);
}
