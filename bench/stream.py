#!/usr/bin/env python3
"""Writes records in the native format to stdout, as fast as a pipe takes them.

    stream.py BYTES

Equal arguments give equal bytes. Records are 6.5 KB long, with their own ids and mixtures of 400 texts: enough
for the memory of reading, nothing for the search.
"""

import random
import sys

BATCH_BYTES = 4 << 20
START_S = 1_788_220_800


def main():
    total = int(float(sys.argv[1]))
    rng = random.Random(1)

    def word():
        syllables = rng.randint(2, 4)
        return "".join(rng.choice("bcdfglmnprstv") + rng.choice("aeiou") for _ in range(syllables))

    words = [word() for _ in range(5_000)]
    texts = [" ".join(rng.choices(words, k=300)) for _ in range(400)]
    written = number = 0
    while written < total:
        batch, size = [], 0
        while size < BATCH_BYTES:
            line = (
                '{"request_id":"g-%d","tenant":"t%d","model":"m","role":"gateway","t_start":%d,"http_status":200,'
                '"finish_reason":"stop","prompt_tokens":900,"completion_tokens":300,"prompt":"%d %s %s","response":"%s"}\n'
                % (
                    number,
                    number % 97,
                    START_S + number // 20,
                    number,
                    texts[number % 400],
                    texts[(number * 7 + 1) % 400],
                    texts[(number * 13 + 5) % 399],
                )
            ).encode()
            number += 1
            batch.append(line)
            size += len(line)
        sys.stdout.buffer.write(b"".join(batch))
        written += size


if __name__ == "__main__":
    main()
