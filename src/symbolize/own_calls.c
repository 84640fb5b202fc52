/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/own_calls.h"

#include "isa/disasm.h"
#include "symbolize/fde.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* Bytes before an instruction that are decoded: a number may be set where a loop begins. */
#define BEFORE         320
#define SHORTLY_BEFORE 48
/* Places from which decoding begins: after some instructions all of them agree. */
#define STARTS 8
/* Bytes of code that are read at a time. */
#define CHUNK        ((size_t)1 << 20)
#define SEGMENTS_MAX 64
/* Bytes of the function before a call. */
#define FUNCTION_MAX 65536
/* Work of decoding, as that of reading so many bytes: of a byte, and of all that is done at a place. */
#define DECODED_WORK 16
#define PLACE_WORK   (UINT64_C(2) * BEFORE * STARTS * DECODED_WORK)
/* Bytes of the instruction. */
#define X86_CALL_BYTES 2
#define ARM_CALL_BYTES 4

#define X86_PRCTL         157
#define X86_SECCOMP       317
#define ARM_PRCTL         167
#define ARM_SECCOMP       277
#define PRCTL_SET_SECCOMP 22

/* Registers of x86 that matter: their names by size. */
enum { A, C, D, B, SP, BP, SI, DI, R8, R9, R10, R11, R12, R13, R14, R15, REGISTERS };
static const char *const names[REGISTERS][4] = {
	{"rax", "eax", "ax", "al"},      {"rcx", "ecx", "cx", "cl"},
	{"rdx", "edx", "dx", "dl"},      {"rbx", "ebx", "bx", "bl"},
	{"rsp", "esp", "sp", "spl"},     {"rbp", "ebp", "bp", "bpl"},
	{"rsi", "esi", "si", "sil"},     {"rdi", "edi", "di", "dil"},
	{"r8", "r8d", "r8w", "r8b"},     {"r9", "r9d", "r9w", "r9b"},
	{"r10", "r10d", "r10w", "r10b"}, {"r11", "r11d", "r11w", "r11b"},
	{"r12", "r12d", "r12w", "r12b"}, {"r13", "r13d", "r13w", "r13b"},
	{"r14", "r14d", "r14w", "r14b"}, {"r15", "r15d", "r15w", "r15b"},
};

/* Knowledge of a register's value. */
struct value {
	bool is_known, is_given; /* given: it comes from the caller, or out of memory */
	uint64_t number;
};

/* Places of a stack frame, by how instructions name them. */
#define SLOTS 16

struct state {
	struct value of[REGISTERS];
	struct slot {
		char name[32]; /* "[rbp - 8]" */
		struct value value;
	} slots[SLOTS];
	unsigned next_slot;
};

/* Returns the register that an operand is, up to its comma, or -1. */
static int register_of(const char *operand)
{
	size_t len = strcspn(operand, ",");

	for (int i = 0; i < REGISTERS; i++)
		for (int k = 0; k < 4; k++)
			if (strlen(names[i][k]) == len && !strncmp(operand, names[i][k], len))
				return i;
	return -1;
}

static void forget(struct state *s)
{
	static const int clobbered[] = {A, C, D, SI, DI, R8, R9, R10, R11};

	for (size_t i = 0; i < AIF_ARRAY_LEN(clobbered); i++)
		s->of[clobbered[i]] = (struct value){0};
}

/* A function begins: what its registers have is its caller's. Functions of C have no argument in the register of the
 * number. */
static void enter(struct state *s)
{
	*s = (struct state){0};
	for (int i = 0; i < REGISTERS; i++)
		s->of[i] = (struct value){.is_given = i != A};
}

/* Copies what an operand has in brackets, if that is a place of a stack frame. */
static bool slot_name(const char *operand, char name[32])
{
	const char *begin = strchr(operand, '['), *end = begin ? strchr(begin, ']') : NULL;

	if (!end || end - begin > 30 ||
	    (strncmp(begin, "[rbp", 4) != 0 && strncmp(begin, "[rsp", 4) != 0))
		return false;
	memcpy(name, begin, (size_t)(end - begin) + 1);
	name[end - begin + 1] = '\0';
	return true;
}

static struct value value_of(const struct state *s, const char *operand)
{
	int r = register_of(operand);
	char name[32];

