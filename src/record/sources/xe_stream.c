/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/xe_stream.h"

#include "base/clock.h"
#include "record/sources/xe_card.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The kernel takes a reader with less room than its backlog for one that is still behind, and does not wake it again:
 * 512 KiB a XeCore. Reading goes on until it has no more, so that less room costs a call, not data. */
#define READ_BYTES (2u << 20)
/* The kernel itself looks so often. */
#define PAUSE_NS (5 * 1000 * 1000)
/* Reads of one stream before the others get their turn: more than the hardware fills meanwhile. */
#define READS_AT_ONCE 64
#define WINDOW_NS     AIF_NS_PER_S
#define LOOK_MS       100
/* A GT that was reset comes back within that; then less and less often, as to one that another process has. */
#define RETRY_NS     (100 * 1000 * 1000)
#define MAX_RETRY_NS (5 * AIF_NS_PER_S)
/* Not yet taken: the drain thread takes one a second. */
#define MAX_BATCHES 4
#define MAX_STREAMS 64
#define DECODE      1024

struct stream {
	unsigned card;
	const struct aif_xe_card_gt *gt;
	int fd;                     /* -1: not open */
	uint64_t retry_at, wait_ns; /* retry_at 0: never */
	bool said;                  /* why it is not open */
};

struct aif_xe {
	pthread_t thread;
	uint32_t hz;
	bool is_sure;
	int wake; /* eventfd: stop */
	bool stopped;

	/* the thread's */
	struct aif_xe_card gpus[AIF_XE_CARDS];
	unsigned gpus_len;
	struct stream streams[MAX_STREAMS];
	unsigned streams_len;
	struct aif_xe_batch *open; /* the window under way */
	uint8_t *bytes;
	uint64_t skipped; /* samples that found no room */
	struct aif_xe_clients clients;
	struct aif_xe_use uses[AIF_XE_USES];
	unsigned uses_len;
	uint64_t looked_at;

	pthread_mutex_t lock; /* of what is below */
	struct aif_xe_batch *first, **last;
	unsigned batches;
	struct aif_xe_note notes[32];
	unsigned notes_len;
	bool decided;
	bool samples[AIF_XE_CARDS]; /* any GT of it, now or when it is free */
};

/* ---- what is handed over ------------------------------------------------------------------------- */

static void note(struct aif_xe *x, enum aif_reason reason, uint64_t count, const char *detail)
{
	pthread_mutex_lock(&x->lock);
	for (unsigned i = 0; i < x->notes_len; i++)
		if (x->notes[i].reason == reason && !strcmp(x->notes[i].detail, detail)) {
			x->notes[i].count += count;
			count = 0;
		}
	if (count && x->notes_len < AIF_ARRAY_LEN(x->notes)) {
		struct aif_xe_note *n = &x->notes[x->notes_len++];

		*n = (struct aif_xe_note){.reason = reason, .count = count};
		snprintf(n->detail, sizeof(n->detail), "%s", detail);
	}
	pthread_mutex_unlock(&x->lock);
}

bool aif_xe_note(struct aif_xe *x, struct aif_xe_note *ret)
{
	bool any;

	pthread_mutex_lock(&x->lock);
	any = x->notes_len;
	if (any)
		*ret = x->notes[--x->notes_len];
	pthread_mutex_unlock(&x->lock);
	return any;
}

enum aif_xe_samples aif_xe_samples(struct aif_xe *x, uint32_t pci)
{
	enum aif_xe_samples r;

	pthread_mutex_lock(&x->lock);
	r = x->decided ? AIF_XE_NO : AIF_XE_UNDECIDED;
	for (unsigned i = 0; x->decided && i < x->gpus_len; i++)
		if (x->samples[i] && (!pci || !x->gpus[i].pci || x->gpus[i].pci == pci))
			r = AIF_XE_YES;
	pthread_mutex_unlock(&x->lock);
	return r;
}

enum aif_xe_samples aif_xe_samples_card(const struct aif_xe_source *x, uint32_t pci)
{
	/* The recorder would find the card taken when its stream starts again. */
	if (x->rests)
		return AIF_XE_UNDECIDED;
	return x->stream ? aif_xe_samples(x->stream, pci) : AIF_XE_NO;
}

struct aif_xe_batch *aif_xe_take(struct aif_xe *x, uint64_t until)
{
	struct aif_xe_batch *b;

