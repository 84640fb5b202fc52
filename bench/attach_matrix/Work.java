// SPDX-License-Identifier: Apache-2.0
/** Threads that make garbage, until standard input ends. */
public class Work {
	static volatile boolean over;

	public static void main(String[] args) throws Exception {
		Thread[] all = new Thread[8];
		long[] sums = new long[8];
		for (int i = 0; i < 8; i++) {
			final int n = i;
			all[i] = new Thread(() -> {
				while (!over) {
					long s = 0;
					for (Object o : new Object[1000])
						s += String.valueOf(o).length();
					sums[n] = s;
				}
			});
			all[i].start();
		}
		while (System.in.read() >= 0) { }
		over = true;
		for (Thread t : all)
			t.join();
		System.out.println(sums[0]);
		System.exit(30);
	}
}