	if (r >= 0)
		return s->of[r];
	if (isdigit((unsigned char)*operand))
		return (struct value){.is_known = true, .number = strtoull(operand, NULL, 0)};
	if (slot_name(operand, name))
		for (unsigned i = 0; i < SLOTS; i++)
			if (!strcmp(s->slots[i].name, name))
				return s->slots[i].value;
	return (struct value){.is_given = strchr(operand, '[')};
}

static void store(struct state *s, const char *operand, struct value value)
{
	struct slot slot = {.value = value};

	if (!slot_name(operand, slot.name))
		return;
	for (unsigned i = 0; i < SLOTS; i++)
		if (!strcmp(s->slots[i].name, slot.name)) {
			s->slots[i].value = value;
			return;
		}
	s->slots[s->next_slot++ % SLOTS] = slot;
}

/* Follows one instruction. `is_inside`: of one function, which code behind its return belongs to, too. */
static void follow(struct state *s, const struct aif_insn *i, bool is_inside)
{
	const char *comma = strstr(i->operands, ", ");
	int to = register_of(i->operands);

	if (!strcmp(i->mnemonic, "ret") || !strcmp(i->mnemonic, "int3") ||
	    !strcmp(i->mnemonic, "endbr64") || !strcmp(i->mnemonic, "hlt")) {
		if (!is_inside)
			enter(s);
	} else if (!strcmp(i->mnemonic, "call")) {
		forget(s);
	} else if (!strcmp(i->mnemonic, "syscall")) {
		s->of[A] = s->of[C] = s->of[R11] = (struct value){0};
	} else if (to < 0 && !strcmp(i->mnemonic, "mov") && comma) {
		store(s, i->operands, value_of(s, comma + 2));
	} else if (to < 0 || !strcmp(i->mnemonic, "cmp") || !strcmp(i->mnemonic, "test") ||
		   !strcmp(i->mnemonic, "push")) {
		return;
	} else if (!strcmp(i->mnemonic, "xor") && comma && register_of(comma + 2) == to) {
		s->of[to] = (struct value){.is_known = true};
	} else if (!strncmp(i->mnemonic, "mov", 3) && comma) {
		s->of[to] = value_of(s, comma + 2);
	} else if (!strcmp(i->mnemonic, "xchg") && comma && register_of(comma + 2) >= 0) {
		int other = register_of(comma + 2);
		struct value v = s->of[to];

		s->of[to] = s->of[other];
		s->of[other] = v;
	} else {
		s->of[to] = (struct value){0};
	}
}

/* Decodes from code[from] on until the place at code[at]. False: it is not the beginning of an instruction there. */
static bool decode(struct aif_disasm *d, const uint8_t *code, size_t n, size_t from, size_t at,
		   bool is_inside, struct state *ret)
{
	enter(ret);
	while (from < at) {
		struct aif_insn i;

		aif_disasm_one(d, code + from, n - from, from, &i);
		follow(ret, &i, is_inside);
		from += i.size;
	}
	return from == at;
}

static int judge_x86(const struct state *s)
{
	const struct value *number = &s->of[A], *option = &s->of[DI];

	if (number->is_known) {
		uint32_t n = (uint32_t)number->number;

		if (n == X86_SECCOMP ||
		    (n == X86_PRCTL && (!option->is_known || option->number == PRCTL_SET_SECCOMP)))
			return AIF_OWN_CALLS_FILTER;
		return AIF_OWN_CALLS_NONE;
	}
	return number->is_given ? AIF_OWN_CALLS_ANY : AIF_OWN_CALLS_NONE;
}

/* A file whose code is looked through. */
struct search {
	const struct aif_elf *elf;
	struct aif_disasm *d; /* of x86 */
	uint8_t *code;        /* CHUNK bytes */
	struct aif_fdes fdes; /* once has_fdes */
	bool has_fdes;
	enum aif_own_calls least; /* to be found */
};