	pthread_mutex_lock(&x->lock);
	b = x->first;
	if (b && b->end <= until) {
		x->first = b->next;
		x->last = x->first ? x->last : &x->first;
		x->batches--;
	} else {
		b = NULL;
	}
	pthread_mutex_unlock(&x->lock);
	return b;
}

void aif_xe_batch_free(struct aif_xe_batch *b)
{
	for (unsigned i = 0; b && i < b->windows_len; i++)
		aif_xe_counts_finish(&b->windows[i].counts);
	free(b);
}

static struct aif_xe_batch *batch_new(const struct aif_xe *x, uint64_t now)
{
	struct aif_xe_batch *b = calloc(1, sizeof(*b) + x->gpus_len * sizeof(b->windows[0]));

	if (!b)
		return NULL;
	b->start = now;
	b->windows_len = x->gpus_len;
	for (unsigned i = 0; i < x->gpus_len; i++) {
		const struct aif_xe_card *c = &x->gpus[i];
		const struct aif_xe_card_gt *gt = &c->gts[0];

		b->windows[i] = (struct aif_xe_window){
			.card = i,
			.pci = c->pci,
			.wide = gt->layout == AIF_XE_LAYOUT_XE3P,
			.period_ps =
				(uint32_t)(UINT64_C(1000000) *
					   aif_xe_rate(c->rates, c->rates_len, x->hz, gt->mhz) /
					   (gt->mhz ? gt->mhz : 1500))};
	}
	return b;
}

/* Finds the processes that have worked on the cards since the last look. */
static void look(struct aif_xe *x, uint64_t now)
{
	x->uses_len = aif_xe_clients_look(&x->clients, "/proc", now, x->uses, AIF_XE_USES);
	x->looked_at = now;
}

/* A window that is full before its time is over has those of the latest. */
static void put_uses(struct aif_xe *x)
{
	memcpy(x->open->uses, x->uses, sizeof(x->uses));
	x->open->uses_len = x->uses_len;
}

/* Ends the window of all cards. False: nobody takes them, or there is no memory; it goes on. */
static bool hand_over(struct aif_xe *x, uint64_t now)
{
	struct aif_xe_batch *next;
	bool room;

	/* Room that is there stays: other threads only take batches. */
	pthread_mutex_lock(&x->lock);
	room = x->batches < MAX_BATCHES;
	pthread_mutex_unlock(&x->lock);
	next = room ? batch_new(x, now) : NULL;
	for (unsigned i = 0; next && i < next->windows_len; i++)
		aif_xe_counts_reserve(&next->windows[i].counts, &x->open->windows[i].counts);
	if (now - x->looked_at >= WINDOW_NS)
		look(x, now);
	if (!next)
		return false;
	put_uses(x);
	x->open->end = now;
	pthread_mutex_lock(&x->lock);
	*x->last = x->open;
	x->last = &x->open->next;
	x->batches++;
	pthread_mutex_unlock(&x->lock);
	x->open = next;
	return true;
}

/* ---- streams ------------------------------------------------------------------------------------- */

static void say_why(struct aif_xe *x, struct stream *s, int error)
{
	const struct aif_xe_card *c = &x->gpus[s->card];
	char text[160], holder[64];
	int n = snprintf(text, sizeof(text), "%s, GT %u", c->name, s->gt->id);

	if (s->said)
		return;
	s->said = true;
	if (error == -EBUSY && aif_xe_stream_holder(holder, sizeof(holder)))
		snprintf(text + n, sizeof(text) - (size_t)n, ": %s", holder);
	else if (error != -EBUSY && error != -EACCES && error != -EPERM)
		snprintf(text + n, sizeof(text) - (size_t)n, ": %s", strerror(-error));
	note(x,
	     error == -EBUSY                       ? AIF_REASON_XE_BUSY
	     : error == -EACCES || error == -EPERM ? AIF_REASON_XE_DENIED
						   : AIF_REASON_XE_FAILED,
	     1, text);
}

static void open_stream(struct aif_xe *x, struct stream *s, uint64_t now)
{
	const struct aif_xe_card *c = &x->gpus[s->card];
	bool was_open = s->wait_ns != 0;

	s->fd = aif_xe_stream_open(c, s->gt->id,
				   aif_xe_rate(c->rates, c->rates_len, x->hz, s->gt->mhz));
	if (s->fd >= 0) {
		s->retry_at = 0;
		s->wait_ns = RETRY_NS;
		s->said = false;
		return;
	}
	/* A busy stream may be free later, and a card that was reset come back; other errors
	 * stay. */
	s->wait_ns = AIF_MIN(AIF_MAX(2 * s->wait_ns, RETRY_NS), MAX_RETRY_NS);
	s->retry_at = s->fd == -EBUSY || was_open ? now + s->wait_ns : 0;
	if (!was_open || s->fd != -ENODEV)
		say_why(x, s, s->fd);
	s->fd = -1;
}

