/* SPDX-License-Identifier: Apache-2.0 */
#include "isa/sass.h"

#include <setjmp.h>
#include <stdarg.h>
/* after those */
#include <cmocka.h>

#include "fixture_cubin.h"

/* Names and dependencies of NVIDIA's instructions, on the operations of tests/golden/cubin/operations_*. */

struct kernel {
	struct aif_buf bytes;
	struct aif_cubin cubin;
	const uint8_t *code;
	size_t n; /* instructions */
};

static void open_kernel(struct kernel *k, const char *file, const char *name)
{
	size_t size;

	*k = (struct kernel){0};
	golden_cubin(file, &k->bytes);
	assert_int_equal(aif_cubin_init(&k->cubin, k->bytes.data, k->bytes.len), 0);
	k->code = aif_device_elf_code(&k->cubin.elf, aif_device_elf_by_name(&k->cubin.elf, name),
				      &size);
	k->n = size / AIF_SASS_BYTES;
}

static void close_kernel(struct kernel *k)
{
	aif_cubin_finish(&k->cubin);
	aif_buf_finish(&k->bytes);
}

static const char *text_of(const uint8_t *bytes, unsigned sm)
{
	static char text[AIF_SASS_TEXT];
	struct aif_sass s;

	aif_sass_decode(bytes, sm, &s);
	aif_sass_text(&s, text);
	return text;
}

/* The first `n` instructions of a kernel are these. */
static void assert_listing(const struct kernel *k, const char *const *want, size_t n)
{
	assert_true(n <= k->n);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(text_of(k->code + i * AIF_SASS_BYTES, k->cubin.sm), want[i]);
}

static unsigned count(const struct kernel *k, const char *mnemonic)
{
	unsigned n = 0;

	for (size_t i = 0; i < k->n; i++) {
		struct aif_sass s;

		if (aif_sass_decode(k->code + i * AIF_SASS_BYTES, k->cubin.sm, &s))
			n += strcmp(s.mnemonic, mnemonic) == 0;
		else
			n += strcmp("?", mnemonic) == 0;
	}
	return n;
}

/* ---- the table ---- */

enum { UNKNOWN, GLOBAL, SHARED, LOCAL, CONSTANT, TENSOR, MATH, CONTROL, BARRIER, OTHER };
enum { PTXAS = 1, PUBLIC };