/* Looks from the beginning of the function on, if that is known: numbers are set far before where calls are repeated. */
static int look_in_function(struct search *s, uint64_t address, int found)
{
	const struct aif_fde *fde;
	struct state state;
	uint8_t *code;
	size_t n;

	if (!s->has_fdes && aif_fdes_init(&s->fdes, s->elf) < 0)
		return found;
	s->has_fdes = true;
	fde = aif_fdes_find(&s->fdes, address);
	if (!fde || address - fde->start > FUNCTION_MAX)
		return found;
	n = (size_t)(address - fde->start);
	if (aif_effort_spend(s->elf->effort, DECODED_WORK * n))
		return -ETIMEDOUT;
	code = malloc(n + X86_CALL_BYTES);
	if (code && aif_elf_read_at(s->elf, fde->start, code, n + X86_CALL_BYTES) == 0)
		found = decode(s->d, code, n + X86_CALL_BYTES, 0, n, true, &state)
				? judge_x86(&state)
				: AIF_OWN_CALLS_NONE;
	free(code);
	return found;
}

/* Returns how many of STARTS decodings, from `before` bytes before on, come upon the place, and the most that any of them finds. */
static unsigned decode_all(struct search *s, size_t n, size_t at, size_t before, int *ret_found)
{
	unsigned agree = 0;

	*ret_found = AIF_OWN_CALLS_NONE;
	for (size_t i = 0, back = AIF_MIN(at, before); i < STARTS && back >= i; i++) {
		struct state state;

		if (!decode(s->d, s->code, n, at - back + i, at, false, &state))
			continue;
		agree++;
		*ret_found = AIF_MAX(*ret_found, judge_x86(&state));
	}
	return agree;
}

/* False: no instruction shortly before has the number of a call that installs filters. */
static bool has_number(const uint8_t *code, size_t at)
{
	static const struct {
		const char *bytes;
		size_t n;
	} numbers[] = {{"\x9d\0\0\0", 4}, {"\xb0\x9d", 2}, {"\x3d\x01", 2}};
	size_t n = AIF_MIN(at, (size_t)BEFORE);

	for (size_t i = 0; i < AIF_ARRAY_LEN(numbers); i++)
		if (memmem(code + at - n, n, numbers[i].bytes, numbers[i].n))
			return true;
	return false;
}

static int look_x86(struct search *s, size_t n, size_t at, uint64_t address)
{
	int found;

	if (s->least == AIF_OWN_CALLS_FILTER) {
		if (aif_effort_spend(s->elf->effort, BEFORE))
			return -ETIMEDOUT;
		if (!has_number(s->code, at))
			return AIF_OWN_CALLS_NONE;
	}
	if (aif_effort_spend(s->elf->effort, PLACE_WORK))
		return -ETIMEDOUT;
	/* Most places are none: the shorter way says so. */
	if (decode_all(s, n, at, SHORTLY_BEFORE, &found) * 2 < STARTS ||
	    decode_all(s, n, at, BEFORE, &found) * 2 < STARTS)
		return AIF_OWN_CALLS_NONE;
	return found == AIF_OWN_CALLS_ANY ? look_in_function(s, address, found) : found;
}

static int look_arm(const struct search *s, size_t at)
{
	const uint8_t *code = s->code;

	if (aif_effort_spend(s->elf->effort, PLACE_WORK))
		return -ETIMEDOUT;
	for (size_t n = 1; n <= BEFORE / 4 && n * 4 <= at; n++) {
		uint32_t word, number;

		memcpy(&word, code + at - n * 4, sizeof(word));
		word = le32toh(word);
		number = word >> 5 & 0xffff;
		if ((word & 0x7fe0001f) == 0x52800008) /* movz x8 or w8 */
			return number == ARM_PRCTL || number == ARM_SECCOMP ? AIF_OWN_CALLS_FILTER
									    : AIF_OWN_CALLS_NONE;
		if ((word & 0x1f) == 8 && ((word & 0x7fe0ffe0) == 0x2a0003e0 || /* mov */
					   (word & 0xbfc00000) == 0xb9400000))  /* ldr */
			return AIF_OWN_CALLS_ANY;
		if (word == 0xd65f03c0) /* ret: of the function before */
			return AIF_OWN_CALLS_ANY;
	}
	return AIF_OWN_CALLS_NONE;
}

static bool is_call(const struct aif_elf *elf, const uint8_t *code, size_t at)
{
	if (elf->machine == EM_X86_64)
		return code[at] == 0x0f && code[at + 1] == 0x05;
	return at % 4 == 0 && !memcmp(code + at, "\x01\0\0\xd4", 4);
}

