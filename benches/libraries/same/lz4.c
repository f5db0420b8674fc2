/* A text compressed by LZ4, faster and faster, and as a stream, and read back. */
#include <lz4.h>
#include <stdio.h>
#include <string.h>

static char text[60000], packed[70000], back[60000];

static unsigned long sum_of(const char *bytes, int n) {
    unsigned long sum = 0;
    for (int i = 0; i < n; i++) sum = sum * 31 + (unsigned char)bytes[i];
    return sum;
}

int main(void) {
    for (int i = 0; i < (int)sizeof text; i++) text[i] = (char)('a' + i * i % 97 % 26);
    printf("%s %d\n", LZ4_versionString(), LZ4_compressBound((int)sizeof text));
    for (int speed = 1; speed < 40; speed += 6) {
        int n = LZ4_compress_fast(text, packed, (int)sizeof text, (int)sizeof packed, speed);
        int m = LZ4_decompress_safe(packed, back, n, (int)sizeof back);
        printf("%d %lx %d %d\n", n, sum_of(packed, n), m, memcmp(text, back, sizeof text));
    }
    LZ4_stream_t *stream = LZ4_createStream();
    for (int at = 0; at < (int)sizeof text; at += 6000) {
        int n = LZ4_compress_fast_continue(stream, text + at, packed, 6000, (int)sizeof packed, 1);
        printf("%d %lx\n", n, sum_of(packed, n));
    }
    printf("%d\n", LZ4_freeStream(stream));
    printf("%d\n", LZ4_decompress_safe("nonsense", back, 8, (int)sizeof back));
    return 0;
}
