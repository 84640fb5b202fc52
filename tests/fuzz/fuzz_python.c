/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit/fixture_python.h"
#include "symbolize/pylines.h"
#include "unwind/interleave.h"

#include <sys/mman.h>

/*
 * An interpreter's memory of any bytes, between two pages that nobody may touch: the walker reads nothing
 * outside, comes to an end, and what it tells holds together.
 *
 * The first byte is the version and whether the description of that version's layout (3.13 and newer) is to
 * be changed as well; then come changes to a sound interpreter, each of a place, a kind and a value: half of
 * them before it is looked at, half when all of its functions are known.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PAGE = 4096, MEMORY = 12 * PAGE, MAX = 48, NATIVE = 8 };

static struct fake fake;
static struct aif_python *py;
static uint8_t *memory;

static void *thread_state(void)
{
	return (void *)(uintptr_t)fake.thread;
}

static int finalizing(void)
{
	return 0;
}

static void *interpreter(void)
{
	return (void *)(uintptr_t)fake.interpreter;
}

struct input {
	const uint8_t *p, *end;
};

static uint64_t take(struct input *in, size_t n)
{
	uint64_t v = 0;

	n = AIF_MIN(n, (size_t)(in->end - in->p));
	memcpy(&v, in->p, n);
	in->p += n;
	return v;
}

/* Names with characters of each width, called from Python and from C. */
static void build(const struct aif_python_layout *l)
{
	static const uint32_t wide[] = {'w', 0x4e2d, 0xd801}, all[] = {'a', 0x1f600};
	uint64_t code[4];

	fake_init(&fake, l, memory, MEMORY);
	code[0] = fake_named(&fake, "<module>");
	code[1] = fake_code(&fake, fake_str(&fake, wide, 3, 2), fake_ascii(&fake, "/f.py"), 3,
			    fake_bytes(&fake, "\x81\x23\xe8\x07\xf1\x04\x01\x02", 8));
	code[2] = fake_code(&fake, fake_str(&fake, all, 2, 4), fake_ascii(&fake, "g.py"), 1,
			    fake_bytes(&fake, "\x02\x01\x02\x80\x04\xff", 6));
	code[3] = fake_named(&fake, "helper");
	if (l->co_firsttraceable != AIF_PYTHON_NO_FIELD)
		put32(code[3], l->co_firsttraceable, FAKE_CODE_UNITS);
	for (unsigned i = 0; i < 8; i++)
		fake_push(&fake, code[i & 3], (int32_t)i * 4,
			  l->kind == AIF_PYTHON_OBJECTS || i % 3 == 0, NULL);
}

static void change(struct input *in, uint8_t *at, size_t len)
{
	while (in->end - in->p >= 4) {
		size_t place = take(in, 2) % (len / 8) * 8;
		unsigned kind = (unsigned)take(in, 1);
		uint64_t v;

		place += kind >> 5;
		if ((kind & 3) == 0)
			v = take(in, 8);
		else if ((kind & 3) == 1)
			v = (uint64_t)(uintptr_t)memory + take(in, 2) % MEMORY;
		else
			v = (uint64_t)(int8_t)take(in, 1);
		memcpy(at + place, &v, (kind & 3) == 3 ? 1 : AIF_MIN(8, len - place));
	}
}

static void expect(bool holds)
{
	if (!holds)
		abort();
}

static void expect_utf8(const char *p, uint32_t len)
{
	const uint8_t *s = (const uint8_t *)p, *end = s + len;

	while (s < end) {
		unsigned more = *s < 0x80 ? 0 : *s < 0xe0 ? 1 : *s < 0xf0 ? 2 : 3;

		expect(*s < 0x80 || (*s >= 0xc2 && *s < 0xf5));
		for (s++; more; more--, s++)
			expect(s < end && (*s & 0xc0) == 0x80);
	}
}

static void read_code(uint64_t at, int32_t lasti)
{
	static char buffer[AIF_PYTHON_NAME_MAX + AIF_PYTHON_FILE_MAX + 100];
	struct aif_python_code c;
	int rc = aif_python_code_read(py, at, buffer, sizeof(buffer), &c);

	expect(rc == 0 || rc == -EINVAL || rc == -EEXIST);
	if (rc)
		return;
	expect(c.name_len <= AIF_PYTHON_NAME_MAX && c.file_len <= AIF_PYTHON_FILE_MAX);
	expect(c.name_len + c.file_len + c.lines_len <= sizeof(buffer));
	expect_utf8(c.name, c.name_len);
	expect_utf8(c.file, c.file_len);
	expect(aif_pylines_find(c.minor, c.lines, c.lines_len, c.first_line, lasti) >= -1);
	aif_python_code_publish(py, &c);
}

