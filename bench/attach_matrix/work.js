// SPDX-License-Identifier: Apache-2.0
// Timers, promises and compression, until standard input ends.
const zlib = require('zlib');
const data = Buffer.alloc(100000, 'aiflame ');
let wrong = 0;
const timer = setInterval(() => {
	zlib.deflate(data, (e, packed) => zlib.inflate(packed, (f, all) => { if (!all.equals(data)) wrong++; }));
}, 2);
process.stdin.on('end', () => {
	clearInterval(timer);
	console.log(wrong, 'wrong');
	process.exitCode = 29;
});
process.stdin.resume();