static void the_table_of_operations_is_in_bounds(void **state)
{
	static const struct {
		int operation, forms, type, from, to;
		const char *mnemonic;
		int kind, source;
	} t[] = {
#define AIF_SASS(operation, forms, from, to, mnemonic, kind, source) \
	{operation, forms, -1, from, to, mnemonic, kind, source},
#define AIF_SASS_TYPED(operation, forms, type, from, to, mnemonic, kind, source) \
	{operation, forms, type, from, to, mnemonic, kind, source},
#include "isa/sass_opcodes.def"
#undef AIF_SASS
#undef AIF_SASS_TYPED
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(t); i++) {
		assert_in_range(t[i].operation, 1, 511);
		assert_in_range(t[i].forms, 1, 255);
		assert_in_range(t[i].from, 70, t[i].to);
		assert_in_range(t[i].to, 70, 121);
		assert_true(t[i].kind != UNKNOWN);
		assert_in_range(strlen(t[i].mnemonic), 2, 14);
		assert_int_equal(strspn(t[i].mnemonic, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"),
				 strlen(t[i].mnemonic));
		for (size_t j = i + 1; j < AIF_ARRAY_LEN(t); j++) {
			assert_true(t[j].operation >= t[i].operation);
			if (t[j].operation != t[i].operation)
				break;
			assert_false((t[i].forms & t[j].forms) && t[i].from <= t[j].to &&
				     t[j].from <= t[i].to &&
				     (t[i].type < 0 || t[j].type < 0 || t[i].type == t[j].type));
		}
	}
}

/* Opcodes that mean something else, or nothing, on another sm. */
static void opcodes_are_those_of_their_architecture(void **state)
{
	static const struct {
		uint16_t opcode;
		unsigned sm;
		const char *text;
	} cases[] = {
		{0x236, 75, "HMMA"},   {0x236, 80, "0x236"},       {0x236, 90, "VIADD"},
		{0x236, 120, "0x236"}, {0x235, 80, "HFMA2"},       {0x235, 90, "HFMA2"},
		{0x235, 100, "0x235"}, {0x235, 120, "IADD"},       {0x9f0, 90, "HGMMA"},
		{0x9f0, 89, "0x9f0"},  {0x9f0, 100, "0x9f0"},      {0x98e, 89, "RED"},
		{0x98e, 90, "REDG"},   {0x3c2, 89, "R2UR"},        {0x2ca, 89, "0x2ca"},
		{0x2ca, 90, "R2UR"},   {0x5ab, 90, "CGAERRBAR"},   {0x9ab, 90, "ERRBAR"},
		{0x5ab, 89, "0x5ab"},  {0xab9, 90, "ULDC"},        {0x7ac, 90, "0x7ac"},
		{0x7ac, 100, "LDCU"},  {0x24a, 100, "FMUL2"},      {0x24a, 120, "UVIMNMX"},
		{0x981, 70, "LDG"},    {0x981, 121, "LDG"},        {0x981, 69, "0x981"},
		{0x981, 122, "0x981"}, {0x981, 0, "0x981"},        {0x000, 90, "0x000"},
		{0xfff, 90, "0xfff"},  {0x540, 100, "0x540"},      {0x25a, 120, "UI2F"},
		{0x25b, 120, "0x25b"}, {0x84c, 100, "UVIRTCOUNT"}, {0x27a, 89, "QMMA"},
		{0x47f, 120, "OMMA"},  {0x47f, 90, "0x47f"},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		uint8_t bytes[16] = {(uint8_t)cases[i].opcode,
				     (uint8_t)(cases[i].opcode >> 8 | 0x70)};

		assert_string_equal(text_of(bytes, cases[i].sm), cases[i].text);
	}
}

static void predicates_are_decoded(void **state)
{
	static const struct {
		uint16_t low;
		const char *text;
	} cases[] = {
		{0x7947, "BRA"},          {0x0947, "@P0 BRA"},
		{0x6947, "@P6 BRA"},      {0x8947, "@!P0 BRA"},
		{0xe947, "@!P6 BRA"},     {0xf947, "@!PT BRA"},
		{0x0890, "@UP0 UIADD3"},  {0x9890, "@!UP1 UIADD3"},
		{0xf890, "@!UPT UIADD3"}, {0x09c7, "@UP0 UCGABAR_ARV"},
		{0x19a7, "@UP1 SYNCS"},   {0x0fff, "0xfff"},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		uint8_t bytes[16] = {(uint8_t)cases[i].low, (uint8_t)(cases[i].low >> 8)};

		assert_string_equal(text_of(bytes, 90), cases[i].text);
	}
}

static void opcodes_have_their_kind(void **state)
{
	static const struct {
		uint16_t opcode;
		enum aif_sass_kind kind;
	} cases[] = {
		{0x981, AIF_SASS_GLOBAL},  {0x980, AIF_SASS_GLOBAL},  {0x984, AIF_SASS_SHARED},
		{0x83b, AIF_SASS_SHARED},  {0x983, AIF_SASS_LOCAL},   {0xb82, AIF_SASS_CONSTANT},
		{0x9f0, AIF_SASS_TENSOR},  {0x223, AIF_SASS_MATH},    {0x308, AIF_SASS_MATH},
		{0x947, AIF_SASS_CONTROL}, {0x94d, AIF_SASS_CONTROL}, {0xb1d, AIF_SASS_BARRIER},
		{0x9c5, AIF_SASS_BARRIER}, {0x202, AIF_SASS_OTHER},   {0x5b4, AIF_SASS_GLOBAL},
		{0x001, AIF_SASS_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		uint8_t bytes[16] = {(uint8_t)cases[i].opcode, (uint8_t)(cases[i].opcode >> 8)};
		struct aif_sass s;

		assert_int_equal(aif_sass_decode(bytes, 90, &s), cases[i].kind != AIF_SASS_UNKNOWN);
		assert_int_equal(s.kind, cases[i].kind);
		assert_int_equal(s.opcode, cases[i].opcode);
	}
}

/* ---- compiled operations ---- */

/* Counts what each operation of the sources must have become; "?" is what is unknown. (Atomics come twice: ptxas
 * combines them over the warp.) */
static void operations_are_those_of_the_source(void **state)
{
	static const struct {
		const char *file, *mnemonic;
		unsigned n;
	} cases[] = {
		{"operations_sm75", "?", 0},
		{"operations_sm75", "LDG", 1},
		{"operations_sm75", "STS", 1},
		{"operations_sm75", "BAR", 1},
		{"operations_sm75", "LDSM", 1},
		{"operations_sm75", "HMMA", 1},
		{"operations_sm75", "MUFU", 1},
		{"operations_sm75", "F2F", 1},
		{"operations_sm75", "DFMA", 1},
		{"operations_sm75", "STG", 2},
		{"operations_sm75", "ATOMS", 2},
		{"operations_sm75", "ATOMG", 2},
		{"operations_sm75", "RED", 2},
		{"operations_sm75", "MEMBAR", 1},
		{"operations_sm75", "EXIT", 1},
		{"operations_sm90a", "?", 0},
		{"operations_sm90a", "UTMALDG", 1},
		{"operations_sm90a", "FENCE", 1},
		{"operations_sm90a", "UCGABAR_ARV", 1},
		{"operations_sm90a", "UCGABAR_WAIT", 1},
		{"operations_sm90a", "HGMMA", 1},
		{"operations_sm90a", "WARPGROUP", 2},
		{"operations_sm90a", "SYNCS", 2},
		{"operations_sm90a", "STSM", 1},
		{"operations_sm90a", "UBLKCP", 1},
		{"operations_sm90a", "UTMACMDFLUSH", 1},
		{"operations_sm90a", "STG", 1},
		{"operations_sm100a", "?", 0},
		{"operations_sm100a", "UTCCP", 1},
		{"operations_sm100a", "UTCHMMA", 1},
		{"operations_sm100a", "UTCIMMA", 1},
		{"operations_sm100a", "UTCQMMA", 1},
		{"operations_sm100a", "UTCOMMA", 1},
		{"operations_sm100a", "UTCBAR", 1},
		{"operations_sm100a", "LDTM", 1},
		{"operations_sm100a", "STTM", 1},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct kernel k;

		open_kernel(&k, cases[i].file, "operations");
		assert_int_equal(count(&k, cases[i].mnemonic), cases[i].n);
		close_kernel(&k);
	}
}

/* out[i] = middle(in, i), instruction by instruction. */
static const char *const chain_sm75[] = {"MOV",  "S2R",  "S2R",  "IMAD", "ISETP", "@P0 EXIT",
					 "MOV",  "IMAD", "LDG",  "LDG",  "FMUL",  "IMAD",
					 "FFMA", "STG",  "EXIT", "BRA"},
			 *const chain_sm90[] = {"LDC",   "S2R",      "ULDC", "S2R",  "IMAD", "ULDC",
						"ISETP", "@P0 EXIT", "LDC",  "ULDC", "LDC",  "IMAD",
						"LDG",   "LDG",      "IMAD", "FMUL", "FFMA", "STG",
						"EXIT",  "BRA",      "NOP"},
			 *const chain_sm100[] = {
				 "LDC",      "S2R",  "S2UR", "LDCU", "LDC",  "IMAD", "ISETP",
				 "@P0 EXIT", "LDC",  "LDCU", "LDC",  "IMAD", "LDG",  "LDG",
				 "IMAD",     "FMUL", "FFMA", "STG",  "EXIT", "BRA",  "NOP"};

static void listings_are_those_of_the_disassembler(void **state)
{
	struct kernel k;

	(void)state;
	open_kernel(&k, "kernels_sm75", "_Z5chainPfPKfi");
	assert_listing(&k, chain_sm75, AIF_ARRAY_LEN(chain_sm75));
	close_kernel(&k);
	open_kernel(&k, "kernels_sm90a", "_Z5chainPfPKfi");
	assert_listing(&k, chain_sm90, AIF_ARRAY_LEN(chain_sm90));
	close_kernel(&k);
	open_kernel(&k, "kernels_sm100a", "_Z5chainPfPKfi");
	assert_listing(&k, chain_sm100, AIF_ARRAY_LEN(chain_sm100));
	close_kernel(&k);
}

/* ---- dependencies ---- */

static void control_bits_are_decoded(void **state)
{
	/* each field with a value of its own: stall 11, yield, write 2, read 4, wait 0x2d, reuse 9 */
	uint64_t bits = UINT64_C(11) | 0 << 4 | 2 << 5 | 4 << 8 | 0x2d << 11 | 9 << 17,
		 hi = bits << 41;
	struct aif_sass_control c;
	uint8_t bytes[16] = {0};

	(void)state;
	for (int i = 0; i < 8; i++)
		bytes[8 + i] = (uint8_t)(hi >> 8 * i);
	aif_sass_control(bytes, &c);
	assert_int_equal(c.stall, 11);
	assert_true(c.yield);
	assert_int_equal(c.write, 2);
	assert_int_equal(c.read, 4);
	assert_int_equal(c.wait, 0x2d);
	assert_int_equal(c.reuse, 9);
	bytes[13] |= 0x20; /* bit 109 */
	aif_sass_control(bytes, &c);
	assert_false(c.yield);
	assert_int_equal(c.stall, 11);
}

static void assert_waits(const struct kernel *k, size_t index, size_t n, size_t first,
			 size_t second)
{
	size_t got[4] = {0};

	assert_int_equal(aif_sass_waits_for(k->code, k->n, index, got, 4), n);
	if (n > 0)
		assert_int_equal(got[0], first);
	if (n > 1)
		assert_int_equal(got[1], second);
}

/* In chain_sm90: who needs whose result. */
static void a_wait_names_what_it_waits_for(void **state)
{
	struct kernel k;
	size_t got[4];

	(void)state;
	open_kernel(&k, "kernels_sm90a", "_Z5chainPfPKfi");
	assert_waits(&k, 4, 2, 3, 1);   /* i = blockIdx.x (S2R) * blockDim.x + threadIdx.x (S2R) */
	assert_waits(&k, 6, 0, 0, 0);   /* i < n: of fixed latency */
	assert_waits(&k, 11, 1, 8, 0);  /* &in[i] needs the parameter in */
	assert_waits(&k, 14, 1, 10, 0); /* &out[i] needs the parameter out */
	assert_waits(&k, 15, 1, 12, 0); /* the product needs the first load */
	assert_waits(&k, 16, 1, 13, 0); /* the sum needs the second one */
	assert_waits(&k, 17, 0, 0, 0);
	assert_int_equal(aif_sass_waits_for(k.code, k.n, 4, got, 1), 1); /* the nearest */
	assert_int_equal(got[0], 3);
	assert_int_equal(aif_sass_waits_for(k.code, k.n, 4, got, 0), 0);
	assert_int_equal(aif_sass_waits_for(k.code, k.n, k.n, got, 4), 0);
	assert_int_equal(aif_sass_waits_for(k.code, 0, 0, got, 4), 0);
	close_kernel(&k);

	/* sm_100 loads its descriptor through the uniform datapath */
	open_kernel(&k, "kernels_sm100a", "_Z5chainPfPKfi");
	assert_waits(&k, 5, 3, 4, 2);
	assert_waits(&k, 12, 1, 9, 0);
	assert_waits(&k, 15, 1, 12, 0);
	close_kernel(&k);

	/* Bulk copies: DEPBAR names its scoreboard as an operand. */
	open_kernel(&k, "operations_sm90a", "operations");
	for (size_t i = 0; i < k.n; i++)
		if (strcmp(text_of(k.code + 16 * i, 90), "DEPBAR") == 0) {
			assert_int_equal(aif_sass_waits_for(k.code, k.n, i, got, 4), 1);
			assert_string_equal(text_of(k.code + 16 * got[0], 90), "UTMACMDFLUSH");
		}
	assert_int_equal(count(&k, "DEPBAR"), 1);
	close_kernel(&k);
}

/* Made instructions: two that set a scoreboard, one that waits for it, one that waits again. */
static void set_control(uint8_t *bytes, unsigned write, unsigned read, unsigned wait)
{
	uint64_t hi = (uint64_t)(1 | write << 5 | read << 8 | wait << 11) << 41;

	memset(bytes, 0, 16);
	for (int i = 0; i < 8; i++)
		bytes[8 + i] = (uint8_t)(hi >> 8 * i);
}

static void test_chains_of_waits(void **state)
{
	uint8_t code[9 * 16];
	struct kernel k = {.code = code, .n = 9};
	size_t got[8];

	(void)state;
	set_control(code + 0x00, 0, 7, 0);    /* sets 0 */
	set_control(code + 0x10, 1, 0, 0);    /* sets 1, and 0 when read */
	set_control(code + 0x20, 7, 7, 0);    /* nothing */
	set_control(code + 0x30, 6, 7, 1);    /* waits for 0; 6 is no scoreboard */
	set_control(code + 0x40, 7, 7, 3);    /* waits for 0, which nobody has set since, and 1 */
	set_control(code + 0x50, 5, 7, 0);    /* sets 5 */
	set_control(code + 0x60, 5, 7, 0x20); /* waits for 5, then sets it */
	set_control(code + 0x70, 7, 7, 0x20); /* waits for 5: of the one just before only */
	set_control(code + 0x80, 7, 7, 0x3f);
	assert_waits(&k, 3, 2, 1, 0);
	assert_waits(&k, 4, 1, 1, 0);
	assert_waits(&k, 6, 1, 5, 0);
	assert_waits(&k, 7, 1, 6, 0);
	assert_waits(&k, 2, 0, 0, 0);
	assert_int_equal(aif_sass_waits_for(code, 9, 8, got, 8), 0);
	assert_int_equal(aif_sass_waits_for(code, 9, 9, got, 8), 0); /* not read */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_of_operations_is_in_bounds),
		cmocka_unit_test(opcodes_are_those_of_their_architecture),
		cmocka_unit_test(predicates_are_decoded),
		cmocka_unit_test(opcodes_have_their_kind),
		cmocka_unit_test(operations_are_those_of_the_source),
		cmocka_unit_test(listings_are_those_of_the_disassembler),
		cmocka_unit_test(control_bits_are_decoded),
		cmocka_unit_test(a_wait_names_what_it_waits_for),
		cmocka_unit_test(test_chains_of_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