/* A part of the file with code, as it lies in the file and in memory. */
struct part {
	uint64_t offset, size, address;
};

static int look_part(struct search *s, const struct part *p, uint64_t *ret_address)
{
	bool is_x86 = s->elf->machine == EM_X86_64;
	size_t bytes = is_x86 ? X86_CALL_BYTES : ARM_CALL_BYTES;
	int found = AIF_OWN_CALLS_NONE;
	uint64_t next = 0; /* place that is looked at; of arm a multiple of its instructions */

	while (p->size >= bytes && next <= p->size - bytes) {
		uint64_t from = next > BEFORE ? next - BEFORE : 0;
		size_t n = (size_t)AIF_MIN(p->size - from, CHUNK);
		int r = aif_elf_read(s->elf, p->offset + from, s->code, n);

		if (r < 0)
			return r;
		for (size_t at = next - from; at + bytes <= n; at++) {
			uint64_t address = p->address + from + at;

			if (!is_call(s->elf, s->code, at))
				continue;
			r = is_x86 ? look_x86(s, n, at, address) : look_arm(s, at);
			if (r < 0)
				return r;
			if (r >= (int)s->least && r > found) {
				found = r;
				*ret_address = address;
			}
			if (found == AIF_OWN_CALLS_FILTER)
				return found;
		}
		/* An instruction may lie across the end of the chunk. */
		next = is_x86 ? from + n - (X86_CALL_BYTES - 1)
			      : (from + n) / ARM_CALL_BYTES * ARM_CALL_BYTES;
	}
	return found;
}

/* Looks through sections with code: what else lies in a segment with code, such as programs for devices, is none. */
static int look_sections(struct search *s, uint64_t *ret_address)
{
	int found = AIF_OWN_CALLS_NONE, r = 0;

	for (size_t i = 0; i < s->elf->sections_len && r >= 0 && found < AIF_OWN_CALLS_FILTER;
	     i++) {
		const struct aif_elf_section *section = &s->elf->sections[i];

		if (section->type != SHT_PROGBITS || !(section->flags & SHF_EXECINSTR))
			continue;
		r = look_part(s, &(struct part){section->offset, section->size, section->addr},
			      ret_address);
		found = AIF_MAX(found, r);
	}
	return r < 0 ? r : found;
}

/* Looks through the code of a file without a table of sections. */
static int look_segments(struct search *s, uint64_t *ret_address)
{
	int r, found = AIF_OWN_CALLS_NONE;
	Elf64_Phdr p[SEGMENTS_MAX];
	Elf64_Ehdr head;
	size_t n;

	r = aif_elf_read(s->elf, 0, &head, sizeof(head));
	if (r < 0)
		return r;
	n = AIF_MIN(head.e_phnum, (size_t)SEGMENTS_MAX);
	if (head.e_phentsize != sizeof(*p))
		return -ENOEXEC;
	r = aif_elf_read(s->elf, head.e_phoff, p, n * sizeof(*p));
	for (size_t i = 0; i < n && r >= 0 && found < AIF_OWN_CALLS_FILTER; i++) {
		if (p[i].p_type != PT_LOAD || !(p[i].p_flags & PF_X))
			continue;
		r = look_part(s, &(struct part){p[i].p_offset, p[i].p_filesz, p[i].p_vaddr},
			      ret_address);
		found = AIF_MAX(found, r);
	}
	return r < 0 ? r : found;
}

int aif_own_calls_find(const struct aif_elf *elf, enum aif_own_calls least, uint64_t *ret_address)
{
	struct search s = {.elf = elf, .least = least};
	int r;

	*ret_address = 0;
	if (elf->is_big || (elf->machine != EM_X86_64 && elf->machine != EM_AARCH64))
		return AIF_OWN_CALLS_NONE;
	s.code = malloc(CHUNK);
	r = !s.code ? -ENOMEM : elf->machine == EM_X86_64 ? aif_disasm_new("x86_64", &s.d) : 0;
	if (r >= 0)
		r = elf->sections_len ? look_sections(&s, ret_address)
				      : look_segments(&s, ret_address);
	if (s.has_fdes)
		aif_fdes_finish(&s.fdes);
	aif_disasm_free(s.d);
	free(s.code);
	return r;
}
