/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are no profiles, or damaged ones: cut short, with flipped bits, with a false cache or journal. */
#include "fixture_hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { PAGE = 4096, FLIPS = 10000 };

/* ---- not a profile --------------------------------------------------------------------------- */

static void put_be32(size_t at, uint32_t v)
{
	uint8_t b[] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};
	int fd = open("p", O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, b, 4, (off_t)at), 4);
	close(fd);
}

static void test_not_a_profile(void **state)
{
	char text[5000];

	(void)state;
	remove_files();
	assert_refused(-ENOENT, "aiflame record");
	write_file("p", "", 0);
	assert_refused(-EBADMSG, "is empty");
	memset(text, 'x', sizeof(text));
	write_file("p", text, sizeof(text));
	assert_refused(-EBADMSG, "is not an aiflame profile");
	write_file("p", "SQLite format 3", 16);
	assert_refused(-EBADMSG, "is not an aiflame profile");
	unlink("p");
	run_sql("p", "CREATE TABLE chunk(id)");
	assert_refused(-EBADMSG, "another program's database");
	run_sql("p", "PRAGMA application_id=1097418289"); /* AiF1: and nothing in it */
	assert_refused(-EBADMSG, "is damaged: recording");
	unlink("p");
	assert_int_equal(mkdir("p", 0700), 0);
	assert_refused(-EISDIR, "is a directory");
	assert_int_equal(rmdir("p"), 0);
	assert_int_equal(mkfifo("p", 0600), 0);
	assert_refused(-EINVAL, "a FIFO is no file that can be read again");
	unlink("p");
}

