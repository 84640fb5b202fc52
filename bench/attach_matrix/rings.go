// SPDX-License-Identifier: Apache-2.0
// Goroutines that send numbers around a ring and make garbage, beside calls into C, until standard input ends.
package main

/*
#include <stdlib.h>
static long twice(long x) { void *p = malloc(64 + x % 64); free(p); return 2 * x; }
*/
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"sync/atomic"
)

func main() {
	var over atomic.Bool
	go func() {
		in := bufio.NewReader(os.Stdin)
		for {
			if _, err := in.ReadByte(); err != nil {
				break
			}
		}
		over.Store(true)
	}()
	first := make(chan []int64)
	in := first
	for i := 0; i < 50; i++ {
		out := make(chan []int64)
		go func(in, out chan []int64) {
			for v := range in {
				next := make([]int64, len(v))
				for k := range v {
					next[k] = int64(C.twice(C.long(v[k]))) - v[k] + 1
				}
				out <- next
			}
			close(out)
		}(in, out)
		in = out
	}
	wrong := 0
	for !over.Load() {
		first <- make([]int64, 100)
		for _, v := range <-in {
			if v != 50 {
				wrong++
			}
		}
	}
	fmt.Println("rings of goroutines:", wrong, "wrong")
	os.Exit(23)
}