static void interleave(const struct aif_python_frame *frames, const struct aif_python_stack *stack,
		       uint64_t sp)
{
	static const uint64_t pcs[NATIVE] = {1, 15, 2, 3, 16, 4, 17, 5};
	uint32_t order[NATIVE + MAX];
	uint64_t sps[NATIVE];
	struct aif_interleave in = {
		.pcs = pcs,
		.sps = sps,
		.native_len = NATIVE,
		.frames = frames,
		.python_len = stack->depth,
		.python_cut = stack->stop != AIF_PYTHON_STOP_END,
		.eval_lo = 10,
		.eval_hi = 20,
	};
	unsigned native = 0, python = 0;

	for (unsigned i = 0; i < NATIVE; i++)
		sps[i] = sp + i * (sp % 700);
	expect(aif_interleave(&in, order) <= AIF_INTERLEAVE_BLOCK);
	/* all of both, each in its order */
	for (unsigned i = 0; i < NATIVE + stack->depth; i++)
		expect(order[i] == (order[i] & AIF_INTERLEAVE_PYTHON
					    ? AIF_INTERLEAVE_PYTHON | python++
					    : native++));
	expect(native == NATIVE && python == stack->depth);
}

static void walk(unsigned max)
{
	static struct aif_python_frame frames[MAX + 1];
	struct aif_stack_bounds bounds = fake_bounds(&fake);
	struct aif_python_stack stack, hash;
	uint64_t places;

	memset(frames, 0xaa, sizeof(frames));
	aif_python_walk(py, AIF_PYTHON_AT_CALL, bounds, frames, max, &stack);
	aif_python_hash(py, AIF_PYTHON_AT_CALL, max, &hash);
	expect(stack.hash == hash.hash && stack.depth == hash.depth && stack.stop == hash.stop &&
	       stack.segments == hash.segments && stack.unknown == hash.unknown);
	expect(!aif_python_hash_places(py, max, &places) || stack.stop == AIF_PYTHON_STOP_END);
	expect(stack.depth <= max && stack.segments <= stack.depth && stack.unknown <= stack.depth);
	expect(frames[max].code == UINT64_C(0xaaaaaaaaaaaaaaaa));
	for (unsigned i = 0; i < stack.depth; i++) {
		expect(frames[i].lasti >= -2 && frames[i].lasti <= AIF_PYTHON_LASTI_MAX);
		expect(frames[i].on_stack == 0 ||
		       (frames[i].ends_segment && frames[i].on_stack >= bounds.lo &&
			frames[i].on_stack < bounds.hi));
	}
	interleave(frames, &stack, bounds.lo);
	for (unsigned i = 0; i < stack.depth; i++)
		if (frames[i].id == 0)
			read_code(frames[i].code, frames[i].lasti);
}

static bool begin(void)
{
	if (memory)
		return true;
	memory = mmap(NULL, MEMORY + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	py = aligned_alloc(64, sizeof(*py));
	if (memory == MAP_FAILED || !py)
		return false;
	memory += PAGE;
	return mprotect(memory, MEMORY, PROT_READ | PROT_WRITE) == 0;
}

/* Hashes the current stack in both ways; returns false if it is cut or not all of it is known. */
static bool both_hashes(uint64_t *places, uint64_t *hash)
{
	struct aif_python_stack stack;

	aif_python_hash(py, AIF_PYTHON_AT_CALL, MAX, &stack);
	*hash = stack.hash;
	return aif_python_hash_places(py, MAX, places) && !stack.unknown;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size}, later;
	uint64_t places[2], hash[2];
	unsigned first = (unsigned)take(&in, 1), minor = 8 + (first & 127) % 7;
	struct aif_python_layout l;

	if (!begin() || !fake_layout(minor, &l))
		abort();
	if (minor >= 13 && first & 128) {
		uint64_t word[FAKE_WORDS];
		struct input some = {in.p, in.p + AIF_MIN(16, in.end - in.p)};

		in.p = some.end;
		fake_describe(minor, word);
		change(&some, (uint8_t *)word, sizeof(word));
		if (aif_python_layout_described(minor, word, sizeof(word), &l))
			return 0;
	}
	memset(memory, 0, MEMORY);
	build(&l);
	memset(py, 0, sizeof(*py));
	py->layout = l;
	py->memory_lo = (uint64_t)(uintptr_t)memory;
	py->memory_hi = py->memory_lo + MEMORY;
	py->thread_state = thread_state;
	py->finalizing = finalizing;
	py->interpreter_main = py->interpreter_head = interpreter;
	py->main_interpreter = fake.interpreter;
	py->type_code = fake.type_code;
	py->type_str = fake.type_str;
	py->type_bytes = fake.type_bytes;
	later = (struct input){in.p + (in.end - in.p) / 2, in.end};
	in.end = later.p;
	change(&in, memory, MEMORY);
	/* the start-up check, which may turn it off; then as if it had not */
	atomic_store(&py->state, AIF_PYTHON_CHECKING);
	aif_python_check(py);
	atomic_store(&py->state, AIF_PYTHON_ON);
	walk(MAX);
	walk(MAX); /* of what is known now */
	walk(3);
	if (!both_hashes(&places[0], &hash[0]))
		return 0;
	/* Another stack, of which all is known and nobody has died: what has the same places is the same. */
	change(&later, memory, MEMORY);
	if (both_hashes(&places[1], &hash[1]))
		expect(places[0] != places[1] || hash[0] == hash[1]);
	return 0;
}
