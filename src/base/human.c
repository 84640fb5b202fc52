/* SPDX-License-Identifier: Apache-2.0 */
#include "base/human.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DAY_NS  (UINT64_C(86400) * AIF_NS_PER_S)
#define YEAR_NS (UINT64_C(31556952) * AIF_NS_PER_S)

void aif_human_ns(struct aif_buf *b, uint64_t ns)
{
	if (ns < 1000)
		aif_buf_printf(b, "%" PRIu64 " ns", ns);
	else if (ns < 1000000)
		aif_buf_printf(b, "%.*f us", ns < 100000 ? 1 : 0, (double)ns / 1e3);
	else if (ns < AIF_NS_PER_S)
		aif_buf_printf(b, "%.*f ms", ns < 100000000 ? 1 : 0, (double)ns / 1e6);
	else if (ns < 2 * DAY_NS)
		aif_buf_printf(b, "%.2f s", (double)ns / 1e9);
	else if (ns < 2 * YEAR_NS)
		aif_buf_printf(b, "%.1f days", (double)ns / DAY_NS);
	else
		aif_buf_printf(b, "%.1f years", (double)ns / YEAR_NS);
}

void aif_human_torch_ns(struct aif_buf *b, double ns)
{
	if (ns >= 1e9)
		aif_buf_printf(b, "%.3fs", ns / 1e9);
	else if (ns >= 1e6)
		aif_buf_printf(b, "%.3fms", ns / 1e6);
	else
		aif_buf_printf(b, "%.3fus", ns / 1e3);
}

void aif_human_torch_share(struct aif_buf *b, uint64_t ppm)
{
	aif_buf_printf(b, "%.2f%%", (double)ppm / 1e4);
}

void aif_human_torch_bytes(struct aif_buf *b, int64_t bytes)
{
	double size = (double)bytes, most = size < 0 ? -size : size;

	if (most >= 1 << 30)
		aif_buf_printf(b, "%.2f Gb", size / (1 << 30));
	else if (most >= 1 << 20)
		aif_buf_printf(b, "%.2f Mb", size / (1 << 20));
	else if (most >= 1 << 10)
		aif_buf_printf(b, "%.2f Kb", size / (1 << 10));
	else
		aif_buf_printf(b, "%" PRId64 " b", bytes);
}

void aif_human_bytes(struct aif_buf *b, uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	double v = (double)bytes / 1024;
	size_t u = 0;

	if (bytes < 1024) {
		aif_buf_printf(b, "%" PRIu64 " B", bytes);
		return;
	}
	for (; v >= 1024 && u + 1 < AIF_ARRAY_LEN(units); u++)
		v /= 1024;
	aif_buf_printf(b, "%.1f %s", v, units[u]);
}

void aif_human_share(struct aif_buf *b, uint64_t ppm)
{
	aif_buf_printf(b, "%.*f %%", ppm < 100000 ? 2 : 1, (double)ppm / 1e4);
}

void aif_human_count(struct aif_buf *b, uint64_t n)
{
	char digits[32];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			aif_buf_putc(b, ',');
		aif_buf_putc(b, digits[i]);
	}
}

void aif_human_counted(struct aif_buf *b, uint64_t n, const char *noun)
{
	size_t len = strlen(noun);
	char last = len ? noun[len - 1] : '\0';

	aif_human_count(b, n);
	aif_buf_putc(b, ' ');
	aif_buf_puts(b, noun);
	if (n != 1) /* launches, processes */
		aif_buf_puts(b, last == 'h' || last == 's' ? "es" : "s");
}

void aif_human_energy(struct aif_buf *out, double j)
{
	if (j >= 1e6)
		aif_buf_printf(out, "%.3g MJ", j / 1e6);
	else if (j >= 1e3)
		aif_buf_printf(out, "%.3g kJ", j / 1e3);
	else if (j >= 1)
		aif_buf_printf(out, "%.3g J", j);
	else
		aif_buf_printf(out, "%.3g mJ", j * 1e3);
}
