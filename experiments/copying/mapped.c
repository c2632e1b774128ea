// Copies a file between two mappings: mapped bytes|memcpy FROM TO.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(const char *what) {
    perror(what);
    exit(EXIT_FAILURE);
}

int main(int argc, char **argv) {
    if (argc != 4) return EXIT_FAILURE;
    int from = open(argv[2], O_RDONLY), to = open(argv[3], O_RDWR | O_CREAT | O_TRUNC, 0666);
    struct stat file;
    if (from < 0 || to < 0 || fstat(from, &file) < 0 || ftruncate(to, file.st_size) < 0) fail("mapped");
    size_t size = (size_t)file.st_size;
    const volatile char *source = mmap(NULL, size, PROT_READ, MAP_SHARED, from, 0);
    volatile char *target = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
    if (source == MAP_FAILED || target == MAP_FAILED) fail("mmap");
    if (strcmp(argv[1], "memcpy") == 0)
        memcpy((void *)target, (const void *)source, size);
    else
        for (size_t i = 0; i < size; i++) target[i] = source[i];
    return EXIT_SUCCESS;
}
