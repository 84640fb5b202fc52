/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "symbolize/symbolize.h"

#include "base/clock.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/*
 * Look-ups a second in a library with as many functions as libtorch_cpu has, .symtab only, C++ names;
 * beside elfutils' dwfl_module_addrname, interleaved, at the same addresses (fewer, for it searches all
 * symbols each time; and it gives mangled names).
 */
enum {
	FUNCTIONS = 220000,
	FUNCTION_BYTES = 64,
	LOOKUPS = 50000,
	PEER_LOOKUPS = 50,
	MAX_ROUNDS = 101
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static int build_library(char *dir, char *path, size_t max)
{
	char source[128], command[512];
	FILE *f;
	int r;

	if (!mkdtemp(dir))
		return -1;
	snprintf(source, sizeof(source), "%s/big.s", dir);
	snprintf(path, max, "%s/libbig.so", dir);
	f = fopen(source, "w");
	if (!f)
		return -1;
	fprintf(f, ".text\n");
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		char name[128];

		snprintf(
			name, sizeof(name),
			"_ZN2at6native12op_%08u_22vectorized_elementwiseIfLi4EEEvPT_S3_RKSt6vectorIiSaIiEE",
			i);
		fprintf(f, ".p2align 6\n.type %s,@function\n%s: nop\n ret\n.skip %u\n.size %s,%u\n",
			name, name, FUNCTION_BYTES - 4, name, FUNCTION_BYTES - 2);
	}
	fclose(f);
	snprintf(command, sizeof(command), "cc -shared -nostdlib -o '%s' '%s' && rm '%s'", path,
		 source, source);
	r = system(command);
	return r;
}

static double resident_mb(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && fscanf(f, "%*d %ld", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static int by_value(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return (a > b) - (a < b);
}

static void print_row(const char *what, double *v, size_t n, const char *unit)
{
	qsort(v, n, sizeof(*v), by_value);
	printf("%-40s %10.3g %s  [%.3g .. %.3g]\n", what, v[n / 2], unit, v[n / 10],
	       v[n - 1 - n / 10]);
}

int main(int argc, char **argv)
{
	static double ours[MAX_ROUNDS], theirs[MAX_ROUNDS], ratio[MAX_ROUNDS];
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 11;
	char dir[] = "/tmp/aif-bench-XXXXXX", path[128];
	uint64_t t, text = 0x1000, x = 88172645463325252u, wrong = 0;
	struct aif_symbol symbol[4];
	struct aif_symbols *s;
	double before;
	Dwfl *dwfl;
	Dwfl_Module *module;
	GElf_Addr bias;

	if (!rounds || rounds > MAX_ROUNDS || build_library(dir, path, sizeof(path)) ||
	    aif_symbols_new(&s) < 0) {
		fprintf(stderr, "usage: bench_symbolize [rounds, at most %d]\n", MAX_ROUNDS);
		return 1;
	}
	before = resident_mb();
	t = aif_now_ns();
	aif_symbols_module(s, 0, open(path, O_RDONLY | O_CLOEXEC), path, NULL);
	aif_symbols_resolve(s, 0, text, symbol, AIF_ARRAY_LEN(symbol));
	printf("%d functions; first look-up %.1f ms, memory kept %.1f MB\n", FUNCTIONS,
	       (double)(aif_now_ns() - t) / 1e6, resident_mb() - before);

	dwfl = dwfl_begin(&callbacks);
	dwfl_report_begin(dwfl);
	module = dwfl_report_elf(dwfl, "big", path, -1, 0, false);
	dwfl_report_end(dwfl, NULL, NULL);
	if (!module || !dwfl_module_getelf(module, &bias))
		return 1;
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t again = x;

		t = aif_now_ns();
		for (unsigned k = 0; k < LOOKUPS; k++) {
			uint64_t at = text + next_random(&x) % FUNCTIONS * FUNCTION_BYTES + 1;

			aif_symbols_resolve(s, 0, at, symbol, AIF_ARRAY_LEN(symbol));
			wrong += (unsigned)atoi(symbol[0].name + strlen("void at::native::op_")) !=
				 (at - text) / FUNCTION_BYTES;
		}
		ours[i] = LOOKUPS * 1e9 / (double)(aif_now_ns() - t);
		x = again;
		t = aif_now_ns();
		for (unsigned k = 0; k < PEER_LOOKUPS; k++) {
			uint64_t at = text + next_random(&x) % FUNCTIONS * FUNCTION_BYTES + 1;

			wrong += !dwfl_module_addrname(module, bias + at);
		}
		theirs[i] = PEER_LOOKUPS * 1e9 / (double)(aif_now_ns() - t);
		ratio[i] = ours[i] / theirs[i];
	}
	print_row("look-ups, names demangled", ours, rounds, "a second (bar: 50,000)");
	print_row("dwfl_module_addrname, not demangled", theirs, rounds, "a second");
	print_row("ratio", ratio, rounds, "");
	printf("%-40s %10llu (bar: 0)\n", "wrong names", (unsigned long long)wrong);
	dwfl_end(dwfl);
	aif_symbols_free(s);
	unlink(path);
	rmdir(dir);
	return wrong != 0;
}
