// Copies a file character by character: characters FROM TO. Buffers of 32 KiB, as stdio's loop has it.
#include <stdio.h>
#include <stdlib.h>

// glibc takes a size only together with a buffer.
static char read_buffer[32768], write_buffer[32768];

int main(int argc, char **argv) {
    FILE *from = argc == 3 ? fopen(argv[1], "rb") : NULL;
    FILE *to = from ? fopen(argv[2], "wb") : NULL;
    if (!to) {
        perror("characters");
        return EXIT_FAILURE;
    }
    setvbuf(from, read_buffer, _IOFBF, sizeof read_buffer);
    setvbuf(to, write_buffer, _IOFBF, sizeof write_buffer);
    int character;
    while ((character = getc(from)) != EOF)
        putc(character, to);
    return fclose(to) == 0 && !ferror(from) ? EXIT_SUCCESS : EXIT_FAILURE;
}