static void lost_stream(struct aif_xe *x, struct stream *s, int error)
{
	char text[64];

	close(s->fd);
	s->fd = -1;
	s->wait_ns = RETRY_NS;
	s->retry_at = aif_now_ns() + RETRY_NS;
	snprintf(text, sizeof(text), "%s, GT %u", x->gpus[s->card].name, s->gt->id);
	note(x, AIF_REASON_XE_RESET, 1, text);
	if (error != -ENODEV)
		say_why(x, s, error);
}

static void take_records(struct aif_xe *x, const struct stream *s, const uint8_t *bytes, size_t n)
{
	struct aif_xe_record r[DECODE];

	while (n) {
		size_t some = AIF_MIN(n, DECODE), at = 0;

		aif_xe_decode(s->gt->layout, bytes, some, r);
		while (at < some) {
			at += aif_xe_counts_add(&x->open->windows[s->card].counts, r + at,
						some - at);
			if (at == some || hand_over(x, aif_now_ns()))
				continue;
			for (unsigned k = 0; k < AIF_XE_REASONS; k++)
				x->skipped += aif_xe_count(&r[at], k);
			at++;
		}
		bytes += some * AIF_XE_RECORD;
		n -= some;
	}
}

/* All that is there. False: there was nothing. */
static bool read_stream(struct aif_xe *x, struct stream *s)
{
	bool any = false;
	char text[64];

	for (unsigned i = 0; s->fd >= 0 && i < READS_AT_ONCE; i++) {
		ssize_t n = read(s->fd, x->bytes, READ_BYTES);

		if (n > 0) {
			take_records(x, s, x->bytes, (size_t)n / AIF_XE_RECORD);
			if (n % AIF_XE_RECORD)
				note(x, AIF_REASON_RECORD_BAD, 1, "EU stalls");
		} else if (n < 0 && errno == EIO) {
			/* Told once for each time that a buffer was full; what was kept comes next. */
			snprintf(text, sizeof(text), "%s, GT %u", x->gpus[s->card].name, s->gt->id);
			note(x, AIF_REASON_XE_DROPPED, 1, text);
		} else if (n == 0 || errno == EAGAIN) {
			break;
		} else if (errno != EINTR) {
			lost_stream(x, s, -errno);
		}
		any = true;
	}
	return any;
}

/* ---- cards --------------------------------------------------------------------------------------- */

static void say_card(struct aif_xe *x, const char *name, const char *why)
{
	char text[160];

	snprintf(text, sizeof(text), "%s: %s", name, why);
	note(x, AIF_REASON_XE_FAILED, 1, text);
}

static void add_streams(struct aif_xe *x, unsigned card)
{
	const struct aif_xe_card *c = &x->gpus[card];

	if (!c->rates_len)
		say_card(
			x, c->name,
			"no EU-stall sampling: Linux 6.15 or newer, and a GPU of Xe2 or later or Ponte "
			"Vecchio, are needed");
	for (unsigned i = 0; c->rates_len && i < c->gts_len; i++) {
		if (c->gts[i].layout == AIF_XE_LAYOUT_NONE)
			say_card(x, c->name, "EU stalls of this GPU are not known to aiflame");
		else if (x->streams_len < MAX_STREAMS)
			x->streams[x->streams_len++] =
				(struct stream){.card = card, .gt = &c->gts[i], .fd = -1};
	}
}

/* Render nodes are for everybody; where there are none, what else the cards have. A card that may not be opened is
 * said where no other is found. */
static void find_cards(struct aif_xe *x)
{
	static const struct {
		const char *name;
		unsigned first;
	} nodes[] = {{"renderD", 128}, {"card", 0}};
	char name[32], denied[32] = "";

	for (size_t k = 0; k < AIF_ARRAY_LEN(nodes) && !x->gpus_len; k++)
		for (unsigned i = 0; i < 64 && x->gpus_len < AIF_XE_CARDS; i++) {
			int r;

			snprintf(name, sizeof(name), "%s%u", nodes[k].name, nodes[k].first + i);
			r = aif_xe_card_open(name, &x->gpus[x->gpus_len]);
			if (r == 0)
				add_streams(x, x->gpus_len++);
			else if ((r == -EACCES || r == -EPERM) && !*denied)
				snprintf(denied, sizeof(denied), "%s", name);
		}
	if (!x->gpus_len && *denied && x->is_sure)
		say_card(x, denied, "permission denied: usermod -aG render USER");
}

