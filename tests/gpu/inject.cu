/* SPDX-License-Identifier: Apache-2.0 */
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <unistd.h>

/* inject FILE: two threads launch, copy and wait until FILE is there, and look at each result. */

static const char *until;
static long wrong, rounds;

__global__ void scale(float *x, int n, float by)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = x[i] * by + 1;
}

static void *work(void *arg)
{
	const int n = 1 << 16;
	float *x, *host = (float *)malloc(n * sizeof(float));
	cudaStream_t stream;

	(void)arg;
	if (cudaMalloc(&x, n * sizeof(float)) || cudaStreamCreate(&stream))
		exit(3);
	while (access(until, F_OK)) {
		float want = 0;

		cudaMemsetAsync(x, 0, n * sizeof(float), stream);
		for (int i = 0; i < 50; i++) {
			scale<<<n / 256, 256, 0, stream>>>(x, n, 0.5f);
			want = want * 0.5f + 1;
		}
		if (cudaMemcpyAsync(host, x, n * sizeof(float), cudaMemcpyDeviceToHost, stream) ||
		    cudaStreamSynchronize(stream))
			exit(4);
		for (int i = 0; i < n; i += 997)
			__atomic_fetch_add(&wrong, host[i] != want, __ATOMIC_RELAXED);
		__atomic_fetch_add(&rounds, 1, __ATOMIC_RELAXED);
	}
	free(host);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;

	until = argc > 1 ? argv[1] : "over";
	if (cudaFree(0))
		return 2;
	fprintf(stderr, "plain: ready\n");
	pthread_create(&other, NULL, work, NULL);
	work(NULL);
	pthread_join(other, NULL);
	printf("plain: %s\n", rounds && !wrong ? "all equal" : "some differ");
	return 0;
}