static void files_of_other_versions_are_refused(void **state)
{
	(void)state;
	write_fixture();
	run_sql("p", "PRAGMA user_version=1");
	assert_refused(-EPROTONOSUPPORT, "upgrade aiflame");
	run_sql("p", "PRAGMA user_version=-1");
	assert_refused(-EPROTONOSUPPORT, "upgrade aiflame");
	run_sql("p", "PRAGMA user_version=0; PRAGMA application_id=-1");
	assert_refused(-EBADMSG, "another program's database");
	write_fixture();
	put_be32(18, 0x02020000); /* WAL: reading it would make files */
	assert_refused(-EBADMSG, "journal mode");
	assert_int_not_equal(access("p-wal", F_OK), 0);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void truncated_files_are_refused(void **state)
{
	struct image m;

	(void)state;
	write_fixture();
	m = read_image("p");
	for (size_t n = 0; n < m.len; n += n < 200 ? 1 : n % 512 ? 512 - n % 512 : 511) {
		write_file("p", m.bytes, n);
		/* SQLite takes the lost part of the last page for zeros. */
		if (try(NULL, NULL) == 0)
			assert_true(n / PAGE == (m.len - 1) / PAGE);
		unlink("p-journal");
	}
	write_file("p", m.bytes, m.len);
	assert_read(3 * ROWS + 1);
	free(m.bytes);
}

/* Half of the damage where something is written, half anywhere. */
static size_t place(const struct image *m, uint64_t *rng)
{
	size_t at = (size_t)(aif_mix64(++*rng) % m->len);

	for (int i = 0; i < 64 && *rng % 2 && !m->bytes[at]; i++)
		at = (size_t)(aif_mix64(*rng + (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15)) %
			      m->len);
	return at;
}

/* Flips a bit, or puts another byte, at `places` places, two to a file. */
static void flip(const struct image *m, int places, uint64_t seed)
{
	uint64_t rng = seed;
	size_t refused = 0, rows = 0;
	struct seen seen;

	for (int i = 0; i < places / 2; i++) {
		size_t at[2];
		uint8_t was[2];

		for (int k = 0; k < 2; k++) {
			uint64_t how;

			at[k] = place(m, &rng);
			how = aif_mix64(rng ^ UINT64_C(0x5555555555));
			was[k] = m->bytes[at[k]];
			m->bytes[at[k]] = how % 4 ? was[k] ^ (uint8_t)(1u << (how >> 8) % 8)
						  : (uint8_t)(how >> 8);
		}
		write_file("p", m->bytes, m->len);
		for (int k = 2; k-- > 0;)
			m->bytes[at[k]] = was[k];
		refused += try(NULL, &seen) < 0;
		rows += seen.rows;
	}
	/* Neither everything nor nothing is refused: the damage was where it matters. */
	assert_in_range(refused, places / 100, places * 2 / 5);
	assert_true(rows > (size_t)places / 10 * 2 * ROWS);
	write_file("p", m->bytes, m->len);
	assert_read(3 * ROWS + 1);
}

static void changed_bytes_are_survived(void **state)
{
	struct image m;

	(void)state;
	write_fixture();
	/* Cut short: what is computed is not kept. */
	run_sql("p", "UPDATE recording SET complete=0");
	m = read_image("p");
	flip(&m, (int)rounds(FLIPS * 6 / 10), 1);
	free(m.bytes);
}

static void test_flipped_with_cache(void **state)
{
	struct image m;

	(void)state;
	write_fixture();
	assert_read(3 * ROWS + 1); /* fills it */
	assert_int_equal(ask_sql("SELECT count(*) FROM cache WHERE length(data) > 100"), 1);
	m = read_image("p");
	flip(&m, (int)rounds(FLIPS * 4 / 10), 2);
	free(m.bytes);
}

static void damage_of_the_first_page_is_survived(void **state)
{
	struct image m;

	(void)state;
	write_fixture();
	m = read_image("p");
	for (size_t i = 0; i < 100 * 8; i += stride() | 1) {
		m.bytes[i / 8] ^= (uint8_t)(1u << i % 8);
		write_file("p", m.bytes, m.len);
		m.bytes[i / 8] ^= (uint8_t)(1u << i % 8);
		try(NULL, NULL);
	}
	free(m.bytes);
}

/* ---- a cache that lies ----------------------------------------------------------------------- */

static void a_forged_cache_is_not_believed(void **state)
{
	static const char *const forged[] = {
		"UPDATE cache SET data=zeroblob(0)",
		"UPDATE cache SET data=zeroblob(100000)",
		"UPDATE cache SET data='text'",
		"UPDATE cache SET data=NULL",
		"UPDATE cache SET data=7",
		"UPDATE cache SET data=substr(data, 1, length(data) - 1)",
		"UPDATE cache SET data=data||data",
		/* A frame that says that it holds 2^63 bytes, or 64 GiB. */
		"UPDATE cache SET data=x'28b52ffde0000000000000008001000000'",
		"UPDATE cache SET data=x'28b52ffde0000000001000000001000000'",
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(forged); i++) {
		write_fixture();
		assert_read(3 * ROWS + 1);
		run_sql("p", forged[i]);
		assert_read(3 * ROWS + 1);
	}
}

/* ---- a journal beside it --------------------------------------------------------------------- */

/* A transaction that never ended: pages in the file are new, the journal has the old ones. */
static void leave_hot_journal(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		sqlite3 *db;

		_exit(sqlite3_open("p", &db) != SQLITE_OK ||
		      sqlite3_exec(db,
				   "PRAGMA cache_size=1; PRAGMA synchronous=OFF; BEGIN;"
				   "UPDATE string SET value=zeroblob(20000);"
				   "DELETE FROM chunk; DELETE FROM recording;",
				   NULL, NULL, NULL) != SQLITE_OK);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(access("p-journal", F_OK), 0);
}

/* The end of a journal may name a file "of several databases' transactions", which SQLite deletes
 * after a rollback. Offsets and the magic: SQLite's file format, "the super-journal". */
static void name_in_journal(const char *name)
{
	static const uint8_t magic[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
	uint32_t page = 0x40000000 / PAGE + 1, n = (uint32_t)strlen(name), sum = 0;
	int fd = open("p-journal", O_WRONLY | O_APPEND | O_CLOEXEC);
	struct aif_buf b = {0};

	for (uint32_t i = 0; i < n; i++)
		sum += (uint32_t)name[i];
	for (int shift = 24; shift >= 0; shift -= 8)
		aif_buf_putc(&b, (char)(page >> shift));
	aif_buf_append(&b, name, n);
	for (int shift = 24; shift >= 0; shift -= 8)
		aif_buf_putc(&b, (char)(n >> shift));
	for (int shift = 24; shift >= 0; shift -= 8)
		aif_buf_putc(&b, (char)(sum >> shift));
	aif_buf_append(&b, magic, sizeof(magic));
	assert_true(fd >= 0);
	assert_int_equal(write(fd, b.data, b.len), b.len);
	close(fd);
	aif_buf_finish(&b);
}

static void a_journal_beside_the_file_is_left_alone(void **state)
{
	(void)state;
	write_fixture();
	leave_hot_journal();
	assert_read(3 * ROWS + 1);
	assert_int_not_equal(access("p-journal", F_OK), 0);
}

static void test_journal_deletes_nothing(void **state)
{
	char here[200], path[300];

	(void)state;
	assert_non_null(getcwd(here, sizeof(here)));
	snprintf(path, sizeof(path), "%s/victim", here);
	write_fixture();
	leave_hot_journal();
	write_file("victim", "precious", 9);
	name_in_journal(path);
	assert_refused(-EBADMSG, "p-journal");
	assert_int_equal(access("victim", F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_a_profile),
		cmocka_unit_test(files_of_other_versions_are_refused),
		cmocka_unit_test(truncated_files_are_refused),
		cmocka_unit_test(damage_of_the_first_page_is_survived),
		cmocka_unit_test(changed_bytes_are_survived),
		cmocka_unit_test(test_flipped_with_cache),
		cmocka_unit_test(a_forged_cache_is_not_believed),
		cmocka_unit_test(a_journal_beside_the_file_is_left_alone),
		cmocka_unit_test(test_journal_deletes_nothing),
	};

	return cmocka_run_group_tests_name("file_damaged", tests, enter_directory, leave_directory);
}