/* ---- the thread ---------------------------------------------------------------------------------- */

/* True: it is over. *ret_ready: a stream says that it has something. */
static bool wait_for_records(struct aif_xe *x, bool *ret_ready)
{
	struct pollfd fds[MAX_STREAMS + 1] = {{.fd = x->wake, .events = POLLIN}};

	for (unsigned i = 0; i < x->streams_len; i++)
		fds[i + 1] = (struct pollfd){.fd = x->streams[i].fd, .events = POLLIN};
	*ret_ready = poll(fds, x->streams_len + 1, LOOK_MS) > 0;
	return *ret_ready && fds[0].revents;
}

/* Notes which cards the recorder samples: one that it is refused for good is left to agents. */
static void decide(struct aif_xe *x)
{
	pthread_mutex_lock(&x->lock);
	for (unsigned i = 0; i < x->streams_len; i++)
		x->samples[x->streams[i].card] |= x->streams[i].fd >= 0 || x->streams[i].retry_at;
	x->decided = true;
	pthread_mutex_unlock(&x->lock);
}

static void *xe_main(void *arg)
{
	struct aif_xe *x = arg;
	uint64_t now = aif_now_ns();
	bool over = false;

	find_cards(x);
	if (!x->streams_len) {
		decide(x);
		return NULL;
	}
	x->bytes = malloc(READ_BYTES);
	x->open = batch_new(x, now);
	look(x, now);
	for (unsigned i = 0; i < x->streams_len && x->bytes && x->open; i++)
		open_stream(x, &x->streams[i], now);
	decide(x);
	while (x->bytes && x->open && !over) {
		bool ready, any = false;

		over = wait_for_records(x, &ready);
		for (unsigned i = 0; i < x->streams_len; i++) {
			struct stream *s = &x->streams[i];

			if (s->fd < 0 && s->retry_at && aif_now_ns() >= s->retry_at && !over)
				open_stream(x, s, aif_now_ns());
			if (s->fd >= 0)
				any |= read_stream(x, s);
		}
		/* Some kernels report for ever that a GPU that was reset has something to read. */
		if (ready && !any && !over)
			nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
		if (x->skipped) {
			note(x, AIF_REASON_XE_BEHIND, x->skipped, "");
			x->skipped = 0;
		}
		now = aif_now_ns();
		if (!over && now - x->open->start >= WINDOW_NS)
			hand_over(x, now);
	}
	for (unsigned i = 0; i < x->streams_len; i++)
		if (x->streams[i].fd >= 0)
			close(x->streams[i].fd);
	if (x->open) {
		look(x, aif_now_ns());
		put_uses(x);
	}
	return NULL;
}

int aif_xe_new(uint32_t hz, bool is_sure, struct aif_xe **ret)
{
	struct aif_xe *x = calloc(1, sizeof(*x));
	int r;

	if (!x)
		return -ENOMEM;
	x->hz = hz;
	x->is_sure = is_sure;
	x->last = &x->first;
	x->wake = eventfd(0, EFD_CLOEXEC);
	if (x->wake < 0) {
		r = -errno;
		free(x);
		return r;
	}
	pthread_mutex_init(&x->lock, NULL);
	r = -pthread_create(&x->thread, NULL, xe_main, x);
	if (r < 0) {
		close(x->wake);
		pthread_mutex_destroy(&x->lock);
		free(x);
		return r;
	}
	*ret = x;
	return 0;
}

void aif_xe_stop(struct aif_xe *x)
{
	const uint64_t one = 1;

	if (x->stopped)
		return;
	x->stopped = true;
	while (write(x->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(x->thread, NULL);
	if (!x->open)
		return;
	x->open->end = aif_now_ns();
	*x->last = x->open;
	x->last = &x->open->next;
	x->open = NULL;
}

void aif_xe_free(struct aif_xe *x)
{
	struct aif_xe_batch *b;

	if (!x)
		return;
	aif_xe_stop(x);
	while ((b = aif_xe_take(x, UINT64_MAX)) != NULL)
		aif_xe_batch_free(b);
	for (unsigned i = 0; i < x->gpus_len; i++)
		aif_xe_card_close(&x->gpus[i]);
	free(x->bytes);
	aif_xe_clients_finish(&x->clients);
	close(x->wake);
	pthread_mutex_destroy(&x->lock);
	free(x);
}
